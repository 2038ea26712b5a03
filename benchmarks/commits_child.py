"""Time the main calls of whichever illume is on the path; print seconds as one JSON object.

It uses only calls that every version has.
"""

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import illume


def fastest(work, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


class Model:
    """Looks answers up while `known` is set, so that the model's own time is left out."""

    def __init__(self, model):
        self.model, self.known = model, None

    def predict_proba(self, frame):
        return self.model.predict_proba(frame) if self.known is None else self.known[frame.index]


def main(adult):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100_000, 30)), columns=[f"x{j}" for j in range(30)])
    train, y = X[:5_000], (X["x0"] * X["x1"] + X["x2"] > 0)[:5_000]
    model = Model(HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(train, y))
    explainer = illume.Explainer(model, queries=20_000, effort="quick", verbose=False).fit(train).fit_rules()
    found = {"counterfactuals": fastest(lambda: explainer.counterfactuals(X[:300], n=2))}
    model.known = model.predict_proba(X)
    found["attributions"] = fastest(lambda: explainer(X).values, 5)
    found["rules"] = fastest(lambda: explainer.rules(X[:5_000]))
    if adult:
        frame = pd.read_csv(adult)
        rows, target = frame.iloc[:, :-1].copy(), frame.iloc[:, -1]
        for name in rows.select_dtypes(exclude="number"):
            rows[name] = rows[name].astype("category")
        boosting = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype")
        black_box = boosting.fit(rows, target)
        fit = illume.Explainer(black_box, queries=200_000, verbose=False).fit
        found["fit on adult"] = fastest(lambda: fit(rows), 1)
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
