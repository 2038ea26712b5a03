"""How one row comes from its inputs over its latents to the surrogate's decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.results.decided import DecidedRow
from illume.results.numbers import short

if TYPE_CHECKING:
    from illume.results.latents import Latents


@dataclass(frozen=True, eq=False, repr=False)
class LatentRow(DecidedRow):
    """Latents, map and slopes of one row, its own, before any refinement: a view of one row of a batch."""

    batch: Latents

    @property
    def z(self) -> FloatArray:
        """The latents, (k,)."""
        return self.batch.Z[0]

    @property
    def x(self) -> FloatArray:
        """The inputs, centred and scaled, (m,)."""
        return self.batch.X[0]

    @property
    def map(self) -> FloatArray:
        """The row's own linear map, (k, m); `z = map @ x`."""
        if self.batch.maps is None:
            raise ValueError("there are no maps; ask for them by explainer.latents(X, maps=True)")
        return self.batch.maps[0]

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The row itself, (n_features,)."""
        return self.batch.data[0]

    @property
    def slopes(self) -> FloatArray:
        """What one scaled unit more of every input would add to the log-odds, (c', m)."""
        return self.batch.coefficients @ self.map

    @property
    def contributions(self) -> FloatArray:
        """What every input adds to the log-odds, (c', m): slopes times inputs."""
        return self.slopes * self.x

    @property
    def scores(self) -> FloatArray:
        """The surrogate's log-odds, (c',): intercept and contributions together."""
        return self.batch.scores[0]

    @property
    def output(self) -> int:
        """Which output to read first: the only one, or that of the decided class."""
        return 0 if len(self.batch.intercept) == 1 else int(self.batch.decisions[0])

    def position(self, output: int | str | None = None) -> int:
        """Return the position of an output, given by its name or position; by default `output`."""
        return self.output if output is None else self.batch.output(output)

    @property
    def input_values(self) -> tuple[str, ...]:
        """The inputs in the user's own units, as text: the number itself, or whether it is this category."""
        labels, found = self.batch.labels, []
        for name, j in zip(labels.inputs, labels.owner, strict=True):
            value = short(self.data[j])
            feature = labels.features[j]
            found.append(value if name == feature else "yes" if name == f"{feature} = {value}" else "no")
        return tuple(found)

    def __repr__(self) -> str:
        latents = zip(self.batch.names, self.z, strict=True)
        verdict = "agrees" if self.agreed else "DISAGREES"
        head = (
            f"{self.decision!r} with probability {self.probability:.3f} "
            f"(surrogate: {self.surrogate_probability:.3f}, {verdict})"
        )
        return "\n".join([head, *(f"  {name}  {number:+.3f}" for name, number in latents)])
