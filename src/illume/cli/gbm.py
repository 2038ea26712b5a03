"""A gradient-boosting model for people who bring none: it copes with categories and missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from illume.errors import SchemaError

HELD_OUT = 0.2
MOST_CLASSES = 50
MOST_CATEGORIES = 200  # HistGradientBoosting takes 255 at most


@dataclass(frozen=True)
class Score:
    """How often a model is right on rows that it was not trained on.

    Parameters
    ----------
    accuracy
        Share of the validation rows that a model trained on the others decides rightly.
    baseline, commonest
        The share that always saying the commonest class would reach, and that class.
    n_training, n_validation
        How many rows that model was trained and scored on.
    """

    accuracy: float
    baseline: float
    commonest: str
    n_training: int
    n_validation: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.3f} on {self.n_validation:,} validation rows "
            f"(always {self.commonest!r}: {self.baseline:.3f})"
        )


@dataclass(frozen=True, eq=False)
class Trained:
    """A model trained on all rows, and the score of its like on held-out rows."""

    model: Any
    score: Score


def train(rows: Any, target: Any, categorical: Sequence[str], seed: int) -> Trained:
    """Train on rows (a pandas frame) whose classes are in `target`; `categorical` names the categories."""
    from sklearn.model_selection import train_test_split

    labels = _labels(target)
    counts = np.unique(labels, return_counts=True)[1]
    n_validation = max(len(counts), round(HELD_OUT * len(labels)))
    fits = counts.min() >= 2 and len(labels) - n_validation >= len(counts)
    learn, judge = train_test_split(
        np.arange(len(labels)), test_size=n_validation, random_state=seed, stratify=labels if fits else None
    )
    trial = _pipeline(rows.iloc[learn], categorical, seed).fit(rows.iloc[learn], labels[learn])
    score = _score(trial.predict(rows.iloc[judge]), labels[judge], len(learn))
    return Trained(_pipeline(rows, categorical, seed).fit(rows, labels), score)


def _labels(target: Any) -> np.ndarray[Any, Any]:
    """Return the classes, as numbers, booleans or text; a quantity is refused."""
    classes = sorted(set(target.astype("str")))
    advice = "illume explains classifiers: make classes of it first (for instance above 1000 or not)"
    if target.dtype.kind == "f" and (target % 1 != 0).any():
        raise SchemaError(f"the target {target.name!r} holds numbers such as {target.iloc[0]}; {advice}")
    if len(classes) > MOST_CLASSES:
        raise SchemaError(f"the target {target.name!r} holds {len(classes)} different values; {advice}")
    if len(classes) < 2:
        raise SchemaError(f"the target {target.name!r} holds only {classes[0]!r}; two classes are needed")
    if target.dtype.kind == "f":  # whole numbers, made floats by a missing one
        return np.asarray(target, dtype=np.int64)
    if target.dtype.kind in "biu":
        return np.asarray(target)
    return np.asarray(target.astype("str"), dtype=object).astype(str)


def _pipeline(rows: Any, categorical: Sequence[str], seed: int) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MOST_CATEGORIES,
    )
    # The boosting stops at a column without any value.
    numbers = [name for name in rows.columns if name not in categorical and rows[name].notna().any()]
    encode = make_column_transformer((codes, list(categorical)), ("passthrough", numbers))
    boosting = HistGradientBoostingClassifier(
        categorical_features=list(range(len(categorical))) or None, early_stopping=False, random_state=seed
    )
    return make_pipeline(encode, boosting)


def _score(said: Any, true: Any, n_training: int) -> Score:
    names, counts = np.unique(true, return_counts=True)
    best = int(counts.argmax())
    return Score(
        accuracy=float((said == true).mean()),
        baseline=float(counts[best] / len(true)),
        commonest=str(names[best]),
        n_training=n_training,
        n_validation=len(true),
    )
