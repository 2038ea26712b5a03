"""The paper's 18 real data sets, prepared as it says, from the folder that ILLUME_DATA names."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

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
TEST_SHARE = 0.2
# numbers whose gaps are filled with their most frequent value, not their mean
FILLED_WITH_MODE = {"compas": ("days_b_screening_arrest", "length_of_stay")}


def folder() -> Path:
    """Return the folder that holds the data sets and their MANIFEST.json."""
    if not os.environ.get(VARIABLE):
        raise SystemExit(f"set {VARIABLE} to the folder that holds the data sets and their MANIFEST.json")
    return Path(os.environ[VARIABLE])


@cache
def manifest(path: Path) -> dict[str, dict[str, Any]]:
    """Return what is known of each data set, by name."""
    return {entry["name"]: entry for entry in json.loads((path / "MANIFEST.json").read_text())}


def table(name: str) -> tuple[pd.DataFrame, IntArray, tuple[str, ...]]:
    """Return features with gaps as they are, categories as text, label codes and class names."""
    entry = manifest(folder())[name]
    encoded = entry["one_hot"]
    frame = pd.read_csv(folder() / entry["file"])
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
    frame.columns = _safe(list(frame.columns))
    return frame, y, tuple(map(str, classes))


def _published_changes(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with columns made or changed as the paper's preparation has them."""
    if name == "titanic":
        return frame.assign(Family=frame["SibSp"] + frame["Parch"])
    if name == "compas":
        return frame.assign(**{column: frame[column].abs() for column in FILLED_WITH_MODE[name]})
    return frame


def _safe(names: list[str]) -> list[str]:
    """Return names of letters, digits and underscores, which every library takes."""
    safe = [re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") for name in names]
    return [f"{new}_{i}" if safe.count(new) > 1 else new for i, new in enumerate(safe)]


def filled(train: pd.DataFrame, test: pd.DataFrame, modes: tuple[str, ...]) -> list[pd.DataFrame]:
    """Return both parts without gaps: means of training rows for numbers, modes for the rest."""
    gaps = {}
    for column in train:
        number = not isinstance(train[column].dtype, pd.CategoricalDtype) and column not in modes
        gaps[column] = train[column].mean() if number else train[column].mode().iloc[0]
    return [part.fillna(gaps).reset_index(drop=True) for part in (train, test)]


def problem(name: str, black_box: str, seed: int, protocol: str, truth: Truth | None = None) -> Problem:
    """Return a data set split 80/20 with a black box fitted on the larger part."""
    source = name.replace("-", "_")
    frame, y, classes = table(source)
    rows = split(y, TEST_SHARE, seed)
    parts = filled(*(frame.iloc[part] for part in rows), FILLED_WITH_MODE.get(source, ()))
    encoding = Encoding.fit(parts[0])
    samples = black_boxes.Samples(
        encoding.transform(parts[0]), y[rows[0]], encoding.transform(parts[1]), y[rows[1]], len(classes)
    )
    model = black_boxes.fitted(name, black_box, seed, protocol, samples)
    labels = (samples.y_train, samples.y_test)
    return Problem(name, black_box, seed, protocol, *parts, *labels, classes, encoding, model, truth)
