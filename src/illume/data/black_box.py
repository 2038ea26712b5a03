"""The model to explain, called in batches with the user's own kind of frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.frames import Frame, chunks
from illume.data.sampling import evenly_spaced
from illume.errors import BlackBoxError, rows_after

MOST_NAMED = 10
TRIED = 5  # single rows; a model that fails on each of them is not called again
BATCH_ROWS = 65_536
ADVICE = "pass an object with predict_proba, or a callable that maps a frame to probabilities"


class BlackBox:
    """Calls a model for class probabilities in batches, checks every answer, and names rows that fail.

    Parameters
    ----------
    model
        An object with `predict_proba` (or `predict`, if that gives probabilities), or a callable
        from a frame to probabilities: (n, c), or (n,) for the second of two classes.
    class_names
        What to call the classes; by default the model's own `classes_`, else 0, 1, …
    """

    def __init__(self, model: Any, class_names: Sequence[Any] | None = None) -> None:
        self.model = model
        require_instance(model)
        if _is_regressor(model):
            raise BlackBoxError(f"a {type(model).__name__} is a regressor; illume explains classifiers")
        self._ask, self._only_predicts = _question(model)
        self._class_names = class_names
        self.n_asked = 0
        self.most_rows = BATCH_ROWS  # fewer once the model has failed on more
        self.n_classes: int | None = None  # once it is known, every answer must have as many

    def __call__(self, frame: Frame) -> FloatArray:
        """Return the probabilities (n, c) of a frame's rows."""
        size = min(BATCH_ROWS, self.most_rows)
        answers = []
        for rows, piece in chunks(frame, size):
            with rows_after(rows.start):
                answers.append(self._predict(piece))
        widths = {answer.shape[1] for answer in answers}
        if len(widths) > 1:
            raise BlackBoxError(f"the model answered with {sorted(widths)} classes by turns")
        for width in widths - {self.n_classes or min(widths, default=0)}:
            raise BlackBoxError(f"the model answered {width} classes, {self.n_classes} when fitted")
        return np.concatenate(answers) if answers else np.empty((0, self.n_classes or 0))

    def names(self, n_classes: int) -> tuple[str, ...]:
        """Return the names of the classes, in the order of the probabilities."""
        if self._class_names is not None:
            if len(self._class_names) != n_classes:
                raise BlackBoxError(
                    f"class_names has {len(self._class_names)} names, the model has {n_classes} classes"
                )
            return tuple(str(name) for name in self._class_names)
        own = getattr(self.model, "classes_", None)
        if own is not None and len(own) == n_classes:
            return tuple(str(name) for name in np.asarray(own).tolist())
        return tuple(str(c) for c in range(n_classes))

    def _predict(self, frame: Frame) -> FloatArray:
        """Call the model and, if it fails, search for the failing rows."""
        try:
            return self._answer(frame)
        except BlackBoxError:
            raise
        except Exception as error:
            self._require_some(frame, error)
        return self._predict_parts(frame)

    def _require_some(self, frame: Frame, error: Exception) -> None:
        """Raise if the model answers none of a few single rows."""
        positions = evenly_spaced(len(frame), TRIED).tolist()
        if not all(self._fails(frame.slice(at, at + 1)) for at in positions):
            return
        alone = f"asked about {len(positions)} of them one by one, it failed on each"
        raise BlackBoxError(
            f"the model raised {type(error).__name__} on {len(frame)} rows: {error}; "
            f"{alone if len(frame) > 1 else 'asked again, it failed again'}"
        ) from error

    def _fails(self, frame: Frame) -> bool:
        """Whether the model raises; invalid probabilities are an error of their own."""
        try:
            self._answer(frame)
        except BlackBoxError:
            raise
        except Exception:
            return True
        return False

    def _predict_parts(self, frame: Frame) -> FloatArray:
        """Return the answers to a frame on which the model failed, half by half, or raise naming the rows."""
        half, n = len(frame) // 2, len(frame)
        pending = [(half, n), (0, half)] if half else [(0, n)]
        answers: list[FloatArray] = []
        failed: dict[int, Exception] = {}
        most_rows = 1
        while pending and len(failed) <= MOST_NAMED:
            start, stop = pending.pop()
            try:
                with rows_after(start):
                    answers.append(self._answer(frame.slice(start, stop)))
                most_rows = max(most_rows, stop - start)
            except BlackBoxError:
                raise
            except Exception as error:
                middle = (start + stop) // 2
                if middle == start:
                    failed[start] = error
                else:
                    pending += [(middle, stop), (start, middle)]
        if failed:
            first = next(iter(failed.values()))
            words = f"the model raised {type(first).__name__}: {first}"
            more = len(failed) > MOST_NAMED
            raise BlackBoxError(words, tuple(failed)[:MOST_NAMED], more) from first
        self.most_rows = min(n, most_rows)
        return np.concatenate(answers)

    def _answer(self, frame: Frame) -> FloatArray:
        answer = self._ask(frame.native)
        self.n_asked += len(frame)
        P = _probabilities(answer, len(frame))
        if self._only_predicts and np.isin(P, (0.0, 1.0)).all():
            raise BlackBoxError(
                f"the model has no predict_proba, and its predict answers with labels; {ADVICE}"
            )
        return P


