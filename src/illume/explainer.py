"""The explainer: fit once, then every row gets its explanations in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from illume.data.schema import Unknown
from illume.explanations.attributions import attribute
from illume.explanations.check_options import check_request
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.counterfactuals import find_counterfactuals
from illume.explanations.habits import require_rows_first
from illume.explanations.options import DataOptions, RuleOptions, SurrogateOptions
from illume.explanations.rule_summary import RuleSetRequest, summarize_rules
from illume.explanations.rules import RuleRequest, explain_rules
from illume.fit.fit import fit_explainer
from illume.fit.latent import train_later
from illume.fit.learned import Learned
from illume.fit.settings import Settings
from illume.io.load_explainer import attach_model, read_explainer
from illume.io.save_explainer import HELD_ROWS, NOT_STORED, save
from illume.io.settings import require_complete
from illume.report.pages import Pages
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.dictionary import Given
from illume.results.rule_set import RuleSet
from illume.results.rules import Rules


class Explainer(Learned, Pages, BaseEstimator):
    """Explains a black-box model of tabular rows, which answers with classes or numbers.

    Parameters
    ----------
    model
        The black box: an object with `predict_proba` or `predict`, a scikit-learn Pipeline, or a callable
        from a frame to answers. It is called with the same kind of frame that is passed in. Whether it
        answers with classes or numbers is found out; `DataOptions(task=…)` says it.
    contributions
        `shapley` (the default): interventional Shapley values of the model's number, or log-odds of classes,
        which add up to the model's own. `pullback`: the paper's, slopes times centred inputs, which add up to
        the surrogate's, and with an offset to the model's number.
    twin
        What stands for the model. `exact`: trees and linear models, alone or last in a Pipeline, are read,
        and contributions have no error. `learned`: a network learns the model from its answers. `auto` (the
        default) reads what it can; what was read must give the model's own answers.
    scale
        What contributions add up to: `log-odds` or `probability` of classes. `auto` takes the scale on which
        the model adds up: log-odds of boosting and linear models, probabilities of forests and votes.
    background
        Rows that Shapley values compare with, a frame; by default fitted rows.
    effort
        `quick`, `standard` or `thorough`: how much time the fit may take to come close to a model that is
        learned.
    queries
        Maximum number of made-up, but possible, rows that a model that is learned is asked about. `auto` asks
        50,000, 250,000 or 1,250,000, by `effort`, or more for many features; a very slow model fewer, which
        `quality_` says. A time such as `"60 s"` limits how long the model is asked; fits can then not be
        repeated, which is warned of. 0 switches this off; contributions of such a model are then `pullback`.
    categorical
        Names of numeric columns that are codes of categories.
    unknown
        What to do with a category not seen while fitting: `error`, or `ignore` (it is then none of
        the known ones). It can be changed after the fit, too: `explainer.unknown = "ignore"`.
    labels
        What columns and values are called in texts, plots and reports: a mapping from columns to labels or to
        `{"label": …, "unit": …, "values": {code: text}}`, or a data dictionary, the path of a CSV or JSON
        file; see the guide on data. It can be set after the fit, too. Columns keep their names.
    positive_class, threshold
        The class that explanations are for, by default the second of two, and of more the decided one; and
        from which of its probabilities on one of two classes is decided for. Both can be set after the fit.
    surrogate_options, rule_options, data_options
        How the local surrogate is built, where rules come from, and how rows are read and divided: see
        `SurrogateOptions`, `RuleOptions` and `DataOptions`. The defaults serve without them.
    device, random_state, verbose
        `auto` uses a CUDA device where there is one. On the CPU, equal seeds give identical explainers.
        None shows progress bars only on a terminal; elsewhere, `logging` has a line for each part of a fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> explainer = Explainer(LogisticRegression(max_iter=200).fit(X, y), queries=500, effort="quick")
    >>> explainer.fit(X)(X).values.shape
    (150, 4, 3)
    """

    def __init__(
        self,
        model: Any,
        *,
        contributions: str = "shapley",
        twin: str = "auto",
        scale: str = "auto",
        background: Any = None,
        effort: str = "standard",
        queries: int | str = "auto",
        categorical: Sequence[str] = (),
        unknown: Unknown = "error",
        labels: Given = None,
        positive_class: Any = None,
        threshold: float | None = None,
        surrogate_options: SurrogateOptions = SurrogateOptions(),  # noqa: B008 -- frozen
        rule_options: RuleOptions = RuleOptions(),  # noqa: B008
        data_options: DataOptions = DataOptions(),  # noqa: B008
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        self.model = model
        self.contributions = contributions
        self.twin = twin
        self.scale = scale
        self.background = background
        self.effort = effort
        self.queries = queries
        self.categorical = categorical
        self.unknown = unknown
        self.labels = labels
        self.positive_class = positive_class
        self.threshold = threshold
        self.surrogate_options = surrogate_options
        self.rule_options = rule_options
        self.data_options = data_options
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn to explain the model from rows; `y` is ignored, labels are not needed.

        `X` is a frame, or rows that are read once, in bounded memory: a path to a Parquet file or folder, a
        `pyarrow.dataset.Dataset` or `RecordBatchReader`, or a polars LazyFrame.
        """
        require_rows_first(X, y)
        require_complete(parameters := self.get_params(deep=False))
        self._keep(fit_explainer(Settings(**parameters), X))
        return self

    def __call__(
        self, X: Any, *, refine: int = 0, positive_class: Any = None, background: Any = None
    ) -> Attributions:
        """Return the attributions of a frame's rows, in the rows' order; a dict or a Series is one row.

        With `refine`, the model is asked this often more per row, about rows mixed with background rows, and
        Shapley values of a learned twin come closer to the model's; those of an exact one need none.
        `background`, a frame, are other rows to compare with, without a new fit: an exact twin makes new
        tables, in about as long as the fit took for that; a learned one takes some milliseconds a row.
        """
        return attribute(self._require_fitted().towards(positive_class), X, refine, background)

    def rules(
        self,
        X: Any,
        *,
        polish: bool = True,
        precision: float = 0.95,
        max_conditions: int | None = None,
        interval: float = 0.9,
        threshold: float | None = None,
        output: int | str | None = None,
    ) -> Rules:
        """Return a rule for each row of a frame: conditions under which the model answers alike.

        Parameters
        ----------
        polish
            Choose conditions and bounds for the wanted precision at a large coverage; otherwise the rules
            are those of the tree itself.
        precision, max_conditions
            Share of the covered rows to be decided alike; maximum number of features in conditions.
        threshold
            The probability of the positive class to decide for it; or a number to be below or above.
        interval, output
            For numbers: the share of the covered rows that the interval at the end of a rule should hold, and
            which of several numbers.
        """
        request = RuleRequest(polish, precision, max_conditions, interval, threshold, output)
        explainer = self._deciding(threshold)
        check_request(explainer.fitted_.outputs, request)
        frame = explainer.fitted_.as_frame(X)
        return explain_rules(explainer.fitted_, frame, request)

    def rule_set(
        self,
        *,
        max_rules: int = 10,
        precision: float = 0.9,
        max_conditions: int = 3,
        interval: float = 0.9,
        threshold: float | None = None,
        output: int | str | None = None,
    ) -> RuleSet:
        """Return the global view: a few rules that together cover most rows, and the answer to the others.

        They are chosen on training and validation rows, and measured on report rows; options are those of
        `rules`. Where no rule reaches the precision, and many rows are left, rules below it follow.
        """
        request = RuleSetRequest(True, precision, max_conditions, interval, threshold, output, max_rules)
        explainer = self._deciding(threshold)
        check_request(explainer.fitted_.outputs, request)
        return summarize_rules(explainer.fitted_, request)

    def counterfactuals(  # noqa: PLR0917 -- the order that users of DiCE know
        self,
        X: Any,
        n: int = 3,
        desired_class: Any = "opposite",
        features_to_vary: str | Sequence[str] = "all",
        permitted_range: Mapping[str, Sequence[Any]] | None = None,
        max_changes: int | None = None,
        min_probability: float = 0.0,
        *,
        desired_range: Sequence[float | None] | None = None,
        desired_change: float | None = None,
        threshold: float | None = None,
        output: int | str | None = None,
        immutable: Sequence[str] | None = None,
        direction: Mapping[str, str | Sequence[Any]] | None = None,
    ) -> Counterfactuals:
        """Return for each row changed rows that the model answers otherwise, checked on the model itself.

        Parameters
        ----------
        n, desired_class
            Number of examples per row; `opposite`, any class other than the row's own (rows with the good
            outcome are led to the bad one), or the class to reach.
        desired_range, desired_change, threshold, output
            For numbers, one of: `[low, high]`, None for an open end; by how much the number should rise, or
            fall, at least; a number that should be crossed. And which of several numbers. For classes, a
            threshold decides as in `rules`.
        features_to_vary, immutable, permitted_range
            `all` or names of features; names of features that may not change; for some features `[low, high]`
            or a list of permitted categories. Values are those of training rows, unless a range goes beyond.
        direction
            In which direction features may change: `{"age": "up", "debt": "down"}`; for a category its values
            in the order in which they may follow each other. A missing value of such a feature stays, and so
            does a feature that is immutable, too.
        max_changes, min_probability
            Maximum number of changed features, and minimum probability of the new decision.
        """
        limits = (features_to_vary, permitted_range, max_changes, min_probability)
        wish = (desired_range, desired_change, threshold, output)
        request = CounterfactualRequest(n, desired_class, *limits, *wish, immutable, direction)
        explainer = self._deciding(threshold)
        frame = explainer.fitted_.as_frame(X)
        request = request.with_columns(explainer.fitted_)
        request.validate(explainer.fitted_)
        return find_counterfactuals(explainer.fitted_, frame, request)

    def save(
        self, path: str | PathLike[str], *, rows: int | str = HELD_ROWS, rules: bool | None = None
    ) -> None:
        """Write the fitted explainer to one file, which `illume.load` reads; the model is not part of it.

        The file is a zip of JSON and plain arrays, without code or pickle, written atomically. It holds the
        twin: an exact one gives the model away. By default it holds rows of your data; the guide on saving
        lists which.

        Parameters
        ----------
        rows
            Maximum number of training rows; `all`; or `none`, without refinement, trust and counterfactuals.
        rules
            By default, the latent surrogate and the tree of the rules are saved if they were trained; without
            them, a loaded explainer trains its own from the rows in the file. True trains them first, False
            leaves them out.
        """
        fitted = self._require_fitted()
        if rules and not fitted.monotony:
            self.fit_rules()
        save(fitted, self.get_params(deep=False), path, rows, rules is not False)

    def __sklearn_clone__(self) -> Explainer:
        """Clone the parameters, not the black box, which must stay fitted."""
        parameters = self.get_params(deep=False)
        model = parameters.pop("model")
        return type(self)(model, **{name: clone(value, safe=False) for name, value in parameters.items()})


def load(path: str | PathLike[str], model: Any = None, *, max_bytes: float | None = None) -> Explainer:
    """Read an explainer that `Explainer.save` wrote; nothing in the file is run.

    A file that is damaged, of another format version, or would take more memory than `max_bytes` (2 GiB, or
    what the variable ILLUME_MAX_BYTES says) raises `FormatError`. `model` is the explained model: it is asked
    about some stored rows, with a `ModelChangedWarning` if its answers differ. Without it, its twin
    answers, and there are no counterfactuals.
    """
    known = [name for name in Explainer(None).get_params(deep=False) if name not in NOT_STORED]
    parameters, fitted = read_explainer(path, known, max_bytes)
    explainer = Explainer(model, labels=fitted.dictionary.to_dict() or None, **parameters)
    fitted = train_later(fitted, Settings(**explainer.get_params(deep=False)))
    explainer._keep(fitted if model is None else attach_model(fitted, model))
    return explainer
