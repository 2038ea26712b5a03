"""A plane to look at latents in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray


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
