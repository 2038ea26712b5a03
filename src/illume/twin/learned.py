"""A twin that was learned from the model's answers: one network for the model, one for its Shapley values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.data.threads import in_chunks, row_chunks, single_blas_thread
from illume.twin.network_arrays import Codes
from illume.twin.pairs import interaction_values
from illume.twin.refiner import ShapleyRefiner
from illume.twin.shapley_model import ShapleyModel
from illume.twin.twin import Contributions, Mixing, Pairs
from illume.twin.value_errors import WALK_PART
from illume.twin.walks import Walks, network_values, row_keys

VALUES_AT_ONCE = 1_024  # rows, whose numbers then stay in the cache of a core
REFINED_AT_ONCE = 512
WALKS = 64  # of the network for each row, against another background
PAIR_SAMPLES = 64


@dataclass(frozen=True, eq=False)
class LearnedTwin:
    """Two networks and background rows.

    Parameters
    ----------
    model
        The networks and how far they are off.
    background
        Coded background rows, for interactions and for values that are walked.
    walked
        Whether values come from walks of the network that learned the model, some milliseconds a row: those
        against other background rows than the fit's do.
    """

    model: ShapleyModel
    background: Codes
    walked: bool = False
    exact: bool = False

    @classmethod
    def of(cls, model: ShapleyModel, background: Encoded) -> LearnedTwin:
        """Put a fitted model together with its encoded background rows."""
        return cls(model, model.coding.codes(background.X, background.imputed))

    @property
    def base_values(self) -> FloatArray:
        return self.model.base_values

    def read(self, frame: Frame, encoded: Encoded) -> Codes:
        return self.model.coding.codes(encoded.X, encoded.imputed)

    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> Codes:
        return self.model.coding.codes(X, imputed)

    def scores(self, rows: Codes) -> FloatArray:
        scale = self.model.scale
        return np.asarray(scale.center + scale.unit * self.model.network(rows))

    def values(self, rows: Codes, P: FloatArray) -> Contributions:
        """See `Twin`; values add up to the model's own scores."""
        shape = (len(P), self.model.n_features, len(self.base_values))
        values, errors = np.empty(shape), np.empty(shape, dtype=np.float32)

        def fill(some: slice) -> None:
            values[some], errors[some] = self._values(rows[some], P[some])

        in_chunks(fill, len(P), VALUES_AT_ONCE)
        return Contributions(values, errors)

    def refine(self, rows: Codes, frame: Frame, P: FloatArray, mixing: Mixing) -> Contributions:
        scale = self.model.scale
        refiner = ShapleyRefiner(
            self.model, mixing.background, self.background, scale(mixing.P), mixing.names
        )
        found = []
        for some in row_chunks(len(P), REFINED_AT_ONCE):
            piece, scores = frame.slice(some.start, some.stop), scale(P[some])
            with single_blas_thread():
                start = self._start(rows[some], scores)
            found.append(refiner(rows[some], piece, scores, *start, ask=mixing.ask, n_asks=mixing.n_asks))
        return Contributions(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _values(self, rows: Codes, P: FloatArray) -> Contributions:
        values, variance = self._start(rows, self.model.scale(P))
        return self.model.contributions(values, np.sqrt(variance))

    def _start(self, rows: Codes, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values (n, m, c) that add up to scores, and the variances of their errors."""
        model = self.model
        raw, variance = self._walk(rows) if self.walked else (model.values(rows), 0.0)
        values, remainder = model.share_remainder(raw, scores)
        return values, np.square(model.errors.errors(values, remainder)) + variance

    def _walk(self, rows: Codes) -> tuple[FloatArray, FloatArray]:
        keys, (n_background, m) = row_keys(rows), self.background.at.shape
        walks = (Walks.draw_by_row(keys, m, n_background, salt) for salt in range(WALKS))
        return network_values(self.model.network, rows, self.background, walks)

    def pairs(self, rows: Codes, P: FloatArray, most: int | None = None) -> Pairs:
        """See `Twin`; of the features that the model uses."""
        model, coded = self.model, self.model.coding.features
        values, value_errors = (each[:, coded] for each in self.values(rows, P))
        order = np.arange(len(coded))
        if most is not None and most < len(coded):
            order = np.argsort(-np.abs(values).mean(0).sum(1), kind="stable")[:most]
        found, variance = interaction_values(model.network, rows, self.background, order, PAIR_SAMPLES)
        missed = WALK_PART * model.errors.walk_variance[order]  # by the network, of the model
        variance += (1 - np.eye(len(order)))[..., None] * (missed[:, None] + missed) / 2
        found, errors = (model.scale.unit * each / 2 for each in (found, np.sqrt(variance)))
        diagonal = np.arange(len(order))
        found[:, diagonal, diagonal] = values[:, order] - found.sum(2)
        errors[:, diagonal, diagonal] = np.sqrt(np.square(value_errors[:, order]) + np.square(errors).sum(2))
        return Pairs(coded[order], found, errors)

    def against(self, frame: Frame, encoded: Encoded, P: FloatArray) -> LearnedTwin:
        """See `Twin`; nothing is learned, and the model is not asked."""
        model = replace(self.model, base=self.model.scale(P).mean(0))
        return replace(self, model=model, background=self.read(frame, encoded), walked=True)
