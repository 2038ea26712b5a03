"""Rows, a model that kills its process once, and how answers of engines are compared."""

import os
import secrets
import signal
from pathlib import Path

import numpy as np
import pandas as pd

from tests.common import loans

KINDS = ("attributions", "rules", "counterfactuals")
POISON = 17  # an age that no fitted row has


def keyed(n, seed=1):
    """Rows with a key."""
    return loans(n, seed).assign(key=np.arange(n) * 10)


class KillsOnce:
    """Answers like a model, but the first process that asks about a poisoned row dies of it."""

    def __init__(self, model, mark):
        self.model, self.mark = model, Path(mark)
        self.classes_ = model.classes_

    def predict_proba(self, frame):
        if (frame["age"] == POISON).any():
            try:
                self.mark.touch(exist_ok=False)
            except FileExistsError:
                return self.model.predict_proba(frame)
            os.kill(os.getpid(), signal.SIGKILL)
        return self.model.predict_proba(frame)


def poisoned(n):
    """Rows of which one, in the middle, kills the first process that explains it."""
    rows = keyed(n)
    rows.loc[n // 2, "age"] = POISON
    return rows


class Fails:
    """Answers like a model, but fails on a poisoned row."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, frame):
        if (frame["age"] == POISON).any():
            raise ValueError("no such age")
        return self.model.predict_proba(frame)


class Notes:
    """Answers like a model, and notes down how many rows it is asked about, a file for each time."""

    def __init__(self, model, folder):
        self.model, self.folder, self.classes_ = model, Path(folder), model.classes_

    def predict_proba(self, frame):
        (self.folder / secrets.token_hex(8)).write_text(str(len(frame)))
        return self.model.predict_proba(frame)


def noted(folder):
    """Return how many rows were asked about, and forget them."""
    found = list(folder.iterdir())
    n_rows = sum(int(path.read_text()) for path in found)
    for path in found:
        path.unlink()
    return n_rows


def assert_same(found, expected):
    """Compare lines by key, numbers to 1e-6; types of texts and positions within partitions may differ."""
    assert list(found.columns) == list(expected.columns)
    left, right = (_plain(frame) for frame in (found, expected))
    assert len(left) == len(right)
    for name in left.columns:
        if right[name].dtype.kind in "fiub":
            np.testing.assert_allclose(
                left[name].astype(float), right[name].astype(float), rtol=0, atol=1e-6, err_msg=name
            )
        else:
            assert left[name].fillna("").tolist() == right[name].fillna("").tolist(), name


def _plain(frame):
    order = ["key", "example"] if "example" in frame.columns else ["key"]
    shown = frame.drop(columns="row", errors="ignore").sort_values(order, kind="stable")
    columns = {}
    for name in shown.columns:
        values = shown[name].to_numpy(dtype=object, na_value=None)
        columns[name] = pd.Series(list(values)).infer_objects()
    return pd.DataFrame(columns)
