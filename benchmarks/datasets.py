"""Data sets from the folder that the environment variable ILLUME_DATA names."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd

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
