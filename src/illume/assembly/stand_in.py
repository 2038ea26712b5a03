"""The surrogate in the place of a black box that is not there."""

from __future__ import annotations

from dataclasses import dataclass

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.fit.pairs import Pair


@dataclass(frozen=True, eq=False)
class StandIn:
    """Answers as the surrogate does; whoever asks can tell by `stands_in`."""

    encoding: Encoding
    pair: Pair
    stands_in: bool = True

    def __call__(self, frame: Frame) -> FloatArray:
        """Return the surrogate's probabilities (n, c) of a frame's rows."""
        return self.pair.probabilities(self.encoding.transform(frame.select(self.encoding.schema.names)).X)


def stands_in(black_box: object) -> bool:
    """Return whether answers are the surrogate's own."""
    return isinstance(black_box, StandIn)
