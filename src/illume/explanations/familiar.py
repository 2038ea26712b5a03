"""Whether a row is like those that the explainer was fitted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.encoding import Encoded
from illume.explanations.trust import TrustMap
from illume.results.trust import Novelty


@dataclass(frozen=True, eq=False)
class Familiar:
    """What one row can be held against.

    Parameters
    ----------
    names, missing
        The features, and of which of them missing values were seen while fitting, (n_features,).
    trust_map
        Its anchors stand for the fitted rows.
    limit
        The distance to the nearest anchor from which on a row is far.
    """

    names: tuple[str, ...]
    missing: BoolArray
    trust_map: TrustMap
    limit: float

    def __call__(self, encoded: Encoded, distance: FloatArray | None = None) -> Novelty:
        """Look at encoded rows; the distance to the nearest anchor need not be measured twice."""
        if distance is None:
            distance = self.trust_map(encoded.X).distance
        with np.errstate(invalid="ignore"):
            far = distance > self.limit
        gone = encoded.imputed & ~self.missing
        return Novelty(encoded.odd | gone if gone.any() else encoded.odd, far, self.names)
