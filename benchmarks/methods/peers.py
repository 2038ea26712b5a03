"""Methods of other packages, embeddings, and the gradient of a synthetic black box."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.data.problem import Problem, pad
from benchmarks.data.seneca_rc import measurable
from benchmarks.methods.outcome import Outcome, explained_classes, fixed_class, sum_by_feature
from benchmarks.packages import anchor_explainer, lore_explainer, no_warnings, seed_generators
from illume.metrics import Boxes

ATTRIBUTED_ROWS = 100  # by LIME and kernel SHAP
RULE_ROWS = 30
BACKGROUND_ROWS = 100
Setting = dict[str, Any]


def lime(problem: Problem, setting: Setting, device: str) -> Outcome:
    """LIME without discretisation, as in the paper: the weights of the local model are slopes."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(
        problem.X_train,
        mode="classification",
        discretize_continuous=False,
        feature_selection="none",  # all features are kept; selecting them one by one only takes time
        random_state=problem.seed,
    )
    rows = _first_rows(problem, setting, ATTRIBUTED_ROWS)
    classes, one, m = explained_classes(problem)[rows], fixed_class(problem)[rows], problem.X_test.shape[1]
    slopes, of_one = np.zeros((len(rows), m)), np.zeros((len(rows), m))
    options = {"num_features": m, "num_samples": setting["samples"]}
    start = time.perf_counter()
    for i, (x, c, d) in enumerate(zip(problem.X_test[rows], classes, one, strict=True)):
        labels = sorted({int(c), int(d)})
        found = explainer.explain_instance(x, problem.model.predict_proba, labels=labels, **options).as_map()
        for values, label in ((slopes, c), (of_one, d)):
            for j, weight in found[int(label)]:
                values[i, j] = weight
    seconds = time.perf_counter() - start
    scale = explainer.scaler.scale_  # its weights are per standard deviation, also of 0/1 columns
    return Outcome(rows, slopes=slopes / scale, slopes_of_one=of_one / scale, explain_s=seconds)


def shap(problem: Problem, setting: Setting, device: str) -> Outcome:
    """Tree SHAP for ensembles of trees, kernel SHAP otherwise."""
    import shap as package

    classes, one = explained_classes(problem), fixed_class(problem)
    start = time.perf_counter()
    if problem.black_box in ("xgb", "lgb", "ctb", "forest"):
        rows = np.arange(len(problem.X_test))
        explainer = package.TreeExplainer(problem.model.classifier)
        ready = time.perf_counter()
        found = explainer.shap_values(problem.X_test)
        done = time.perf_counter()
        values, of_one = (_values_of_class(found, problem, c) for c in (classes, one))
    else:
        rows = _first_rows(problem, setting, ATTRIBUTED_ROWS)
        background = package.sample(problem.X_train, BACKGROUND_ROWS, random_state=problem.seed)
        seed_generators(problem.seed)
        explainer = package.KernelExplainer(problem.model.predict_proba, background)
        ready = time.perf_counter()
        found = np.asarray(explainer.shap_values(problem.X_test[rows], silent=True))
        done = time.perf_counter()
        values, of_one = (found[np.arange(len(rows)), :, c[rows]] for c in (classes, one))
    values, of_one = (sum_by_feature(each, problem.encoding.owner) for each in (values, of_one))
    times = {"fit_s": ready - start, "explain_s": done - ready}
    return Outcome(rows, contributions=values, contributions_of_one=of_one, **times)


def _values_of_class(found: Any, problem: Problem, classes: np.ndarray) -> np.ndarray:
    """Return each row's values of its class; the package has three layouts."""
    values = np.asarray(found)
    if isinstance(found, list):
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 2:  # the log-odds of the second of two classes
        return values * np.where(classes == problem.model.seen_[1], 1.0, -1.0)[:, None]
    seen = np.full(len(problem.classes), -1)
    seen[problem.model.seen_] = np.arange(len(problem.model.seen_))
    picked = values[np.arange(len(values)), :, np.maximum(seen[classes], 0)]
    return np.where((seen[classes] >= 0)[:, None], picked, 0.0)


def lore(problem: Problem, setting: Setting, device: str) -> Outcome:
    rows, m = _first_rows(problem, setting, RULE_ROWS), problem.X_train.shape[1]
    start = time.perf_counter()
    seed_generators(problem.seed)
    explainer = lore_explainer(problem.X_train, problem.classes, problem.model.predict_proba)
    ready = time.perf_counter()
    (low, high), counter = _unbounded(len(rows), m), _unbounded(len(rows), m)
    for i, x in enumerate(problem.X_test[rows]):
        seed_generators(problem.seed)
        found = explainer.explain(x, num_instances=setting["samples"])
        _bound(found["rule"]["premises"], low[i], high[i])
        if found["counterfactuals"]:
            _bound(found["counterfactuals"][0]["premises"], counter[0][i], counter[1][i])
    times = {"fit_s": ready - start, "explain_s": time.perf_counter() - ready}
    return Outcome(rows, rules=Boxes(low, high), counterfactual_rules=Boxes(*counter), **times)


