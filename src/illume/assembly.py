"""From a frame's rows to their attributions, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._chunks import row_chunks
from illume._typing import FloatArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoding
from illume.data.frames import Frame, chunks
from illume.errors import BlackBoxError
from illume.explanations.attributions import contributions, slopes
from illume.explanations.trust import TrustMap
from illume.fitting import Pair
from illume.results.attributions import Attributions
from illume.results.labels import Labels
from illume.results.trust import Trust


@dataclass(frozen=True, eq=False)
class Assembly:
    """All that is needed to explain rows which the black box has answered."""

    encoding: Encoding
    pair: Pair
    trust_map: TrustMap
    class_names: tuple[str, ...]

    def attributions(self, frame: Frame, black_box: Callable[[Frame], FloatArray]) -> Attributions:
        """Explain the rows of a frame.

        Every piece is checked before the black box is asked about it. Beside the result itself, memory
        is needed for one piece only.
        """
        n, labels = len(frame), self._labels()
        outputs = () if len(labels.outputs) == 1 else (len(labels.outputs),)
        result = Attributions(
            values=np.empty((n, len(labels.features), *outputs)),
            base_values=np.broadcast_to(self._intercept(), (n, *outputs)),
            rest=np.broadcast_to(np.zeros(outputs), (n, *outputs)),
            slopes=np.empty((n, len(labels.inputs), *outputs)),
            data=np.empty((n, len(labels.features)), dtype=self._dtype()),
            probabilities=np.empty((n, len(labels.classes))),
            surrogate_probabilities=np.empty((n, len(labels.classes))),
            imputed=np.empty((n, len(labels.features)), dtype=bool),
            trust=Trust(np.empty(n), np.empty(n), np.empty(n, dtype=np.intp)),
            labels=labels,
            origin=frame.origin,
        )
        for rows, piece in chunks(frame, BATCH_ROWS):
            features = piece.select(self.encoding.schema.names)
            encoded = self.encoding.transform(features)
            result.probabilities[rows] = self._answers(black_box, piece)
            result.imputed[rows] = encoded.imputed
            self._copy_data(features, result.data[rows])
            for part in row_chunks(len(piece)):
                whole = slice(rows.start + part.start, rows.start + part.stop)
                self._explain(encoded.X[part], result, whole)
        return result

    def _answers(self, black_box: Callable[[Frame], FloatArray], piece: Frame) -> FloatArray:
        P, n_classes = black_box(piece), len(self.class_names)
        if P.shape[1] != n_classes:
            raise BlackBoxError(f"the model answered {P.shape[1]} classes, {n_classes} when fitted")
        return P

    def _copy_data(self, frame: Frame, data: np.ndarray[Any, Any]) -> None:
        for j, feature in enumerate(self.encoding.schema.features):
            name = feature.name
            data[:, j] = frame.numbers(name) if feature.numeric else frame.labels(name)

    def _explain(self, X: FloatArray, result: Attributions, rows: slice) -> None:
        latent = self.pair.encoder.encode(X)
        slope = slopes(latent.W, self.pair.surrogate.coef_)
        value = self.encoding.gather(contributions(slope, X))
        flat = result.values.ndim == 2
        result.values[rows] = value[:, :, 0] if flat else value
        result.slopes[rows] = slope[:, :, 0] if flat else slope
        result.surrogate_probabilities[rows] = self.pair.surrogate.probabilities(latent.Z)
        trust = self.trust_map(X)
        result.trust.agreement[rows] = trust.agreement
        result.trust.error[rows] = trust.error
        result.trust.n_rows[rows] = trust.n_rows

    def _labels(self) -> Labels:
        encoding = self.encoding
        return Labels(
            features=encoding.schema.names,
            inputs=encoding.input_names,
            classes=self.class_names,
            owner=encoding.owner,
            unit=encoding.scale,
        )

    def _intercept(self) -> Any:
        intercept = self.pair.surrogate.intercept_
        return intercept[0] if len(intercept) == 1 else intercept

    def _dtype(self) -> type:
        return float if all(feature.numeric for feature in self.encoding.schema.features) else object
