"""From a frame's rows to their attributions, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._chunks import row_chunks
from illume._typing import FloatArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoding
from illume.data.frames import Frame, chunks
from illume.errors import BlackBoxError
from illume.explanations.attributions import contributions
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
            slopes=np.empty((n, len(labels.inputs), *outputs), dtype=np.float32),
            data=np.empty((n, 0)),  # when all rows are known to be good
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
            Z = self._pull_back(encoded.X, result.slopes[rows], result.values[rows])
            # Once a piece and not once a chunk: torch and NumPy's linear algebra have threads of their
            # own, and going to and fro between them is slow.
            result.surrogate_probabilities[rows] = self.pair.surrogate.probabilities(Z)
            result.trust[rows] = self.trust_map(encoded.X)
        return replace(result, data=self._data(frame))

    def _pull_back(self, X: FloatArray, slopes_out: FloatArray, values_out: FloatArray) -> FloatArray:
        """Fill in slopes and contributions of a piece, a chunk of maps at a time; return the latents."""
        Z = np.empty((len(X), self.pair.n_latents))
        flat = values_out.ndim == 2
        for rows in row_chunks(len(X)):
            pulled = self.pair.encoder.pull_back(X[rows], self.pair.surrogate.coef_)
            value = self.encoding.gather(contributions(pulled.slopes, X[rows]))
            slopes_out[rows] = pulled.slopes[:, 0] if flat else np.swapaxes(pulled.slopes, 1, 2)
            values_out[rows] = value[:, 0] if flat else np.swapaxes(value, 1, 2)
            Z[rows] = pulled.Z
        return Z

    def _answers(self, black_box: Callable[[Frame], FloatArray], piece: Frame) -> FloatArray:
        P, n_classes = black_box(piece), len(self.class_names)
        if P.shape[1] != n_classes:
            raise BlackBoxError(f"the model answered {P.shape[1]} classes, {n_classes} when fitted")
        return P

    def _data(self, frame: Frame) -> np.ndarray[Any, Any]:
        """Return the rows' values (n, n_features): the array itself where it is one of numbers."""
        features = self.encoding.schema.features
        native = frame.select(self.encoding.schema.names).native
        numeric = all(feature.numeric for feature in features)
        if numeric and isinstance(native, np.ndarray) and native.dtype == np.float64:
            return native
        data = np.empty((len(frame), len(features)), dtype=float if numeric else object, order="F")
        for j, feature in enumerate(features):
            name = feature.name
            data[:, j] = frame.numbers(name) if feature.numeric else frame.labels(name)
        return data

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
