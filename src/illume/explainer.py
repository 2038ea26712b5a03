"""The explainer: fit once, then every row gets its explanations in one pass."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from illume._typing import FloatArray
from illume.assembly import parts
from illume.data.checkpoints import Checkpoints
from illume.data.load_rows import RowLimit, load_rows
from illume.data.schema import Schema, Unknown
from illume.drift.mixin import Checks
from illume.encoders.base import Encoder
from illume.encoders.options import Objective, Training
from illume.encoders.ranks import ranks
from illume.explaining import Explaining
from illume.explanations.layout import Layout
from illume.explanations.trust_map import TrustMap
from illume.fit.measure import measure, measure_rules, sampling_of, warn_of_few
from illume.fit.prepare import DataSettings, Prepared, prepare
from illume.fit.resume import finish, finish_rules, going_on, opened, require_seed
from illume.fit.rule_trees import fit_rule_model, rule_pairs
from illume.fit.settings import checked, rule_encoder_maker
from illume.fit.shapley_values import ignored_features, learn_shapley, prepare_shapley
from illume.fit.trials import Choice, Setting, choose_pair
from illume.io.mixin import Saves
from illume.io.settings import require_whole
from illume.report.mixin import Reporting
from illume.results.effort import EFFORTS
from illume.shapley.training_run import training_threads


class Explainer(Explaining, Checks, Reporting, Saves, BaseEstimator):
    """Explains a black-box classifier of tabular rows.

    Parameters
    ----------
    model
        The black box: an object with `predict_proba`, a scikit-learn Pipeline, or a callable from a
        frame to probabilities. It is asked with the very frames that are passed in.
    encoder
        `meta` gives every row its own linear map (the default), `linear` one map for all, `identity`
        none (a global surrogate); or an encoder object, which has its own objective, training and latents.
    surrogate
        `logistic`, a linear classifier of scikit-learn, or an object with `fit(Z, P)`,
        `probabilities(Z)`, `coef_` and `intercept_`. With `logistic`, the head that a joint objective trains
        along with the encoder is the surrogate.
    objective
        `aligned` (the default), `joint`, the paper's `co` or `so`, or an `Objective`. By name, `aligned`
        is weakened where a short trial without alignment has a clearly better fidelity on validation rows.
    n_latents
        How many latents; `auto` tries 4, 8 and 16 in a short training each and keeps the fewest whose
        fidelity on validation rows is within .015 of the best.
    rank
        For wide data: `auto` lets the maps of 500 inputs or more be a constant and a part of rank 32 that
        differs from row to row, so that weights and time grow as the number of inputs and not as its
        square; a number is another rank, None never does this. Only for `encoder="meta"`.
    contributions
        `shapley` (the default): interventional Shapley values of the model's log-odds, which add up to the
        model's own log-odds. `pullback`: the paper's, slopes times centred inputs, which add up to the
        surrogate's log-odds.
    background
        Rows that Shapley values compare with, a frame; by default the training rows.
    effort
        `quick`, `standard` or `thorough`: how much time the fit may take to come close to the model.
    queries
        At most so many made-up, but possible, rows are put to the model while fitting. `auto` asks about as
        many as the model answers in a few seconds, from 10,000 to 2,000,000. 0 switches this off;
        contributions are then `pullback`.
    row_budget
        The most rows to learn from, drawn uniformly and by `random_state`; ranges and categories are those
        of all rows. None takes all rows of a frame, and 200,000 of a folder, a dataset or a lazy frame.
    backend
        The library of the frames that the model is asked with where `fit` reads the rows itself: `pandas`
        (the default where it is there), `polars` or `pyarrow`.
    schema, categorical
        A `Schema` made by hand, or only the names of numeric columns that are codes of categories.
    class_names
        What to call the classes; by default the model's own `classes_`.
    unknown
        What to do with a category not seen while fitting: `error`, or `ignore` (it is then none of
        the known ones). It can be changed after the fit, too: `explainer.unknown = "ignore"`.
    validation_size, report_size
        Shares of the rows that choose, and that are reported on.
    rule_objective
        `shared` (the default) grows the tree that rules come from on the latents of the attributions; the
        paper's `so`, another name or an `Objective` trains an encoder for rules alone.
    tree
        `tree`, or a tree classifier of scikit-learn, which is then not chosen over.
    search
        How neighbours are found among the training rows: `exact`, of at most 16,384 a decision, or of all
        of them by an `index` (faiss).
    training
        How to train; by default quick for joint objectives, as in the paper for the others.
    device
        `auto` takes a CUDA device where there is one.
    random_state
        Seed; on the CPU, equal seeds give identical explainers.
    verbose
        Show progress bars; None shows them only on a terminal.
    checkpoint_dir
        A folder, or `Checkpoints`: `fit` writes there what it has done, and a fit that was killed goes on
        from there when it is started again with the same settings, rows and model, to the same result.

    Attributes
    ----------
    quality_
        How true contributions are, agreement of the surrogate per class, and how the explainer came about.
    rule_quality_
        Precision and coverage of rules on report rows, once rules have been asked for.
    schema_, class_names_, history_, trials_
        The features, the classes, the training epochs, and the trials that chose the latents.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> explainer = Explainer(model, n_latents=4, queries=500).fit(X)
    >>> attributions = explainer(X)
    >>> attributions.values.shape
    (150, 4, 3)
    """

    def __init__(
        self,
        model: Any,
        *,
        encoder: str | Encoder = "meta",
        surrogate: Any = "logistic",
        objective: str | Objective = "aligned",
        n_latents: int | str = "auto",
        rank: int | str | None = "auto",
        contributions: str = "shapley",
        background: Any = None,
        effort: str = "standard",
        queries: int | str = "auto",
        row_budget: int | None = None,
        backend: str | None = None,
        schema: Schema | None = None,
        categorical: Sequence[str] = (),
        class_names: Sequence[Any] | None = None,
        unknown: Unknown = "error",
        validation_size: float = 0.15,
        report_size: float = 0.15,
        rule_objective: str | Objective = "shared",
        tree: Any = "tree",
        search: str = "exact",
        training: Training | None = None,
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
        checkpoint_dir: str | PathLike[str] | Checkpoints | None = None,
    ) -> None:
        self.model = model
        self.encoder = encoder
        self.surrogate = surrogate
        self.objective = objective
        self.n_latents = n_latents
        self.rank = rank
        self.contributions = contributions
        self.background = background
        self.effort = effort
        self.queries = queries
        self.row_budget = row_budget
        self.backend = backend
        self.schema = schema
        self.categorical = categorical
        self.class_names = class_names
        self.unknown = unknown
        self.validation_size = validation_size
        self.report_size = report_size
        self.rule_objective = rule_objective
        self.tree = tree
        self.search = search
        self.training = training
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
        start = time.perf_counter()
        require_whole(self.get_params(deep=False))
        make, choices = checked(self, self._options())
        require_seed(self)
        seed = ranks().agreed(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        sizes = (self.validation_size, self.report_size)
        shapley = self.contributions == "shapley" and self.queries != 0
        data = DataSettings(
            self.class_names,
            self.unknown,
            *sizes,
            queries=self.queries,
            effort=EFFORTS[self.effort],
            encoder_learns=self.encoder != "identity",
            shapley=shapley,
        )
        drawing = RowLimit(self.row_budget, seed, self.backend, self.verbose)
        rows = load_rows(X, self.model, self.schema, self.categorical, drawing)
        with opened(self, rows) as self.stages_:
            prepared = prepare(rows, self.model, data, rng, self.stages_)
            game = prepare_shapley(prepared, self.background, seed, self.stages_) if shapley else None
            with training_threads(self.device) as device:
                found = None
                if game:
                    options = {"seed": seed, "device": device, "verbose": self.verbose}
                    found = learn_shapley(game, EFFORTS[self.effort], **options)
                choice = choose_pair(
                    make(prepared.encoding), choices, self.surrogate, prepared.material, self.stages_
                )
            self.shapley_ = found.model if found else None
            self.background_ = game.kept if game else None
            Q = self._keep(prepared, choice)
            seconds = time.perf_counter() - start
            told = {"n_asked": self.black_box_.n_asked, "seconds": seconds}
            quality = measure(choice, Q, prepared.material, self.class_names_, **told)
            if found:
                quality = replace(
                    quality,
                    contributions=found.quality,
                    n_queries=prepared.n_queries,
                    ignored=ignored_features(self.schema_, found.model),
                    effort=self.effort,
                    n_features=len(self.schema_),
                )
            self.quality_ = replace(quality, sampling=sampling_of(rows, self.random_state))
            self.n_features_in_ = len(self.schema_)
            for name in ("rule_model_", "rule_quality_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            self._interrupted = choice.interrupted or (found is not None and found.interrupted)
            finish(self, interrupted=self._interrupted)
        warn_of_few(self.quality_, sizes)
        return self

    def _keep(self, prepared: Prepared, choice: Choice) -> FloatArray:
        """Keep what was learned; return the surrogate's answers to report rows."""
        self.columns_, self.backend_ = prepared.frame.names, prepared.frame.origin.backend
        self.schema_, self.class_names_, self.black_box_ = prepared.known
        self.split_, self.encoding_, self.missing_ = prepared.split, prepared.encoding, prepared.missing
        material = prepared.material
        self.material_, self.pair_, self.local_ = material, choice.pair, choice.local
        self.trials_, self.history_ = choice.trials, choice.history
        self.neighbours_ = choice.pair.neighbours(material.training, self.search)
        pool = parts.pool_rows(material.training)
        self.pool_frame_ = prepared.frame.take(self.split_.training[pool])
        self.pool_answers_ = material.training.P[pool]
        report = material.report
        Q = choice.pair.probabilities(report.X)
        self.trust_map_ = TrustMap.fit(report.X, report.P, Q)
        self.reference_ = prepared.reference.with_distances(self.trust_map_, material.training.X)
        return Q

    def fit_rules(self) -> Self:
        """Grow the tree that rules come from, unless that was done; `rules` does this on first need."""
        check_is_fitted(self, "pair_")
        if hasattr(self, "rule_model_"):
            return self
        parts.require_for_rules(self)
        start = time.perf_counter()
        make = rule_encoder_maker(self.encoder, self.rule_objective, self.training, **self._options())
        encoder = None if make is None else make(self.encoding_)(Setting(self.local_.n_latents), False)
        with going_on(self, encoder is not None) as slot:
            pairs = rule_pairs(self.local_, encoder, self.tree, self.material_, slot)
            self.rule_model_ = fit_rule_model(pairs, self.material_, Layout.of(self.encoding_), self.search)
            seconds = time.perf_counter() - start
            self.rule_quality_ = measure_rules(parts.rule_assembly(self), self.material_.report, seconds)
            self._interrupted = any(getattr(pair.history, "interrupted", False) for pair in pairs.values())
            finish_rules(self, slot, interrupted=self._interrupted)
        return self

    def _options(self) -> dict[str, Any]:
        names = ("rank", "device", "random_state", "verbose")
        return {name: getattr(self, name) for name in names}

    def __sklearn_clone__(self) -> Explainer:
        """Clone the settings, not the black box, which must stay fitted."""
        settings = self.get_params(deep=False)
        model = settings.pop("model")
        return type(self)(model, **{name: clone(value, safe=False) for name, value in settings.items()})
