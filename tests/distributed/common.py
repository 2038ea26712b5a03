"""Rows with a key, models that fail on one of them, and how answers of engines are compared."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.common import loans

KINDS = ("attributions", "rules", "counterfactuals")
POISON = 17  # an age that no fitted row has


def keyed(n, seed=1):
    """Rows with a key."""
    return loans(n, seed).assign(key=np.arange(n) * 10)


def poisoned(n):
    """Rows of which the one in the middle fails."""
    rows = keyed(n)
    rows.loc[n // 2, "age"] = POISON
    return rows


def write_files(folder, rows):
    """Write two files of 30 rows, in row groups of 10."""
    folder.mkdir()
    for i, part in enumerate((rows[:30], rows[30:])):
        pq.write_table(pa.Table.from_pandas(part), folder / f"{i}.parquet", row_group_size=10)
    return folder


class Fails:
    """Answers like a model, but fails on a poisoned row."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, frame):
        if (frame["age"] == POISON).any():
            self.fail()
        return self.model.predict_proba(frame)

    def fail(self):
        raise ValueError("no such age")


class Kills(Fails):
    """Kills the process that asks about a poisoned row: only the first one if there is a `mark`."""

    def __init__(self, model, mark=None):
        super().__init__(model)
        self.mark = mark and Path(mark)

    def fail(self):
        if self.mark is None or not self.mark.exists():
            if self.mark is not None:
                self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def assert_same(found, expected):
    """Compare lines by key, numbers to 1e-6; dtypes of texts and positions within partitions may differ."""
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