def require_instance(model: Any) -> None:
    """Raise if the model is a class instead of an instance."""
    if isinstance(model, type):
        raise BlackBoxError(
            f"the model {model.__name__} is a class; pass an instance that has been fitted, for instance "
            f"{model.__name__}(…).fit(X, y)"
        )


def model_columns(model: Any, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that the model says it uses (scikit-learn's `feature_names_in_`).

    None where it does not say, or names others than there are.
    """
    require_instance(model)
    names = tuple(str(name) for name in getattr(model, "feature_names_in_", ()))
    return names if names and set(names) <= set(columns) else None


def _is_regressor(model: Any) -> bool:
    from sklearn.base import is_regressor

    try:
        return bool(is_regressor(model))
    except (AttributeError, TypeError):  # no estimator of scikit-learn's kind
        return False


def _question(model: Any) -> tuple[Callable[[Any], Any], bool]:
    """Return the callable, and whether it is `predict`, which may answer with labels."""
    for name in ("predict_proba", "predict"):
        method = getattr(model, name, None)
        if callable(method):
            return method, name == "predict"
    if callable(model):
        return model, False
    raise BlackBoxError(f"a {type(model).__name__} cannot be asked; {ADVICE}")


def _probabilities(answer: Any, n_rows: int) -> FloatArray:
    """Check an answer and return it as probabilities (n, c)."""
    if hasattr(answer, "detach"):  # a torch tensor that still carries gradients
        answer = answer.detach().cpu()
    try:
        P = np.asarray(answer)
    except ValueError as error:
        raise BlackBoxError(f"the model's answer is no array: {error}; {ADVICE}") from error
    if P.ndim == 2 and P.shape[1] == 1:
        P = P[:, 0]
    if P.dtype.kind not in "fiub" or (P.ndim == 1 and P.dtype.kind != "f"):
        example = f" such as {P.flat[:1].tolist()[0]!r}" if P.size else ""
        raise BlackBoxError(f"the model answered with labels{example}, expected probabilities; {ADVICE}")
    P = P.astype(np.float64, copy=False)
    if P.ndim not in (1, 2) or len(P) != n_rows:
        raise BlackBoxError(
            f"the model answered {n_rows} rows with shape {np.shape(answer)}, "
            f"expected ({n_rows}, n_classes), or ({n_rows},) for two classes"
        )
    if P.ndim == 1:
        P = np.stack([1.0 - P, P], axis=1)
    _check_rows(P)
    return P


def _check_rows(P: FloatArray) -> None:
    """Raise unless every row is a distribution over classes."""
    if not P.size or (P.min() >= 0 and P.max() <= 1 and np.abs(P.sum(1) - 1.0).max() <= 1e-3):
        return
    bad = np.asarray(~np.isfinite(P).all(axis=1))
    if bad.any():
        raise _bad_rows(bad, "the model answered NaN or infinity")
    bad = np.asarray(((P < -1e-6) | (P > 1 + 1e-6)).any(axis=1))
    if bad.any():
        raise _bad_rows(bad, f"the model answered {P[bad.argmax(), -1]:g}, which is no probability; {ADVICE}")
    bad = np.abs(P.sum(1) - 1.0) > 1e-3
    if bad.any():
        found = P[bad.argmax()].sum()
        raise _bad_rows(bad, f"the model's probabilities sum to {found:.4g}, not to 1; {ADVICE}")


def _bad_rows(bad: BoolArray, message: str) -> BlackBoxError:
    rows = np.flatnonzero(bad)
    return BlackBoxError(message, tuple(rows[:MOST_NAMED].tolist()), more=len(rows) > MOST_NAMED)
