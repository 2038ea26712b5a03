"""Results as data frames and as dictionaries of plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Origin
from illume.data.schema import MISSING, Other
from illume.results.dictionary import NO_LABELS, DataDictionary, value_text
from illume.results.predictions import Labels
from illume.results.text import plain_value

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions
    from illume.results.counterfactuals import Counterfactuals
    from illume.results.latents import Latents
    from illume.results.rules import Rules
    from illume.results.trust import Trust

UNKNOWN = "(unknown)"


@dataclass(frozen=True, eq=False)
class Column:
    """Values of a feature, (n,): numbers, NaN where missing, or positions in `categories`."""

    name: str
    values: FloatArray
    categories: tuple[str, ...] = ()
    dictionary: DataDictionary = NO_LABELS

    @property
    def numeric(self) -> bool:
        """Whether the feature is a number."""
        return not self.categories

    @property
    def title(self) -> str:
        """What the feature is called, with its unit."""
        return self.dictionary.title(self.name)

    @property
    def category_labels(self) -> tuple[str, ...]:
        """What the categories are called."""
        return tuple(self.dictionary.category(self.name, text) for text in self.categories)


def feature_column(data: np.ndarray[Any, Any], labels: Labels, j: int) -> Column:
    """Return feature j of rows (n, n_features); a missing category is a category of its own."""
    name, raw, known = labels.features[j], data[:, j], labels.categories(j)
    if known is None:
        try:
            return Column(name, raw.astype(np.float64), dictionary=labels.dictionary)
        except (TypeError, ValueError):  # a constant column has no inputs, so its kind is not known
            known = ()
    texts = list(map(value_text, raw.tolist()))
    if known:
        unseen = str(Other.OTHER) if str(Other.OTHER) in known else UNKNOWN
        texts = [text if text in known or text == MISSING else unseen for text in texts]
    categories = (*known, *sorted(set(texts) - set(known)))
    position = {text: float(i) for i, text in enumerate(categories)}
    return Column(name, np.array([position[text] for text in texts]), categories, labels.dictionary)


def decided_class(batch: Attributions, array: FloatArray) -> FloatArray:
    """Take the decided class, or the first number, from the last axis of (n, …, c) where there is one."""
    if batch.values.ndim == 3:
        first = batch.outputs.first(batch.predictions)
        array = np.moveaxis(array, -1, 1)[np.arange(len(batch)), first]
    return np.ascontiguousarray(array)


def rename_taken(columns: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Append underscores to the names of columns until no feature has the same name.

    >>> rename_taken({"decision": 1, "rest": 2}, ["rest", "rest_"])
    {'decision': 1, 'rest__': 2}
    """
    names, renamed = set(taken), {}
    for name, column in columns.items():
        free = name
        while free in names:
            free += "_"
        renamed[free] = column
        names.add(free)
    return renamed


def _require_layout(layout: str) -> None:
    if layout not in ("wide", "long"):
        raise ValueError(f"layout must be 'wide' or 'long', found {layout!r}")


def answer_columns(batch: Any) -> dict[str, Any]:
    """Return columns with the model's answers: the decision and its probability, or predictions."""
    return _plain_columns(batch.outputs.columns(batch.predictions))


