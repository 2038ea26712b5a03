"""How well the latent surrogate follows boosted trees on held-out rows, and how steady its slopes are."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.data.real import raw_table
from benchmarks.harness import Line
from illume import Explainer, SurrogateOptions, metrics
from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import as_frame
from illume.data.load_rows import RowLimit, load_rows
from illume.fit.prepare import Prepared, prepare
from illume.fit.settings import Settings
from illume.fit.trials import Choice, choose_pair
from illume.twin.read import read_twin

MOST_ROWS = 8_000  # of a fit
TEST_SHARE, MOST_TESTED, MOST_JITTERED = 0.25, 1_000, 200
SPLIT = 7


class Boosted(NamedTuple):
    """Training and test rows, and a Pipeline fitted on the former."""

    train: pd.DataFrame
    test: pd.DataFrame
    model: Any


def boosted(name: str, kind: str) -> Boosted:
    """Fit 100 trees on three quarters of a data set, at most 8,000 rows of which are explained."""
    from sklearn.compose import make_column_transformer
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    X, labels = raw_table(name)
    text = list(X.select_dtypes(exclude="number"))
    X[text] = X[text].astype(object).fillna("missing").astype(str)
    y = pd.Series(np.unique(labels, return_inverse=True)[1], index=X.index)
    train, test, y_train, _ = train_test_split(X, y, test_size=TEST_SHARE, random_state=SPLIT, stratify=y)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        trees: Any = XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1)
    else:
        from lightgbm import LGBMClassifier

        trees = LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((codes, text), remainder="passthrough", verbose_feature_names_out=False)
    model = make_pipeline(columns.set_output(transform="pandas"), trees).fit(train, y_train)
    if len(train) > MOST_ROWS:
        train = train.sample(MOST_ROWS, random_state=1)
    known = test[text].isin({c: set(train[c]) for c in text}).all(axis=1) if text else slice(None)
    return Boosted(train.reset_index(drop=True), test[known].head(MOST_TESTED), model)


def measure(name: str, kind: str, seed: int, effort: str, steadiness: float) -> Line:
    """Train the surrogate of a model on its twin's answers, and measure it on held-out rows."""
    rows = boosted(name, kind)
    options = SurrogateOptions(steadiness=steadiness)
    usual = Explainer(
        rows.model,
        contributions="pullback",
        queries=0,
        effort=effort,
        surrogate_options=options,
        random_state=seed,
        verbose=False,
    )
    settings = Settings(**usual.get_params(deep=False))
    source = load_rows(rows.train, rows.model, None, (), RowLimit(None, seed, None, False))
    prepared = prepare(source, settings, np.random.default_rng(seed))
    answering = _Answering(prepared, rows.model)
    start = time.process_time()
    imputed = prepared.encoded.imputed[prepared.split.training]
    choice = choose_pair(settings, prepared.encoding, prepared.rows, answering, imputed)
    seconds = time.process_time() - start
    found = figures(prepared, choice, rows.test) | {"fit_seconds": seconds, "n_training": len(imputed)}
    return found | {"answer_seconds": answering.seconds, "n_answered": answering.n, "by": answering.by}


class _Answering:
    """Answers encoded rows by the twin that was read from the model, or by the model itself."""

    def __init__(self, prepared: Prepared, model: Any) -> None:
        self.prepared, self.seconds, self.n = prepared, 0.0, 0
        frame, schema = prepared.frame, prepared.encoding.schema
        background = frame.slice(0, 100)
        found = read_twin(
            model,
            schema,
            frame,
            prepared.P,
            prepared.outputs,
            scale="auto",
            background=background,
            ask=prepared.black_box,
        )
        self.twin, self.by = found.twin, "twin" if found.twin else f"model: {found.reason}"

    def __call__(self, X: FloatArray, imputed: BoolArray) -> FloatArray:
        start = time.process_time()
        frame = as_frame(decode(self.prepared, X, imputed))
        if self.twin is None:
            scores = self.prepared.outputs.scores(self.prepared.black_box(frame))
        else:
            scores = self.twin.scores(self.twin.parts.read(frame))
        self.seconds, self.n = self.seconds + time.process_time() - start, self.n + len(X)
        return scores


def decode(prepared: Prepared, X: FloatArray, imputed: BoolArray) -> pd.DataFrame:
    """Return encoded rows as the frame that a model reads."""
    encoding, columns = prepared.encoding, {}
    for j, feature in enumerate(encoding.schema.features):
        mine = np.flatnonzero(encoding.owner == j)
        if not len(mine):
            columns[feature.name] = np.repeat(prepared.frame.slice(0, 1).native[feature.name], len(X))
        elif feature.numeric:
            values = X[:, mine[0]] * encoding.scale[mine[0]] + encoding.mean[mine[0]]
            columns[feature.name] = np.where(imputed[:, j], np.nan, values)
        else:
            names = np.array(feature.categories, dtype=object)
            columns[feature.name] = names[(X[:, mine] + encoding.mean[mine]).argmax(1)]
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


def figures(prepared: Prepared, choice: Choice, test: pd.DataFrame) -> Line:
    """Measure the pair that explains on test rows."""
    encoding, pair, outputs = prepared.encoding, choice.pair, prepared.outputs
    frame = as_frame(test)
    encoded, P = encoding.transform(frame.select(encoding.schema.names)), prepared.black_box(frame)
    X, decisions, onehot = encoded.X, P.argmax(1), encoding.onehot
    pulled = pair.encoder.pull_back(X, pair.surrogate.coef_)
    S = pulled.Z @ pair.surrogate.coef_.T + pair.surrogate.intercept_
    Q, scores = outputs.answers(S), outputs.scores(P)
    S = S - S.mean(1, keepdims=True) if S.shape[1] > 1 else S
    own, odds = class_slopes(pulled.slopes, P, decisions)
    whole = np.flatnonzero(~encoded.imputed.any(1))[:MOST_JITTERED]
    nothing = np.zeros((1, len(encoding.schema)), dtype=bool)

    def ask(rows: FloatArray) -> FloatArray:
        missing = np.broadcast_to(nothing, (len(rows), nothing.shape[1]))
        return prepared.black_box(as_frame(decode(prepared, rows, missing)))

    local = metrics.local_fidelity(odds[whole], X[whole], ask, decisions[whole], onehot=onehot)
    return {
        "agreement": float((Q.argmax(1) == decisions).mean()),
        "r2": float(1 - np.square(S - scores).sum() / np.square(scores - scores.mean(0)).sum()),
        "local_fidelity": local.correlation,
        "local_r2": local.r2,
        "robustness": metrics.robustness(own, X, decisions, onehot=onehot),
        "faithfulness": metrics.faithfulness(own, P),
        "n_test": len(X),
        "n_latents": pair.n_latents,
        "fell_back": choice.fell_back,
    }


def class_slopes(slopes: FloatArray, P: FloatArray, classes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes (n, m) of the score of each row's class, and of its log-odds against all others."""
    if slopes.shape[1] == 1:
        signed = slopes[:, 0] * np.where(classes == 1, 1.0, -1.0)[:, None]
        return signed, signed
    rows = np.arange(len(P))
    centred = slopes - slopes.mean(1, keepdims=True)
    others = P.copy()
    others[rows, classes] = 0.0
    others /= np.maximum(others.sum(1, keepdims=True), 1e-12)
    own = centred[rows, classes]
    return own, own - np.einsum("nc,ncm->nm", others, centred)
