"""The explainer: fit once, then every row gets its explanation in one pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from illume._typing import FloatArray
from illume.assembly import Assembly
from illume.data.black_box import BlackBox, known_to_model
from illume.data.encoding import Encoding, Unknown
from illume.data.frames import Frame, as_frame, chunks
from illume.data.queries import query_rows
from illume.data.schema import Schema, require_columns
from illume.data.splits import split_rows
from illume.encoders.base import Encoder
from illume.encoders.objective import Objective
from illume.encoders.training import Training
from illume.errors import BlackBoxError, SchemaError
from illume.explanations.trust import TrustMap
from illume.fitting import Answered, Choices, Material, choose_pair
from illume.quality import measure
from illume.results.attributions import Attributions
from illume.settings import (
    EncoderMaker,
    encoder_maker,
    resolved_choices,
    resolved_objective,
    resolved_training,
)
from illume.surrogates.selection import candidates
from illume.surrogates.tree import DecisionTreeSurrogate

MIN_ROWS = 10
QUERIES_PER_ROW = 16


class Explainer(BaseEstimator):
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
        fidelity on validation rows is within .01 of the best.
    queries
        At most so many made-up, but possible, rows are put to the black box while fitting (no more than
        16 per training row); 0 switches this off.
    schema, categorical
        A `Schema` made by hand, or only the names of numeric columns that are codes of categories.
    class_names
        What to call the classes; by default the model's own `classes_`.
    unknown
        What to do with a category not seen while fitting: `error`, or `ignore` (it is then none of
        the known ones).
    validation_size, report_size
        Shares of the rows that choose, and that are reported on.
    training
        How to train; by default quick for joint objectives, as in the paper for the others.
    device
        `auto` takes a CUDA device where there is one.
    random_state
        Seed; on the CPU, equal seeds give identical explainers.
    verbose
        Show progress bars; None shows them only on a terminal.

    Attributes
    ----------
    quality_
        Fidelity on report rows, per class too, and how the explainer came about.
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
        queries: int = 30_000,
        schema: Schema | None = None,
        categorical: Sequence[str] = (),
        class_names: Sequence[Any] | None = None,
        unknown: Unknown = "error",
        validation_size: float = 0.15,
        report_size: float = 0.15,
        training: Training | None = None,
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        self.model = model
        self.encoder = encoder
        self.surrogate = surrogate
        self.objective = objective
        self.n_latents = n_latents
        self.queries = queries
        self.schema = schema
        self.categorical = categorical
        self.class_names = class_names
        self.unknown = unknown
        self.validation_size = validation_size
        self.report_size = report_size
        self.training = training
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn to explain the model from a frame of rows; `y` is ignored, labels are not needed."""
        start = time.perf_counter()
        make, choices = self._check_settings()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        frame = as_frame(X)
        if len(frame) < MIN_ROWS:
            raise SchemaError(f"fit needs at least {MIN_ROWS} rows, found {len(frame)}")
        frame = known_to_model(frame, self.model)
        if self.schema is None:
            schema = Schema.infer(frame.native, self.categorical)
        else:
            if not set(self.schema.names) <= set(frame.names):  # an array, whose columns have no names
                frame = require_columns(frame, self.schema.names)
            schema = self.schema.completed(frame)
        features = frame.select(schema.names)
        black_box = BlackBox(self.model, self.class_names)
        P = _answers(black_box, frame)
        class_names = black_box.names(P.shape[1])
        split = split_rows(P.argmax(1), self.validation_size, self.report_size, rng)
        encoding = Encoding.fit(schema, features.take(split.training), self.unknown)
        if not encoding.n_inputs:
            raise SchemaError("no column varies; at least one must, or there is nothing to explain")
        queries = self._ask(frame.take(split.training), encoding, black_box, rng)
        material = Material.of(encoding.transform(features).X, P, split, queries)
        choice = choose_pair(make(encoding), choices, self.surrogate, material)
        self.schema_, self.columns_, self.class_names_ = schema, frame.names, class_names
        self.black_box_, self.split_, self.encoding_ = black_box, split, encoding
        self.pair_, self.trials_, self.history_ = choice.pair, choice.trials, choice.history
        report = material.report
        self.trust_map_ = TrustMap.fit(report.X, report.P, choice.pair.probabilities(report.X))
        seconds = time.perf_counter() - start
        self.quality_ = measure(choice, material, class_names, black_box.n_asked, seconds)
        self.n_features_in_ = len(schema)
        return self

    def __call__(self, X: Any) -> Attributions:
        """Return the attributions of a frame's rows, in the rows' order."""
        return self._explain(self._checked(X))

    def stream(self, X: Any, chunk_rows: int = 65_536) -> Iterator[Attributions]:
        """Yield the attributions piece by piece, so that memory is bounded by the piece."""
        for _, piece in chunks(self._checked(X), chunk_rows):
            yield self._explain(piece)

    def _explain(self, frame: Frame) -> Attributions:
        assembly = Assembly(self.encoding_, self.pair_, self.trust_map_, self.class_names_)
        return assembly.attributions(frame, self.black_box_)

    def _checked(self, X: Any) -> Frame:
        check_is_fitted(self, "pair_")
        return require_columns(as_frame(X), self.columns_)

    def _check_settings(self) -> tuple[Callable[[Encoding], EncoderMaker], Choices]:
        """Refuse what cannot work before any work is done."""
        if not (isinstance(self.queries, Integral) and self.queries >= 0):
            raise ValueError(f"queries must be an integer, 0 or more, found {self.queries!r}")
        if self.unknown not in ("error", "ignore"):
            raise ValueError(f"unknown must be 'error' or 'ignore', found {self.unknown!r}")
        sizes = (self.validation_size, self.report_size)
        if not all(0 < size < 1 for size in sizes) or sum(sizes) > 0.5:
            raise ValueError(
                f"validation_size and report_size must be positive and at most 0.5 together, found {sizes}"
            )
        if self.schema is not None and len(self.categorical):
            raise ValueError("give either a schema or categorical, not both")
        if any(isinstance(choice, DecisionTreeSurrogate) for choice in candidates(self.surrogate)):
            raise ValueError("a tree gives no attributions; use 'logistic' or a linear classifier")
        objective = resolved_objective(self.objective)
        make = encoder_maker(
            self.encoder,
            objective,
            resolved_training(self.training, objective),
            device=self.device,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        choices = resolved_choices(self.n_latents, self.objective)
        named = isinstance(self.encoder, str) and self.encoder != "identity"
        return make, choices if named else Choices((1,), (1.0,))

    def _ask(
        self, frame: Frame, encoding: Encoding, black_box: BlackBox, rng: np.random.Generator
    ) -> Answered:
        """Put possible rows, made from the training rows, to the black box."""
        n = min(self.queries, QUERIES_PER_ROW * len(frame))
        if not n or self.encoder == "identity":  # where nothing is trained, nothing learns from them
            return Answered.none()
        rows = query_rows(frame, encoding, n, rng)
        X = encoding.transform(rows.select(encoding.schema.names)).X
        return Answered(X, black_box(rows))

    def __sklearn_clone__(self) -> Explainer:
        """Clone the settings, not the black box, which must stay fitted."""
        settings = self.get_params(deep=False)
        model = settings.pop("model")
        return type(self)(model, **{name: clone(value, safe=False) for name, value in settings.items()})


def _answers(black_box: BlackBox, frame: Frame) -> FloatArray:
    """Ask about all rows; a black box that decides one class only cannot be explained."""
    P = black_box(frame)
    decided = np.unique(P.argmax(1))
    if len(decided) < 2:
        name = black_box.names(P.shape[1])[decided[0]]
        raise BlackBoxError(
            f"the model decides {name!r} for all {len(frame)} rows, so there is nothing to tell apart; "
            f"fit with rows of at least two decisions"
        )
    return P
