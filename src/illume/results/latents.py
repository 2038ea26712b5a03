"""Where rows stand between the inputs and the decision: latents, and the maps that lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.results.decided import Decided
from illume.results.labels import Labels
from illume.results.latent_row import LatentRow
from illume.results.plane import Plane
from illume.results.take import positions
from illume.results.text import STAND_IN


@dataclass(frozen=True, eq=False, repr=False)
class Latents(Decided):
    """Latents of a batch: what the surrogate decides on.

    They are the rows' own, before any refinement. Where the surrogate would decide otherwise than the black
    box, attributions are refined, and these latents and maps are not.

    Parameters
    ----------
    Z
        The latents, (n, k); `Z[i] = maps[i] @ X[i]`. Where the global surrogate explains, Z is X.
    X
        The inputs: numbers centred and in standard deviations, categories as centred 0 and 1, (n, m).
    maps
        Every row's own linear map, (n, k, m), where it was asked for; None otherwise.
    coefficients, intercept
        The surrogate's weights on the latents, (c', k) and (c',): one line for two classes, else one per
        class.
    data
        The rows themselves, (n, n_features).
    probabilities, surrogate_probabilities
        What the black box and the surrogate answer, (n, n_classes).
    names
        What the latents are called: `z1`, `z2` and so on, or the inputs where these are the latents.
    view
        The plane to look at them in; it comes from the training rows, so that a row has one place, whatever
        other rows are asked for.
    stand_in
        Whether the probabilities are the surrogate's own, for want of the black box.
    """

    Z: FloatArray
    X: FloatArray
    maps: FloatArray | None
    coefficients: FloatArray
    intercept: FloatArray
    data: np.ndarray[Any, Any]
    probabilities: FloatArray
    surrogate_probabilities: FloatArray
    names: tuple[str, ...]
    view: Plane
    labels: Labels
    origin: Origin
    stand_in: bool = False

    @property
    def n_latents(self) -> int:
        """How many latents there are, k."""
        return self.coefficients.shape[1]

    @property
    def agreed(self) -> BoolArray:
        """Whether surrogate and black box decide alike."""
        return self.decisions == self.surrogate_decisions

    @property
    def scores(self) -> FloatArray:
        """The surrogate's log-odds, (n, c')."""
        return self.Z @ self.coefficients.T + self.intercept

    @property
    def plane(self) -> FloatArray:
        """Where the rows lie in a plane, (n, 2): Z itself for two latents, else two principal components."""
        return self.view(self.Z)

    def decide(self, Z: FloatArray) -> IntArray:
        """Return the surrogate's decisions on latents (…, k), as positions in `class_names`.

        The surrogate's regions, for two latents: what it decides at every place of the plane.
        """
        scores = Z @ self.coefficients.T + self.intercept
        return (scores[..., 0] > 0).astype(np.intp) if len(self.intercept) == 1 else scores.argmax(-1)

    def __len__(self) -> int:
        return len(self.Z)

    def __iter__(self) -> Iterator[LatentRow]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> LatentRow: ...
    @overload
    def __getitem__(self, rows: slice | IntArray | BoolArray | Sequence[int]) -> Latents: ...
    def __getitem__(self, rows: Any) -> LatentRow | Latents:
        """Take one row by its position, or several by a slice, positions or a mask."""
        taken, single = positions(rows, len(self))
        per_row = "Z X data probabilities surrogate_probabilities"
        batch = replace(
            self,
            **{name: getattr(self, name)[taken] for name in per_row.split()},
            maps=None if self.maps is None else self.maps[taken],
            origin=self.origin.take(taken),
        )
        return LatentRow(batch) if single else batch

    def to_frame(self) -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy), with the same index.

        It has a line per row: what black box and surrogate decide, the place in the plane, and the latents.
        """
        rows = np.arange(len(self))
        names = np.array(self.class_names, dtype=object)
        decisions, place = self.decisions, self.plane
        about = {
            "decision": names[decisions].tolist(),
            "probability": self.probabilities[rows, decisions],
            "surrogate_decision": names[self.surrogate_decisions].tolist(),
            "surrogate_probability": self.surrogate_probabilities[rows, decisions],
            "agreed": self.agreed,
            "plane_x": np.ascontiguousarray(place[:, 0]),
            "plane_y": np.ascontiguousarray(place[:, 1]),
        }
        columns = {(f"{name}_" if name in self.names else name): column for name, column in about.items()}
        latents = {name: np.ascontiguousarray(self.Z[:, r]) for r, name in enumerate(self.names)}
        return self.origin.frame(columns | latents)

    def __repr__(self) -> str:
        n, m = self.X.shape
        maps = "with" if self.maps is not None else "without"
        head = f"Latents of {n} rows: {self.n_latents} from {m} inputs, {maps} maps"
        if not n:
            return head
        if self.stand_in:
            return f"{head}\n{STAND_IN}"
        return f"{head}\nsurrogate and black box agree on {int(self.agreed.sum())} of {n} rows"
