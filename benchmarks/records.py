"""One JSON line per measurement, with commit, versions, seed and machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    *("numpy", "scikit-learn", "torch", "narwhals", "lightgbm", "xgboost", "catboost"),
    *("lime", "shap", "lore_sa", "anchor-exp", "dice-ml", "woodelf-explainer", "umap-learn", "shapiq"),
)


def record(table: str, **figures: Any) -> None:
    """Append a measurement to `results/<table>.jsonl` and print it."""
    RESULTS.mkdir(exist_ok=True)
    print("  ".join(f"{name}={_short(value)}" for name, value in figures.items()), flush=True)
    with (RESULTS / f"{table}.jsonl").open("a") as file:
        file.write(json.dumps(figures | provenance()) + "\n")


def provenance() -> dict[str, Any]:
    """Return what a figure cannot be understood without: commit, versions, machine and time."""
    return {
        "commit": os.environ.get("ILLUME_COMMIT") or _commit(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "machine": _machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + (
        "+changes" if git("status", "--porcelain", "src", "benchmarks", ":!benchmarks/results") else ""
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    device = os.environ.get("ILLUME_DEVICE_NAME")
    return f"{system}, {os.cpu_count()} cores, Python {platform.python_version()}" + (
        f", {device}" if device else ""
    )
