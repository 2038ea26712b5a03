"""Data sets from the folder that `ILLUME_DATA` names, prepared as in the paper or for LightGBM."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks import black_boxes
from benchmarks.data.problem import Encoding, Problem, Truth, split
from illume._typing import IntArray

VARIABLE = "ILLUME_DATA"
REAL = (
    "aids", "austr", "bank", "breast", "churn", "compas", "ctg", "diabetes", "ecoli", "fico", "german",
    "home", "ionos", "sonar", "spam", "titanic", "wine", "yeast",
)  # fmt: skip
# functions of four columns whose order of importance is known
REFERENCES = {
    "ssin-2c": (4.0, 2.0, 1.0, 0.0),
    "int2-3c": (3.0, 3.0, 1.0, 0.0),
    "int2-8p": (3.0, 3.0, 1.0, 0.0),
}
RANKINGS = tuple(REFERENCES)
TEST_SHARE = 0.2
# numbers whose gaps are filled with their most frequent value, not their mean
FILLED_WITH_MODE = {"compas": ("days_b_screening_arrest", "length_of_stay")}


def read_entry(name: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the manifest entry and the whole table of a data set."""
    if not os.environ.get(VARIABLE):
        raise SystemExit(f"set {VARIABLE} to the folder that holds the data sets and their MANIFEST.json")
    folder = Path(os.environ[VARIABLE])
    entries = {entry["name"]: entry for entry in json.loads((folder / "MANIFEST.json").read_text())}
    return entries[name], pd.read_csv(folder / entries[name]["file"])


def table(name: str) -> tuple[pd.DataFrame, IntArray, tuple[str, ...]]:
    """Return features with gaps, categories as text, label codes and class names."""
    entry, frame = read_entry(name)
    encoded = entry["one_hot"]
    classes, y = np.unique(frame[entry["target"]].astype(str).to_numpy(dtype=str), return_inverse=True)
    frame = _published_changes(name, frame.drop(columns=entry["target"]))
    frame = frame[encoded.get("features") or [c for c in frame if c not in entry["ignore_columns"]]].copy()
    categorical = encoded.get("categorical_columns", entry["categorical_columns"])
    for column in frame:
        values = frame[column]
        if column in categorical or not pd.api.types.is_numeric_dtype(values):
            found = values.astype("category")
            frame[column] = found.cat.rename_categories([str(value) for value in found.cat.categories])
        else:
            frame[column] = values.astype(float)
    frame.columns = safe_names(list(frame.columns))
    return frame, y, tuple(map(str, classes))


def _published_changes(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    if name == "titanic":
        return frame.assign(Family=frame["SibSp"] + frame["Parch"])
    if name == "compas":
        return frame.assign(**{column: frame[column].abs() for column in FILLED_WITH_MODE[name]})
    return frame


def safe_names(names: list[str]) -> list[str]:
    """Return unique names of letters, digits and underscores, which every library accepts."""
    safe = [re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") for name in names]
    return [f"{new}_{i}" if safe.count(new) > 1 else new for i, new in enumerate(safe)]


def fill_gaps(train: pd.DataFrame, test: pd.DataFrame, modes: tuple[str, ...]) -> list[pd.DataFrame]:
    """Fill gaps in both parts with means of training rows for numbers, modes for the rest."""
    gaps = {}
    for column in train:
        number = not isinstance(train[column].dtype, pd.CategoricalDtype) and column not in modes
        gaps[column] = train[column].mean() if number else train[column].mode().iloc[0]
    return [part.fillna(gaps).reset_index(drop=True) for part in (train, test)]


class SplitTable(NamedTuple):
    """Training and test rows without gaps, their label codes, and the class names."""

    train: pd.DataFrame
    test: pd.DataFrame
    y_train: IntArray
    y_test: IntArray
    classes: tuple[str, ...]


def split_table(name: str, seed: int = 0, n_train: int | None = None) -> SplitTable:
    """Split a data set 80/20 and keep at most `n_train` of the training rows."""
    frame, y, classes = table(name)
    train, test = split(y, TEST_SHARE, seed)
    if n_train is not None:
        train = np.sort(np.random.default_rng(seed).permutation(train)[:n_train])
    parts = fill_gaps(frame.iloc[train], frame.iloc[test], FILLED_WITH_MODE.get(name, ()))
    return SplitTable(*parts, y[train], y[test], classes)


def problem(name: str, black_box: str, seed: int, protocol: str) -> Problem:
    """Split a data set 80/20 and fit a black box on the larger part."""
    *parts, y_train, y_test, classes = split_table(name.replace("-", "_"), seed)
    encoding, labels = Encoding.fit(parts[0]), (y_train, y_test)
    X_train, X_test = map(encoding.transform, parts)
    samples = black_boxes.Samples(X_train, labels[0], X_test, labels[1], len(classes))
    model = black_boxes.load_black_box(name, black_box, seed, protocol, samples)
    truth = Truth("ranking", reference=np.array(REFERENCES[name])) if name in REFERENCES else None
    return Problem(name, black_box, seed, protocol, *parts, *labels, classes, encoding, model, truth)


class LightGBMProblem(NamedTuple):
    """Training and test rows, labels of the training rows, and LightGBM fitted on them."""

    train: pd.DataFrame
    test: pd.DataFrame
    labels: pd.Series
    model: Any


def raw_table(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return all features, gaps included, with categories as pandas categories, and labels."""
    entry, frame = read_entry(name)
    labels = frame[entry["target"]].astype(str)
    frame = frame.drop(columns=[entry["target"], *entry["ignore_columns"]], errors="ignore")
    text = frame.select_dtypes(exclude="number").columns
    for column in {*entry["categorical_columns"], *text} & set(frame.columns):
        frame[column] = frame[column].astype("category")
    frame.columns = [f"{re.sub(r'[^0-9A-Za-z]+', '_', c)}_{i}" for i, c in enumerate(frame.columns)]
    return frame, labels


def lightgbm_problem(name: str, seed: int) -> LightGBMProblem:
    """Split a data set 80/20 and fit 100 trees on the larger part."""
    from lightgbm import LGBMClassifier
    from sklearn.model_selection import train_test_split

    X, y = raw_table(name)
    counts = y.value_counts()
    kept = y.isin(counts[counts >= 2].index)  # a class of one row cannot be in both parts
    X, y = X[kept], y[kept]
    train, test, labels, _ = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    model = LGBMClassifier(n_estimators=100, random_state=seed, n_jobs=2, verbose=-1).fit(train, labels)
    return LightGBMProblem(train, test, labels, model)