def _plain_columns(columns: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    return {name: each.tolist() if each.dtype == object else each for name, each in columns.items()}


def attributions_frame(batch: Attributions, layout: str) -> Any:
    """Return attributions as a frame."""
    _require_layout(layout)
    if layout == "long":
        n, n_features = batch.values.shape[:2]
        outputs = batch.output_names
        columns = {
            "row": np.repeat(batch.row_labels, n_features * len(outputs)),
            "feature": [name for name in batch.feature_names for _ in outputs] * n,
            "output": list(outputs) * (n * n_features),
            "value": [str(v) for v in np.repeat(batch.data.ravel(), len(outputs))],
            "contribution": batch.values.ravel(),
            "standard_error": batch.standard_errors.ravel().astype(np.float64),
        }
        return Origin(batch.origin.backend).frame(columns)
    about = answer_columns(batch) | {
        "outside": batch.outside,
        "trust": batch.trust.level.tolist(),
        "contribution_error": batch.trust.contribution_error,
        "base_value": decided_class(batch, batch.base_values),
        "offset": decided_class(batch, batch.offset),
    }
    if len(batch.feature_names) < len(batch.novelty.names):  # `top` left features out
        about["rest"] = decided_class(batch, batch.rest)
    return batch.origin.frame(_with_matrix(about, batch.feature_names, decided_class(batch, batch.values)))


def _with_matrix(about: dict[str, Any], names: tuple[str, ...], values: FloatArray) -> dict[str, Any]:
    """Add a column for each of the named columns of a matrix, which keep their names."""
    columns = {name: np.ascontiguousarray(values[:, j]) for j, name in enumerate(names)}
    return rename_taken(about, names) | columns


def rules_columns(rules: Rules) -> dict[str, Any]:
    """Return a line per rule."""
    low, high = rules.precision_interval
    return (
        answer_columns(rules)
        | _plain_columns(rules.question_columns)
        | {
            "rule": [" and ".join(map(str, rules.bounds.conditions(i))) for i in range(len(rules))],
            "n_conditions": rules.n_conditions,
            "precision": rules.precision,
            "precision_low": low,
            "precision_high": high,
            "coverage": rules.coverage,
            "n_covered": rules.n_covered,
            "polished": rules.polished,
            "status": rules.refinement.status.tolist(),
            "outside": rules.outside,
        }
    )


def rules_frame(rules: Rules, layout: str) -> Any:
    """Return rules as a frame."""
    _require_layout(layout)
    if layout == "wide":
        return rules.origin.frame(rules_columns(rules))
    conditions = [rules.bounds.conditions(i) for i in range(len(rules))]
    flat = [condition for each in conditions for condition in each]
    columns = {
        "row": np.repeat(rules.row_labels, [len(each) for each in conditions]),
        "feature": [condition.name for condition in flat],
        "low": [getattr(condition, "low", math.nan) for condition in flat],
        "high": [getattr(condition, "high", math.nan) for condition in flat],
        "values": [", ".join(map(str, condition.to_dict().get("allowed", ()))) for condition in flat],
        "condition": [str(condition) for condition in flat],
    }
    return Origin(rules.origin.backend).frame(columns)


def example_columns(found: Counterfactuals) -> dict[str, Any]:
    """Return a line per example of a counterfactual, without its changes."""
    answers = _plain_columns(found.outputs.columns(found.example_predictions))
    return {
        "row": found.row_labels[found.row],
        "example": np.arange(len(found.row)) - np.searchsorted(found.row, found.row),
        **answers,
        "n_changes": found.n_changes,
        "distance": found.distance,
        "plausibility": found.plausibility,
    }


def counterfactuals_frame(found: Counterfactuals, layout: str, only_changes: bool) -> Any:
    """Return counterfactuals as a frame."""
    _require_layout(layout)
    if layout == "long":
        return _long_changes(found)
    if only_changes:
        columns = rename_taken(example_columns(found), found.feature_names)
        for k in np.flatnonzero(found.changed.any(0)).tolist():
            pairs = zip(_feature_values(found, found.after, k), found.changed[:, k], strict=True)
            columns[found.feature_names[k]] = [value if changed else None for value, changed in pairs]
        return Origin(found.origin.backend).frame(columns)
    rows = np.flatnonzero(found.found)
    order = np.argsort(np.append(rows, found.row), kind="stable")  # a row, then its examples
    names = np.array(found.feature_names, dtype=object)
    examples = example_columns(found) | {"changed": [", ".join(names[each]) for each in found.changed]}
    own = {"row": found.row_labels[rows], **_plain_columns(found.outputs.columns(found.predictions[rows]))}
    own |= {"example": -1, "n_changes": 0, "distance": 0.0, "plausibility": math.nan, "changed": ""}
    own = {name: [each] * len(rows) if np.isscalar(each) else each for name, each in own.items()}
    both = {name: [*own[name], *column] for name, column in examples.items()}
    columns = {name: [each[i] for i in order] for name, each in both.items()}
    values = np.concatenate([found.before[rows], found.after])[order]
    features = {name: _feature_values(found, values, j) for j, name in enumerate(found.feature_names)}
    return Origin(found.origin.backend).frame(rename_taken(columns, found.feature_names) | features)


def _feature_values(found: Counterfactuals, values: np.ndarray[Any, Any], j: int) -> list[Any]:
    """Return plain values of feature j; those of a feature of whole numbers are integers."""
    plain = plain_value(values[:, j].tolist())
    whole = found.rules.bounds.features[j].whole
    return [int(v) if whole and isinstance(v, float) and v.is_integer() else v for v in plain]


def _long_changes(found: Counterfactuals) -> Any:
    """Return a line per example and change."""
    about, (e, j) = example_columns(found), np.nonzero(found.changed)
    columns = {
        "row": about["row"][e],
        "example": about["example"][e],
        "feature": [found.feature_names[k] for k in j],
        "before": [str(plain_value(value)) for value in found.before[found.row[e], j]],
        "after": [str(plain_value(value)) for value in found.after[e, j]],
    }
    return Origin(found.origin.backend).frame(columns)


def latents_frame(batch: Latents) -> Any:
    """Return latents as a frame."""
    outputs, P, Q, place = batch.outputs, batch.predictions, batch.surrogate_predictions, batch.plane
    decided = {
        f"surrogate_{name}": column for name, column in outputs.columns(Q).items() if name == "decision"
    }
    about = answer_columns(batch) | {
        **_plain_columns(decided),
        **outputs.surrogate_columns(P, Q),
        "agreed": batch.agreed,
        "plane_x": np.ascontiguousarray(place[:, 0]),
        "plane_y": np.ascontiguousarray(place[:, 1]),
    }
    return batch.origin.frame(_with_matrix(about, batch.names, batch.Z))


def attributions_dict(batch: Attributions) -> dict[str, Any]:
    """Return the arrays of a batch as lists, with the names of their axes."""
    names = ("feature_names", "input_names", "output_names")
    arrays = ("base_values", "offset", "rest")
    return {
        "scale": batch.scale,
        "kind": batch.kind,
        **{name: list(getattr(batch, name)) for name in names},
        **{name: getattr(batch, name).tolist() for name in ("values", *arrays)},
        "standard_errors": _nan_to_none(batch.standard_errors),
        "data": plain_value(batch.data.tolist()),
        **batch.outputs.batch_dict(batch.predictions),
        "stand_in": batch.stand_in,
        "outside": batch.outside.tolist(),
        "trust": _trust_dict(batch.trust),
    }


def _trust_dict(trust: Trust) -> dict[str, Any]:
    names = ("contribution_error", "share")
    return {"level": np.asarray(trust.level).tolist()} | {
        name: _nan_to_none(getattr(trust, name)) for name in names
    }


def _nan_to_none(numbers: Any) -> Any:
    return np.where(np.isfinite(numbers), np.asarray(numbers).astype(object), np.array(None)).tolist()


def attribution_dict(row: Attribution) -> dict[str, Any]:
    """Return one row's attribution with a dictionary per feature."""
    i, batch = row.output, row.batch
    features = zip(
        *(row.feature_names, row.data.tolist(), row.contributions(), row.errors()),
        strict=True,
    )
    answers = batch.outputs.columns(batch.predictions)
    return {
        **{name: plain_value(column[0]) for name, column in answers.items()},
        "outside": row.outside,
        "stand_in": batch.stand_in,
        "outside_reasons": list(row.outside_reasons),
        "scale": batch.scale,
        "kind": batch.kind,
        "output": row.output_name,
        "base_value": float(np.ravel(row.base_value)[i]),
        "offset": float(np.ravel(batch.offset[0])[i]),
        "score": float(np.ravel(row.score)[i]),
        "features": [
            {
                "name": name,
                "value": plain_value(value),
                "contribution": float(contribution),
                "standard_error": plain_value(float(error)),
            }
            for name, value, contribution, error in features
        ],
        "trust": _trust_dict(row.trust),
    }
