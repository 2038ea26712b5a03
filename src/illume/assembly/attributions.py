"""From a frame's rows to their attributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._chunks import RowChunks
from illume._typing import FloatArray, IntArray
from illume.assembly.answers import labels_of, values_of
from illume.assembly.stand_in import stands_in
from illume.data.black_box import BATCH_ROWS, asked
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.explanations.attributions import contributions
from illume.explanations.familiar import Familiar
from illume.explanations.neighbours import Neighbours
from illume.explanations.refinement import Refined, Refiner, carrier
from illume.explanations.regions import LinearRegions
from illume.explanations.trust import TrustMap
from illume.fitting import Pair
from illume.results.attributions import Attributions
from illume.results.novelty import Novelty
from illume.results.refinement import Refinement
from illume.results.trust import Trust


@dataclass(frozen=True, eq=False)
class AttributionAssembly:
    """All that is needed to attribute decisions on rows which the black box has answered.

    `training` says where the training rows stand among the rows given to `fit`.
    """

    encoding: Encoding
    pair: Pair
    neighbours: Neighbours
    training: IntArray
    trust_map: TrustMap
    familiar: Familiar
    class_names: tuple[str, ...]

    def attributions(self, frame: Frame, black_box: Callable[[Frame], FloatArray]) -> Attributions:
        """Explain the rows of a frame.

        Every piece is checked before the black box is asked about it. Beside the result itself, memory
        is needed for one piece only.
        """
        n, labels = len(frame), labels_of(self.encoding, self.class_names)
        outputs = () if len(labels.outputs) == 1 else (len(labels.outputs),)
        result = Attributions(
            values=np.empty((n, len(labels.features), *outputs)),
            base_values=np.broadcast_to(self._intercept(), (n, *outputs)),
            offset=np.zeros((n, *outputs)),
            rest=np.broadcast_to(np.zeros(outputs), (n, *outputs)),
            slopes=np.empty((n, len(labels.inputs), *outputs), dtype=np.float32),
            data=np.empty((n, 0)),  # when all rows are known to be good
            probabilities=np.empty((n, len(labels.classes))),
            surrogate_probabilities=np.empty((n, len(labels.classes))),
            imputed=np.empty((n, len(labels.features)), dtype=bool),
            trust=Trust.unknown(n),
            novelty=Novelty.empty(n, labels.features),
            refinement=Refinement.empty(n, off=not len(self.neighbours.X)),
            labels=labels,
            origin=frame.origin,
            stand_in=stands_in(black_box),
        )
        pieces = RowChunks(n, BATCH_ROWS)
        for rows in pieces:
            with pieces:
                self._explain(result, rows, frame.slice(rows.start, rows.stop), black_box)
        return replace(result, data=values_of(self.encoding, frame))

    def _explain(
        self, result: Attributions, rows: slice, piece: Frame, black_box: Callable[[Frame], FloatArray]
    ) -> None:
        """Fill in the explanations of a piece."""
        encoded = self.encoding.transform(piece.select(self.encoding.schema.names))
        result.probabilities[rows] = asked(black_box, piece, rows.start)
        result.imputed[rows] = encoded.imputed
        Z = self._pull_back(encoded.X, result.slopes[rows], result.values[rows])
        # Once a piece and not once a chunk: torch and NumPy's linear algebra have threads of their
        # own, and going to and fro between them is slow.
        result.surrogate_probabilities[rows] = self.pair.surrogate.probabilities(Z)
        self._refine(result, rows, encoded.X, Z)
        result.trust[rows] = self.trust_map(encoded.X)
        result.novelty[rows] = self.familiar(encoded, result.trust.distance[rows])

    def _pull_back(self, X: FloatArray, slopes_out: FloatArray, values_out: FloatArray) -> FloatArray:
        """Fill in slopes and contributions of a piece, a chunk of maps at a time; return the latents."""
        Z = np.empty((len(X), self.pair.n_latents))
        flat = values_out.ndim == 2
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                pulled = self.pair.encoder.pull_back(X[rows], self.pair.surrogate.coef_)
                value = self.encoding.gather(contributions(pulled.slopes, X[rows]))
                slopes_out[rows] = pulled.slopes[:, 0] if flat else np.swapaxes(pulled.slopes, 1, 2)
                values_out[rows] = value[:, 0] if flat else np.swapaxes(value, 1, 2)
                Z[rows] = pulled.Z
        return Z

    def _refine(self, result: Attributions, piece: slice, X: FloatArray, Z: FloatArray) -> None:
        """Move explanations that decide otherwise than the black box towards a neighbour's."""
        wanted = result.probabilities[piece].argmax(1)
        agreed = result.surrogate_probabilities[piece].argmax(1) == wanted
        result.refinement.agreed[piece] = agreed
        refine = Refiner(
            carrier(self.pair.encoder, self.pair.n_latents),
            self._decide,
            LinearRegions(self.pair.surrogate),
            self.neighbours,
        )
        others = np.flatnonzero(~agreed)
        if not len(others) or result.refinement.off:
            return
        # Once a piece, for the same reason as above; then maps are needed, a chunk of rows at a time.
        refined = refine(X[others], Z[others], wanted[others])
        at = piece.start + others
        offset = refined.offset @ self.pair.surrogate.coef_.T
        result.offset[at] = offset[:, 0] if result.values.ndim == 2 else offset
        result.refinement[at] = refined.refinement.among(self.training)
        chunks = RowChunks(len(others))
        for part in chunks:
            with chunks:
                self._write(result, at[part], X[others[part]], refined[part])

    def _write(self, result: Attributions, at: IntArray, X: FloatArray, refined: Refined) -> None:
        """Fill in the slopes and contributions of refined rows."""
        coef, flat = self.pair.surrogate.coef_, result.values.ndim == 2
        mine = self.pair.encoder.pull_back(X, coef).slopes
        near = np.where(refined.neighbour >= 0, refined.neighbour, 0)  # of no consequence where there is none
        theirs = self.pair.encoder.pull_back(self.neighbours.X[near], coef).slopes
        slopes = refined.mixed(mine, theirs)
        values = self.encoding.gather(contributions(slopes, X))
        result.slopes[at] = slopes[:, 0] if flat else np.swapaxes(slopes, 1, 2)
        result.values[at] = values[:, 0] if flat else np.swapaxes(values, 1, 2)

    def _decide(self, Z: FloatArray) -> IntArray:
        return self.pair.surrogate.probabilities(Z).argmax(1)

    def _intercept(self) -> Any:
        intercept = self.pair.surrogate.intercept_
        return intercept[0] if len(intercept) == 1 else intercept
