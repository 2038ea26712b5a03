"""Data sets from the folder that the environment variable ILLUME_DATA names, and black boxes on them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.model_selection import train_test_split

VARIABLE = "ILLUME_DATA"


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return features, with categories as pandas categories, and labels."""
    if not os.environ.get(VARIABLE):
        raise SystemExit(f"set {VARIABLE} to the folder that holds the data sets and their MANIFEST.json")
    folder = Path(os.environ[VARIABLE])
    entries = {entry["name"]: entry for entry in json.loads((folder / "MANIFEST.json").read_text())}
    entry = entries[name]
    frame = pd.read_csv(folder / entry["file"])
    labels = frame[entry["target"]].astype(str)
    frame = frame.drop(columns=[entry["target"], *entry["ignore_columns"]], errors="ignore")
    text = frame.select_dtypes(exclude="number").columns
    for column in {*entry["categorical_columns"], *text} & set(frame.columns):
        frame[column] = frame[column].astype("category")
    # LightGBM refuses some characters in names; the position keeps names apart
    frame.columns = [f"{re.sub(r'[^0-9A-Za-z]+', '_', c)}_{i}" for i, c in enumerate(frame.columns)]
    return frame, labels


class Problem(NamedTuple):
    """Rows to fit with, rows that nobody has seen, labels of the first, a black box fitted on them."""

    train: pd.DataFrame
    test: pd.DataFrame
    labels: pd.Series
    model: LGBMClassifier


def problem(name: str, seed: int) -> Problem:
    """Split a data set 80/20 and fit the black box, 100 trees, on the larger part."""
    X, y = load(name)
    counts = y.value_counts()
    kept = y.isin(counts[counts >= 2].index)  # a class of one row cannot be in both parts
    X, y = X[kept], y[kept]
    train, test, labels, _ = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    model = LGBMClassifier(n_estimators=100, random_state=seed, n_jobs=2, verbose=-1).fit(train, labels)
    return Problem(train, test, labels, model)
