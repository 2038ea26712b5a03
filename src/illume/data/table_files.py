"""Which files hold tables, by their names."""

from __future__ import annotations

import os
from pathlib import Path

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq", ".parq")


def is_csv(path: str | os.PathLike[str]) -> bool:
    """Whether a file is CSV."""
    return os.fspath(path).lower().endswith(CSV)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a file is Parquet, or a folder, which may hold some.

    >>> is_parquet("loans.parq"), is_parquet("loans.csv")
    (True, False)
    """
    return os.fspath(path).lower().endswith(PARQUET) or Path(path).is_dir()
