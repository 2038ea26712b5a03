"""The explainer: fit once, then every row gets its explanations in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from illume.data.checkpoints import Checkpoints
from illume.data.frames import chunks
from illume.data.row_sources import is_row_source, iter_batches, open_rows
from illume.data.schema import Schema, Unknown, check_names, require_unknown
from illume.errors import rows_after
from illume.explanations.attributions import attribute
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.counterfactuals import find_counterfactuals
from illume.explanations.fitted import Fitted, Trial
from illume.explanations.interactions import explain_interactions
from illume.explanations.latents import explain_latents
from illume.explanations.options import DataOptions, RuleOptions, SurrogateOptions
from illume.explanations.rules import RuleRequest, explain_rules, summarize_rules
from illume.fit.fit import FitResult, fit_explainer, fit_rules
from illume.fit.settings import Settings
from illume.io.saving import HELD_ROWS, save
from illume.io.settings import require_whole
from illume.results.attributions import Attributions
from illume.results.check import Check
from illume.results.counterfactuals import Counterfactuals
from illume.results.history import History
from illume.results.interactions import Interactions
from illume.results.latents import Latents
from illume.results.quality import Quality, RuleQuality
from illume.results.rule_set import RuleSet
from illume.results.rules import Rules


class Explainer(BaseEstimator):
    """Explains a black-box classifier of tabular rows.

    Parameters
    ----------
    model
        The black box: an object with `predict_proba`, a scikit-learn Pipeline, or a callable from a frame to
        probabilities. It is called with the same kind of frame that is passed in.
    contributions
        `shapley` (the default): interventional Shapley values of the model's log-odds, which add up to the
        model's own log-odds. `pullback`: the paper's, slopes times centred inputs, which add up to the
        surrogate's log-odds.
    background
        Rows that Shapley values compare with, a frame; by default the training rows.
    effort
        `quick`, `standard` or `thorough`: how much time the fit may take to come close to the model.
    queries
        Maximum number of made-up, but possible, rows that the model is asked about while fitting. `auto` asks
        as many as the model answers in a few seconds, from 10,000 to 2,000,000. 0 switches this off;
        contributions are then `pullback`.
    categorical
        Names of numeric columns that are codes of categories.
    unknown
        What to do with a category not seen while fitting: `error`, or `ignore` (it is then none of
        the known ones). It can be changed after the fit, too: `explainer.unknown = "ignore"`.
    surrogate_options, rule_options, data_options
        How the local surrogate is built, where rules come from, and how rows are read and divided: see
        `SurrogateOptions`, `RuleOptions` and `DataOptions`. The defaults serve without them.
    device
        `auto` uses a CUDA device where there is one.
    random_state
        Seed; on the CPU, equal seeds give identical explainers.
    verbose
        Show progress bars; None shows them only on a terminal.
    checkpoint_dir
        A folder, or `Checkpoints`: `fit` saves its progress there, and a fit that was killed resumes
        from there when it is started again with the same parameters, rows and model, to the same result.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> explainer = Explainer(model, queries=500, effort="quick").fit(X)
    >>> attributions = explainer(X)
    >>> attributions.values.shape
    (150, 4, 3)
    """

    def __init__(
        self,
        model: Any,
        *,
        contributions: str = "shapley",
        background: Any = None,
        effort: str = "standard",
        queries: int | str = "auto",
        categorical: Sequence[str] = (),
        unknown: Unknown = "error",
        surrogate_options: SurrogateOptions = SurrogateOptions(),  # noqa: B008 -- frozen
        rule_options: RuleOptions = RuleOptions(),  # noqa: B008
        data_options: DataOptions = DataOptions(),  # noqa: B008
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
        checkpoint_dir: str | PathLike[str] | Checkpoints | None = None,
    ) -> None:
        self.model = model
        self.contributions = contributions
        self.background = background
        self.effort = effort
        self.queries = queries
        self.categorical = categorical
        self.unknown = unknown
        self.surrogate_options = surrogate_options
        self.rule_options = rule_options
        self.data_options = data_options
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint_dir = checkpoint_dir

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn to explain the model from rows; `y` is ignored, labels are not needed.

        `X` is a frame, or rows that are read piece by piece, once and in bounded memory: a path to a
        Parquet file or folder, a `pyarrow.dataset.Dataset` or `RecordBatchReader`, or a polars LazyFrame.

        Within a group of processes (`torchrun`), all must call `fit` alike, with the same rows: the first one
        asks the model, and encoders are trained by all of them, each on a batch of its own.
        """
        parameters = self.get_params(deep=False)
        require_whole(parameters)
        self._keep(fit_explainer(Settings(**parameters), X))
        return self

    def fit_rules(self) -> Self:
        """Grow the tree that rules come from, unless that was done; `rules` does this on first need."""
        if self._fitted().rule_model is None:
            self._keep(fit_rules(self._fitted(), Settings(**self.get_params(deep=False)), self.stages_))
        return self

    def __call__(self, X: Any, *, refine: int = 0) -> Attributions:
        """Return the attributions of a frame's rows, in the rows' order.

        Parameters
        ----------
        refine
            How often the model may be asked more for each row, about rows mixed with background rows: Shapley
            values come closer to the model's, and standard errors say by how much. 0 asks once a row.
        """
        return attribute(self._fitted(), X, refine)

    def interactions(self, X: Any, *, max_features: int = 12, n_samples: int = 32) -> Interactions:
        """Return which pairs of features act together: pairwise Shapley interaction values of each row.

        They are those of the network that learned the model, and consistent with the contributions: a
        feature's row of the matrix adds up to its contribution.

        Parameters
        ----------
        max_features
            Only pairs among this many features, those with the largest contributions over the rows.
        n_samples
            Number of random sets of other features that each value is the mean of.
        """
        return explain_interactions(self._fitted(), X, max_features, n_samples)

    def latents(self, X: Any, maps: bool = False) -> Latents:
        """Return what the surrogate decides on: the rows' latents and, if asked for, their linear maps.

        They are the rows' own, before any refinement. Maps take 8 bytes per row, latent and input.
        """
        return explain_latents(self._fitted(), X, maps)

    def rules(
        self, X: Any, *, polish: bool = True, precision: float = 0.95, max_conditions: int | None = None
    ) -> Rules:
        """Return a rule for each row of a frame: conditions under which the model decides alike.

        The first call grows the tree that rules come from, see `fit_rules`.

        Parameters
        ----------
        polish
            Choose conditions and move bounds so that a rule reaches the wanted precision at a large
            coverage; otherwise the rules are those of the tree itself.
        precision
            What share of the rows that a rule covers should be decided alike.
        max_conditions
            Maximum number of features that a rule has conditions on.
        """
        request = RuleRequest(polish, precision, max_conditions)
        frame = self._fitted().as_frame(X)
        return explain_rules(self.fit_rules()._fitted(), frame, request)

    def rule_set(self) -> RuleSet:
        """Return the global view: the leaves of the tree, largest first, each with a typical rule."""
        return summarize_rules(self.fit_rules()._fitted())

    def counterfactuals(  # noqa: PLR0917 -- the order that users of DiCE know
        self,
        X: Any,
        n: int = 3,
        desired_class: Any = "opposite",
        features_to_vary: str | Sequence[str] = "all",
        permitted_range: Mapping[str, Sequence[Any]] | None = None,
        max_changes: int | None = None,
        min_probability: float = 0.0,
    ) -> Counterfactuals:
        """Return for each row changed rows that the model decides otherwise, checked on the model itself.

        Parameters
        ----------
        n
            Number of examples per row, with different features changed.
        desired_class
            `opposite`, any other than the row's own, or a class.
        features_to_vary
            `all`, or the names of the features that may change.
        permitted_range
            For some features, `[low, high]` or a list of categories that a value must be in if it changes.
        max_changes
            Maximum number of features that an example changes.
        min_probability
            How sure the model must be of its new decision; without, examples lie close to the boundary.
        """
        request = CounterfactualRequest(
            n, desired_class, features_to_vary, permitted_range, max_changes, min_probability
        )
        frame = self._fitted().as_frame(X)
        request.validate(self._fitted())
        return find_counterfactuals(self.fit_rules()._fitted(), frame, request)

    def stream(
        self, X: Any, chunk_rows: int = 65_536, kind: str = "attributions", **options: Any
    ) -> Iterator[Any]:
        """Yield explanations piece by piece, so that memory is bounded by the piece.

        `X` is a frame, or anything else that `fit` reads: a path to Parquet files, a Dataset, a LazyFrame.
        `kind` is `attributions`, `latents`, `rules` or `counterfactuals`; options are those of the method.
        """
        kinds: dict[str, Callable[..., Any]] = {
            "attributions": self,
            "latents": self.latents,
            "rules": self.rules,
            "counterfactuals": self.counterfactuals,
        }
        if kind not in kinds:
            raise ValueError(f"kind must be one of {list(kinds)}, found {kind!r}")
        first = 0
        for piece in self._pieces(X, chunk_rows):
            with rows_after(first):
                explained = kinds[kind](piece, **options)
            yield explained
            first += len(piece)

    def check(self, frame: Any, *, sample: int = 1_000) -> Check:
        """Compare new rows with the rows of the fit, and say whether explanations still apply to them.

        Compared are categories, ranges, missing values and the distribution of each feature, how far rows are
        from the fitted ones, and, on a sample, how often surrogate and black box decide alike. Categories
        never seen raise no error here. Of the rows themselves, only names of categories are in the answer.

        Parameters
        ----------
        frame
            The new rows; the more of them, the smaller the changes that can be told from chance. Or anything
            else that `fit` reads: a path to Parquet files, a Dataset, a LazyFrame; of more than 200,000 rows,
            this many are drawn at random, and the answer says so.
        sample
            Maximum number of rows that the black box is asked about; 0 asks nothing.
        """
        from illume.explanations.drift import check_drift

        return check_drift(self._fitted(), frame, sample, self.verbose)

    def report(
        self,
        frame: Any,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        rules: bool = True,
        counterfactuals: bool = True,
        n_counterfactuals: int = 2,
        max_rows: int = 10_000,
        max_counterfactual_rows: int = 1_000,
        date: Any = None,
    ) -> Path:
        """Write a report on the rows of a frame: one self-contained HTML file, and return its path.

        The file holds the values of the rows it shows. The same rows and the same date give the same file.

        Parameters
        ----------
        title
            The heading; by default it names the model's class.
        rules, counterfactuals
            Whether to show rules, and counterfactuals: these take most of the time, because the model is
            asked about some hundred changed rows for each row.
        n_counterfactuals
            Number of examples per row.
        max_rows
            Of a longer frame, this many rows are shown, evenly spaced.
        max_counterfactual_rows
            Counterfactuals are searched for this many of the shown rows, evenly spaced.
        date
            A date, a time or a text to put into the report; by default now, in UTC.
        """
        from illume.report.collect import ReportRequest
        from illume.report.write import write_report

        options = {"title": title, "date": date, "rules": rules, "counterfactuals": counterfactuals}
        limits = (n_counterfactuals, max_rows, max_counterfactual_rows)
        request = ReportRequest(Path(path), *limits, **options)
        fitted = (self.fit_rules() if rules or counterfactuals else self)._fitted()
        return write_report(fitted, self.get_params(deep=False), frame, request)

    def save(self, path: str | PathLike[str], *, rows: int | str = HELD_ROWS, rules: bool = True) -> None:
        """Write the fitted explainer to one file, which `illume.load` reads; the model is not part of it.

        The file is a zip of JSON and plain arrays, without code or pickle. It is written atomically: there is
        always the old file or the new one. A loaded explainer gives the same numbers.

        **Which rows of your data are in the file.** As many training rows as `rows` says, encoded, with the
        model's answers: explanations are refined towards them. About 2,000 training rows as they came, which
        counterfactuals take values from. Up to 1,000 background rows as they came, with the model's answers,
        which refine Shapley values. For rules, up to 2,048 training and made-up rows, on which rules
        are polished, and up to 4,096 report rows, on which they are measured, all encoded. Up to 256 report
        rows or centres of them, encoded, for the figures of trust. Categories and ranges of the features,
        quantiles of every number, the shares of categories, and the thresholds of the tree are always in the
        file.

        Parameters
        ----------
        rows
            Maximum number of training rows, spread over the decisions; `all`, or `none`. With `none` there is
            not a single row in the file: neither Shapley values nor explanations that disagree with the model
            are refined, figures of trust are not known, rules are the tree's own, and there are no
            counterfactuals.
            With fewer than all, refined explanations may have other neighbours than before.
        rules
            Grow the tree that rules come from first, if that was not done; without, a loaded explainer has
            neither rules nor counterfactuals, unless they were asked for before.
        """
        fitted = (self.fit_rules() if rules else self)._fitted()
        save(fitted, self.get_params(deep=False), path, rows)

    @property
    def quality_(self) -> Quality:
        """How true contributions are, agreement of the surrogate per class, and how the fit went."""
        return self._fitted().quality

    @property
    def rule_quality_(self) -> RuleQuality:
        """Precision and coverage of rules on report rows, once rules have been fitted."""
        quality = self._fitted().rule_quality
        if quality is None:
            raise AttributeError("rule_quality_ is there once rules have been fitted; call fit_rules() first")
        return quality

    @property
    def schema_(self) -> Schema:
        """The features."""
        return self._fitted().schema

    @property
    def class_names_(self) -> tuple[str, ...]:
        """The classes, in the order of the probabilities."""
        return self._fitted().class_names

    @property
    def history_(self) -> History | None:
        """The training epochs of the encoder."""
        return self._fitted().history

    @property
    def trials_(self) -> tuple[Trial, ...]:
        """The trials that chose the number of latents and the strength of alignment."""
        return self._fitted().trials

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return len(self._fitted().schema)

    def _keep(self, found: FitResult) -> None:
        self.fitted_, self.stages_, self._interrupted = found.fitted, found.stages, found.interrupted

    def _fitted(self) -> Fitted:
        """Return what was learned; `unknown` may have been set after the fit."""
        check_is_fitted(self, "fitted_")
        require_unknown(self.unknown)
        self.fitted_ = self.fitted_.with_unknown(self.unknown)
        return self.fitted_

    def _pieces(self, X: Any, rows: int) -> Iterator[Any]:
        """Yield rows piece by piece, in the library that the explainer was fitted with."""
        fitted = self._fitted()
        if not is_row_source(X):
            for _, piece in chunks(fitted.as_frame(X), rows):
                yield piece.native
            return
        source = open_rows(X)
        check_names(source.names, fitted.columns)
        like = fitted.pool.frame.native if fitted.pool is not None and fitted.backend == "pandas" else None
        yield from iter_batches(source, fitted.columns, rows, backend=fitted.backend or "numpy", like=like)

    def __sklearn_clone__(self) -> Explainer:
        """Clone the parameters, not the black box, which must stay fitted."""
        parameters = self.get_params(deep=False)
        model = parameters.pop("model")
        return type(self)(model, **{name: clone(value, safe=False) for name, value in parameters.items()})
