"""What an explainer has learned, once it is fitted, and views of rows that need no options of its own."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from illume.data.require import require_choice, require_int
from illume.data.schema import Schema, Unknown, require_unknown
from illume.errors import rows_after
from illume.explanations.attributions import against, explain_interactions
from illume.explanations.fitted import Fitted
from illume.explanations.habits import suggest_attribute
from illume.explanations.latents import explain_latents
from illume.fit.ask import ask
from illume.results.check import Check
from illume.results.diagnostics import History
from illume.results.dictionary import DataDictionary
from illume.results.interactions import Interactions
from illume.results.latents import Latents
from illume.results.quality import Quality, RuleQuality

KINDS = ["attributions", "latents", "rules", "counterfactuals"]
KEPT = 4  # questions whose rules are kept
SET_LATER = ("unknown", "labels", "positive_class", "threshold")  # parameters that may be set after the fit


class Learned:
    """What an explainer has learned; without a fit, each of these raises scikit-learn's `NotFittedError`."""

    unknown: Unknown
    labels: Any
    verbose: bool | None
    positive_class: Any
    threshold: float | None
    fitted_: Fitted
    get_params: Any
    _others: Any

    @property
    def quality_(self) -> Quality:
        """How true contributions are, how close the twin is, and how the fit went."""
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
        """The training epochs of the encoder, which is trained if it was not yet."""
        return self._require_fitted().latents().history

    def __getattr__(self, name: str) -> Any:
        """Say which call of illume does what another package calls `name`."""
        if hasattr(type(self), name):  # a property that raised: let it say why
            return object.__getattribute__(self, name)
        raise AttributeError(suggest_attribute(name), name=name, obj=self)

    def interactions(
        self, X: Any, *, max_features: int | None = None, positive_class: Any = None, background: Any = None
    ) -> Interactions:
        """Return which pairs of features act together: pairwise Shapley interaction values of each row.

        A feature's row of the matrix adds up to its contribution. With `max_features`, pairs are those of the
        features with the largest contributions. `background` are other rows to compare with.
        """
        fitted = against(self._require_fitted().towards(positive_class), background)
        return explain_interactions(fitted, X, max_features)

    def latents(self, X: Any, maps: bool = False) -> Latents:
        """Return the rows' latents, before any refinement, and with `maps` their linear maps (n, k, m)."""
        return explain_latents(self._require_fitted(), X, maps)

    def check(self, frame: Any, *, sample: int = 1_000) -> Check:
        """Compare new rows with the rows of the fit, and say whether explanations still apply to them.

        `frame` is anything that `fit` reads; of more than 200,000 rows, this many are drawn at random. The
        black box is asked about at most `sample` rows.
        """
        from illume.explanations.drift import check_drift

        return check_drift(self._require_fitted(), frame, sample, self.verbose)

    def fit_latents(self) -> Self:
        """Train the latent surrogate now, behind slopes, latents and rules; they do this on first need."""
        self._require_fitted().latents()
        return self

    def fit_rules(self) -> Self:
        """Grow the tree that rules come from now; `rules` and `counterfactuals` do this on first need."""
        self._require_fitted().rules()
        return self

    def stream(
        self, X: Any, chunk_rows: int = 65_536, kind: str = "attributions", **options: Any
    ) -> Iterator[Any]:
        """Yield explanations piece by piece, so that memory is bounded by the piece.

        `X` is a frame, or anything else that `fit` reads: a path to Parquet files, a Dataset, a LazyFrame.
        `kind` is `attributions`, `latents`, `rules` or `counterfactuals`; options are those of the method.
        """
        require_choice("kind", kind, KINDS)
        require_int("chunk_rows", chunk_rows)
        explain: Any
        explain, first = self if kind == "attributions" else getattr(self, kind), 0
        for piece in self._require_fitted().iter_rows(X, chunk_rows):
            with rows_after(first):
                explained = explain(piece, **options)
            yield explained
            first += len(piece)

    def _deciding(self, threshold: Any, positive_class: Any = None) -> Self:
        """Return the same explainer, of classes, for another question; a few are kept for the next call."""
        fitted, own = self._require_fitted(), (self.threshold, self.positive_class)
        asked = tuple(
            mine if new is None else new for new, mine in zip((threshold, positive_class), own, strict=True)
        )
        if asked == own or not fitted.outputs.decides:
            return self
        kept: dict[Any, tuple[Fitted, Self]] = self.__dict__.setdefault("_others", {})
        source, other = kept.pop(asked, (None, self))
        if source is not fitted:
            other = copy(self)
            other.__dict__.update(threshold=asked[0], positive_class=asked[1], _others={})
            other._follow()
        kept[asked] = (fitted, other)
        while len(kept) > KEPT:
            kept.pop(next(iter(kept)))
        return other

    def _without_model(self) -> Fitted:
        """Return the same with a twin that is learned, at first use: it does not give the model away."""
        fitted = self._require_fitted()
        if fitted.learned is None:
            return fitted
        asked = ask(fitted.learned(), self.positive_class, self.threshold)
        return asked.with_unknown(self.unknown).with_labels(fitted.dictionary)

    def _keep(self, fitted: Fitted) -> None:
        self.fitted_ = fitted
        self.n_features_in_ = len(self.fitted_.schema)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter; what was learned follows at once, or the value is refused."""
        if name in SET_LATER and "fitted_" in self.__dict__:
            self._follow(**{name: value})
        super().__setattr__(name, value)

    def _follow(self, **changed: Any) -> None:
        """Make what was learned that of other parameters."""
        unknown, labels, *question = (changed.get(name, getattr(self, name)) for name in SET_LATER)
        require_unknown(unknown)
        dictionary = self.fitted_.dictionary
        if "labels" in changed:
            dictionary = DataDictionary.of(labels, self.fitted_.schema)
        self.fitted_ = ask(self.fitted_, *question).with_unknown(unknown).with_labels(dictionary)

    def _require_fitted(self) -> Fitted:
        """Return what was learned."""
        check_is_fitted(self, "fitted_")
        return self.fitted_
