"""A model that failed on many rows at once, asked about halves of them until the failing rows are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Frame
from illume.errors import BlackBoxError

MOST_NAMED = 10
TRIED = 5  # single rows; a model that fails on each of them is not asked any more

Ask = Callable[[Frame], FloatArray]


class Halving:
    """Asks about halves, and halves of those that fail; `most_rows` is the longest part that was answered."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.failed: dict[int, Exception] = {}
        self.most_rows = 1

    def __call__(self, frame: Frame, error: Exception) -> FloatArray:
        """Return the answers to all rows of a frame on which the model raised an error."""
        self._require_some(frame, error)
        answers = [] if len(frame) == 1 else self._halves(frame, 0)
        if self.failed:
            named = tuple(sorted(self.failed)[:MOST_NAMED])
            error = self.failed[named[0]]
            words = f"the model raised {type(error).__name__}: {error}"
            raise BlackBoxError(words, named, more=len(self.failed) > MOST_NAMED) from error
        return np.concatenate(answers) if answers else self.ask(frame)

    def _require_some(self, frame: Frame, error: Exception) -> None:
        """Give up on a model that answers none of some single rows: it fails on everything."""
        positions = np.unique(np.linspace(0, len(frame) - 1, TRIED).astype(int))
        if any(self._answers(frame.slice(int(at), int(at) + 1)) for at in positions):
            return
        alone = f"asked about {len(positions)} of them one by one, it failed on each"
        raise BlackBoxError(
            f"the model raised {type(error).__name__} on {len(frame)} rows: {error}; "
            f"{alone if len(frame) > 1 else 'asked again, it failed again'}"
        ) from error

    def _answers(self, row: Frame) -> bool:
        """Whether the model answers a row at all."""
        try:
            self.ask(row)
        except BlackBoxError:
            raise
        except Exception:
            return False
        return True

    def _halves(self, frame: Frame, start: int) -> list[FloatArray]:
        half = len(frame) // 2
        answers: list[FloatArray] = []
        for low, high in ((0, half), (half, len(frame))):
            if len(self.failed) > MOST_NAMED:
                break
            part = frame.slice(low, high)
            try:
                answers.append(self.ask(part))
                self.most_rows = max(self.most_rows, len(part))
            except BlackBoxError as error:
                raise error.moved(start + low) from error.__cause__
            except Exception as error:
                if len(part) == 1:
                    self.failed[start + low] = error
                else:
                    answers += self._halves(part, start + low)
        return answers
