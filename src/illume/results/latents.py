"""Latents of a batch of rows, and of one row, with the maps that lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.results.predictions import Decided, DecidedRow, Labels, positions
from illume.results.text import STAND_IN, format_value


@dataclass(frozen=True, eq=False)
class Plane:
    """Two directions in the space of latents, through a centre.

    Parameters
    ----------
    centre
        The latents that stand at (0, 0), (k,).
    directions
        The two directions, (2, k).
    share
        What share of the latents' variance each of them shows, (2,).
    """

    centre: FloatArray
    directions: FloatArray
    share: FloatArray

    @classmethod
    def of(cls, Z: FloatArray) -> Plane:
        """Return the plane of latents Z (n, k): they themselves for k up to 2, else principal components.

        The largest weight of a component is positive, so that its sign is not left to chance.

        >>> Z = np.array([[0.0, 0.0, -2.0], [0.0, 0.0, 2.0], [0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
        >>> Plane.of(Z).directions
        array([[0., 0., 1.],
               [0., 1., 0.]])
        """
        k = Z.shape[1]
        if k <= 2 or not len(Z):
            return cls(np.zeros(k), np.eye(2, k), _shares(Z.var(0) if len(Z) else np.zeros(k)))
        centre = Z.mean(0)
        variance, components = np.linalg.eigh(np.cov(Z - centre, rowvar=False, bias=True))
        variance, components = variance[::-1], components[:, ::-1].T
        largest = np.abs(components).argmax(1)
        components = components * np.sign(components[np.arange(k), largest])[:, None]
        return cls(centre, components[:2] + 0.0, _shares(variance))

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return where latents Z (n, k) lie in the plane, (n, 2)."""
        return (Z - self.centre) @ self.directions.T


def _shares(variance: FloatArray) -> FloatArray:
    share = np.append(variance, [0.0, 0.0])[:2]
    total = variance.sum()
    return share / total if total > 0 else np.zeros(2)


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
            value = format_value(self.data[j])
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
