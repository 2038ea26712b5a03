"""What an explainer has learned, once it is fitted."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from illume.data.schema import Schema, Unknown, require_unknown
from illume.explanations.fitted import Fitted
from illume.explanations.habits import suggest_attribute
from illume.fit.fit import FitResult
from illume.results.diagnostics import History
from illume.results.quality import Quality, RuleQuality


class Learned:
    """What an explainer has learned; without a fit, each of these raises scikit-learn's `NotFittedError`."""

    unknown: Unknown
    labels: Any

    @property
    def quality_(self) -> Quality:
        """How true contributions are, agreement of the surrogate per class, and how the fit went."""
        return self._require_fitted().quality

    @property
    def rule_quality_(self) -> RuleQuality:
        """Precision and coverage of rules on report rows, once rules have been fitted."""
        quality = self._require_fitted().rule_quality
        if quality is None:
            raise AttributeError("rule_quality_ is there once rules have been fitted; call fit_rules() first")
        return quality

    @property
    def schema_(self) -> Schema:
        """The features."""
        return self._require_fitted().schema

    @property
    def class_names_(self) -> tuple[str, ...]:
        """The classes, or the names of the numbers that the model answers with."""
        return self._require_fitted().outputs.names

    @property
    def history_(self) -> History | None:
        """The training epochs of the encoder; the trials that chose its size are `fitted_.trials`."""
        return self._require_fitted().history

    def __getattr__(self, name: str) -> Any:
        """Say which call of illume does what another package calls `name`."""
        if hasattr(type(self), name):  # a property that raised: let it say why
            return object.__getattribute__(self, name)
        raise AttributeError(suggest_attribute(name), name=name, obj=self)

    def _keep(self, found: FitResult) -> None:
        self.fitted_, self.stages_, self._interrupted = found.fitted, found.stages, found.interrupted
        self.n_features_in_ = len(self.fitted_.schema)
        self._used_labels = self.labels

    def _require_fitted(self) -> Fitted:
        """Return what was learned; `unknown` and `labels` may have been set after the fit."""
        check_is_fitted(self, "fitted_")
        require_unknown(self.unknown)
        self.fitted_ = self.fitted_.with_unknown(self.unknown)
        if self.labels is not self._used_labels:
            self.fitted_ = self.fitted_.with_labels(self.labels)
            self._used_labels = self.labels
        return self.fitted_
