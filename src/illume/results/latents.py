"""Latents of a batch of rows, and of one row, with the maps that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.data.number_text import count, signed
from illume.results import frames
from illume.results.predictions import LabelledBatch, LabelledRow, Labels, row_entry
from illume.results.text import STAND_IN, format_value
from illume.results.trust import Novelty


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane in the space of latents: centre (k,), two directions (2, k), their shares of variance (2,)."""

    centre: FloatArray
    directions: FloatArray
    share: FloatArray

    @classmethod
    def fit(cls, Z: FloatArray) -> Plane:
        """Return the plane of latents Z (n, k): the latents for k up to 2, else two principal components.

        The largest weight of a component is positive, so that its sign is reproducible.

        >>> Z = np.array([[0.0, 0.0, -2.0], [0.0, 0.0, 2.0], [0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
        >>> Plane.fit(Z).directions
        array([[0., 0., 1.],
               [0., 1., 0.]])
        """
        k = Z.shape[1]
        if k <= 2 or not len(Z):
            centre, components, variance = np.zeros(k), np.eye(2, k), Z.var(0) if len(Z) else np.zeros(k)
        else:
            centre = Z.mean(0)
            variance, components = np.linalg.eigh(np.cov(Z - centre, rowvar=False, bias=True))
            variance, components = variance[::-1], components[:, ::-1].T[:2]
            largest = components[[0, 1], np.abs(components).argmax(1)]
            components = components * np.sign(largest)[:, None] + 0.0
        share = np.append(variance, [0.0, 0.0])[:2] / (variance.sum() or 1.0)
        return cls(centre, components, share)

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return coordinates of latents Z (n, k) in the plane, (n, 2)."""
        return (Z - self.centre) @ self.directions.T


class LatentRow(LabelledRow):
    """Latents, map and slopes of one row, before any refinement: one row of a batch."""

    batch: Latents
    z: FloatArray = row_entry("Z")
    """The latents, (k,)."""
    x: FloatArray = row_entry("X")
    """The inputs, centred and scaled, (m,)."""
    scores: FloatArray = row_entry("scores")
    """The surrogate's log-odds, (c',): intercept plus contributions, and what the row's level adds."""

    @property
    def map(self) -> FloatArray:
        """The row's own linear map, (k, m); `z` is `map @ x`, and a level of the row's own."""
        if self.batch.maps is None:
            raise ValueError("there are no maps; ask for them by explainer.latents(X, maps=True)")
        return self.batch.maps[0]

    @property
    def slopes(self) -> FloatArray:
        """Change of the log-odds per scaled unit of every input, (c', m)."""
        return self.batch.coefficients @ self.map

    @property
    def contributions(self) -> FloatArray:
        """Contributions of every input to the log-odds, (c', m): slopes times inputs."""
        return self.slopes * self.x

    @property
    def input_values(self) -> tuple[str, ...]:
        """The inputs in the user's own units, as text: the number, or yes or no for a category."""
        labels, found = self.batch.labels, []
        for name, j in zip(labels.inputs, labels.owner, strict=True):
            value, feature = format_value(self.data[j]), labels.features[j]
            shown = labels.dictionary.show(feature, self.data[j])
            found.append(shown if name == feature else "yes" if name == f"{feature} = {value}" else "no")
        return tuple(found)

    def describe(self) -> Iterator[str]:
        """Yield the printed lines."""
        verdict = "agrees" if self.agreed else "DISAGREES"
        yield self.headline if self.batch.stand_in else f"{self.headline} ({self.surrogate_text}, {verdict})"
        names = self.batch.latent_labels
        yield from (f"  {name}  {signed(number)}" for name, number in zip(names, self.z, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Latents(LabelledBatch[LatentRow]):
    """Latents of a batch, the input of the surrogate, before any refinement.

    Parameters
    ----------
    Z
        The latents, (n, k): `maps[i] @ X[i]`, and a level of the row's own where the encoder learned from
        pairs. Where the global surrogate explains, Z is X.
    X
        The inputs: numbers centred and in standard deviations, categories as centred 0 and 1, (n, m).
    maps
        Every row's own linear map, (n, k, m), if requested; None otherwise.
    coefficients, intercept
        The surrogate's weights on the latents, (c', k) and (c',): one line for two classes, else one per
        class.
    names
        Names of the latents: `z1`, `z2` and so on, or the inputs where these are the latents.
    view
        The plane for plots, fitted to the training rows: a row's place does not depend on the other rows.
    novelty
        Which rows are outside of what the explainer was fitted on: see `Novelty`.
    stand_in
        Whether the predictions are the surrogate's own, because there was no black box.
    """

    Z: FloatArray
    X: FloatArray
    maps: FloatArray | None
    coefficients: FloatArray
    intercept: FloatArray
    data: np.ndarray[Any, Any]
    predictions: FloatArray
    surrogate_predictions: FloatArray
    names: tuple[str, ...]
    view: Plane
    labels: Labels
    origin: Origin
    novelty: Novelty
    stand_in: bool = False

    ROW: ClassVar[type[Any]] = LatentRow
    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("Z", "X", "maps", "data", "predictions", "surrogate_predictions", "novelty"),
    )

    @property
    def latent_labels(self) -> tuple[str, ...]:
        """What the latents are called in texts and plots."""
        return self.labels.input_labels if self.names == self.input_names else self.names

    @property
    def n_latents(self) -> int:
        """Number of latents, k."""
        return self.coefficients.shape[1]

    @property
    def agreed(self) -> BoolArray:
        """Whether surrogate and black box decide alike."""
        return self.outputs.alike(self.predictions, self.surrogate_predictions)

    @property
    def scores(self) -> FloatArray:
        """The surrogate's log-odds, (n, c')."""
        return self.Z @ self.coefficients.T + self.intercept

    @property
    def plane(self) -> FloatArray:
        """Coordinates in a plane, (n, 2): Z itself for two latents, else two principal components."""
        return self.view(self.Z)

    def decide(self, Z: FloatArray) -> IntArray:
        """Return the surrogate's decisions on latents (…, k), as positions in `class_names`."""
        answers = self.answer(Z)
        return self.outputs.question().decide(answers.reshape(-1, answers.shape[-1])).reshape(Z.shape[:-1])

    def answer(self, Z: FloatArray) -> FloatArray:
        """Return the surrogate's answers to latents (…, k), (…, c)."""
        scores = Z @ self.coefficients.T + self.intercept
        answers = self.outputs.answers(self.outputs.turn(scores.reshape(-1, scores.shape[-1])))
        return answers.reshape(*scores.shape[:-1], -1)

    def to_frame(self) -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy), with the same index.

        It has a line per row: decisions of black box and surrogate, the place in the plane, and the latents.
        """
        return frames.latents_frame(self)

    def describe(self) -> Iterator[str]:
        """Yield the printed lines."""
        n, m = self.X.shape
        maps = "with" if self.maps is not None else "without"
        yield f"Latents of {count(n, 'row')}: {self.n_latents} from {count(m, 'input')}, {maps} maps"
        if n:
            agreement = f"surrogate and model agree on {int(self.agreed.sum())} of {count(n, 'row')}"
            yield STAND_IN if self.stand_in else agreement