def _bound(premises: list[Setting], low: np.ndarray, high: np.ndarray) -> None:
    for condition in premises:
        j, value = int(condition["attr"][1:]), float(condition["val"])
        if condition["op"] in (">", ">=", "="):
            low[j] = max(low[j], value)
        if condition["op"] in ("<", "<=", "="):
            high[j] = min(high[j], value)


def anchor(problem: Problem, setting: Setting, device: str) -> Outcome:
    """Anchor on numbers cut at their quartiles and on 0/1 columns."""
    onehot, columns = problem.encoding.onehot, list(problem.encoding.columns)
    categories = {int(j): ["0", "1"] for j in np.flatnonzero(onehot)}
    rows = _first_rows(problem, setting, RULE_ROWS)
    options = {"batch_size": setting.get("batch", 100), "beam_size": setting.get("beam", 4)}
    start = time.perf_counter()
    explainer = anchor_explainer(problem.classes, columns, problem.X_train, categories)
    ready = time.perf_counter()
    low, high = _unbounded(len(rows), len(columns))

    def decide(array: np.ndarray) -> np.ndarray:
        return problem.model.predict_proba(np.atleast_2d(array)).argmax(1)

    for i, x in enumerate(problem.X_test[rows]):
        seed_generators(problem.seed)
        found = explainer.explain_instance(x, decide, threshold=0.95, **options)
        for j, kind, value in found.exp_map["conditions"]:
            below, above = (0.5, 0.5) if onehot[j] else _edges(explainer.disc, j, int(value))
            if kind == "geq":
                low[i, j] = max(low[i, j], above)
            elif kind == "leq":
                high[i, j] = min(high[i, j], above)
            elif onehot[j]:
                low[i, j], high[i, j] = (0.5, np.inf) if value else (-np.inf, 0.5)
            else:
                low[i, j], high[i, j] = max(low[i, j], below), min(high[i, j], above)
    seconds = time.perf_counter() - ready
    return Outcome(rows, rules=Boxes(low, high), fit_s=ready - start, explain_s=seconds)


def _edges(discretizer: Any, j: int, part: int) -> tuple[float, float]:
    """Return the ends of a bin; the outer bins are open."""
    low, high = discretizer.mins[j], discretizer.maxs[j]
    below = float(low[part]) if part > 0 else -np.inf
    return below, float(high[part]) if part < len(high) - 1 else np.inf


def pca(problem: Problem, setting: Setting, device: str) -> Outcome:
    from sklearn.decomposition import PCA

    return _embed(problem, PCA(min(setting["k"], *problem.X_train.shape), random_state=problem.seed))


def isomap(problem: Problem, setting: Setting, device: str) -> Outcome:
    from sklearn.manifold import Isomap

    return _embed(problem, Isomap(n_components=setting["k"]))


def lle(problem: Problem, setting: Setting, device: str) -> Outcome:
    """Locally linear embedding; the dense solver for few rows, where the sparse one does not converge."""
    from sklearn.manifold import LocallyLinearEmbedding

    k = min(setting["k"], problem.X_train.shape[1])
    solver = "dense" if len(problem.X_train) <= 2500 else "auto"
    model = LocallyLinearEmbedding(n_components=k, eigen_solver=solver, random_state=problem.seed)
    return _embed(problem, model)


def umap(problem: Problem, setting: Setting, device: str, decisions: Any = None) -> Outcome:
    """UMAP; the parametric one would need a second deep-learning framework."""
    from umap import UMAP

    k = min(setting["k"], len(problem.X_train) - 2)
    return _embed(problem, UMAP(n_components=k, random_state=problem.seed, n_jobs=1), decisions)


def supervised_umap(problem: Problem, setting: Setting, device: str) -> Outcome:
    return umap(problem, setting, device, problem.P_train.argmax(1))


def _embed(problem: Problem, model: Any, y: Any = None) -> Outcome:
    start = time.perf_counter()
    with no_warnings():
        model.fit(problem.X_train, y)
        ready = time.perf_counter()
        latents = model.transform(problem.X_train), model.transform(problem.X_test)
    times = {"fit_s": ready - start, "explain_s": time.perf_counter() - ready}
    return Outcome(np.arange(len(problem.X_test)), latents=latents, **times)


def none(problem: Problem, setting: Setting, device: str) -> Outcome:
    """Explain nothing: only the black box is scored."""
    return Outcome(np.empty(0, dtype=np.intp))


def gradient(problem: Problem, setting: Setting, device: str) -> Outcome:
    """Explain by the gradient of the synthetic black box at the row, which answers alone do not reveal."""
    model: Any = problem.model
    own = problem.test.to_numpy(float)[:, : len(model.mean)]
    slopes = pad(measurable(model.classifier.expression.gradient(own)), problem.X_test.shape[1], 0.0)
    sign = np.where(explained_classes(problem) == 1, 1.0, -1.0)[:, None]
    return Outcome(np.arange(len(own)), slopes=sign * slopes * problem.encoding.scale)


def _first_rows(problem: Problem, setting: Setting, n: int) -> np.ndarray:
    return np.arange(min(setting.get("rows", n), len(problem.X_test)))


def _unbounded(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((n, m), -np.inf), np.full((n, m), np.inf)
