"""Where rows lie in the latent space, and what the surrogate reads there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.results.labels import Labels


@dataclass(frozen=True, eq=False, repr=False)
class Latents:
    """Latents of a batch of rows: `Z[i] = maps[i] @ X[i]`, and `Z @ coefficients.T + intercept` the log-odds.

    Parameters
    ----------
    Z
        Latents, (n, k).
    X
        The rows as scaled inputs, (n, m).
    maps
        The rows' own maps, (n, k, m); None unless asked for, for they are large.
    coefficients, intercept
        The surrogate's weights, (c', k) and (c',), with one output for two classes.
    probabilities, surrogate_probabilities
        What the black box and the surrogate answer, (n, n_classes).
    """

    Z: FloatArray
    X: FloatArray
    maps: FloatArray | None
    coefficients: FloatArray
    intercept: FloatArray
    probabilities: FloatArray
    surrogate_probabilities: FloatArray
    labels: Labels
    origin: Origin

    @property
    def decisions(self) -> IntArray:
        """The black box's decision, as a position among the classes."""
        return self.probabilities.argmax(1)

    @property
    def surrogate_decisions(self) -> IntArray:
        """The surrogate's decision, as a position among the classes."""
        return self.surrogate_probabilities.argmax(1)

    @property
    def agreed(self) -> BoolArray:
        """Whether surrogate and black box decide alike."""
        return self.decisions == self.surrogate_decisions

    @property
    def plane(self) -> FloatArray:
        """The rows in two dimensions, (n, 2): Z itself, or its first two principal components."""
        return plane(self.Z)

    def __len__(self) -> int:
        return len(self.Z)


def plane(Z: FloatArray) -> FloatArray:
    """Return Z (n, k) in two dimensions; of each component, the largest weight is positive.

    >>> plane(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    >>> plane(np.array([[1.0], [3.0]]))
    array([[1., 0.],
           [3., 0.]])
    """
    n, k = Z.shape
    if k <= 2:
        return np.column_stack([Z, np.zeros((n, 2 - k))])
    centred = Z - Z.mean(0) if n else Z
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    largest = axes[np.abs(axes).argmax(0), [0, 1]]
    return centred @ (axes * np.where(largest < 0, -1.0, 1.0))
