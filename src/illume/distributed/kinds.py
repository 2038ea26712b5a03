"""What each kind of explanation says of a row: its columns, and their arrays taken from a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume.distributed.columns import Column, Columns
from illume.results.frames import decided_class
from illume.results.text import format_value, plain_value
from illume.results.trust import AGREED, NOT_FAITHFUL, REFINED, Refinement

STATUSES = (AGREED, REFINED, NOT_FAITHFUL)
CLASSES = ("decided", "all")
CONTRIBUTIONS = ("shapley", "pullback")


@dataclass(frozen=True)
class Form:
    """How explanations are laid out.

    Parameters
    ----------
    kind
        `attributions`, `rules` or `counterfactuals`.
    classes
        With more than two classes, contributions to the `decided` class, or to `all`.
    float32
        Contributions in single precision.
    standard_errors
        A column more for each contribution, its standard error.
    """

    kind: str = "attributions"
    classes: str = "decided"
    float32: bool = False
    standard_errors: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, found {self.kind!r}")
        if self.classes not in CLASSES:
            raise ValueError(f"classes must be one of {list(CLASSES)}, found {self.classes!r}")

    def columns(self, explainer: Any, keep: Mapping[str, Any]) -> Columns:
        """Return the columns that explanations of an explainer have."""
        return KINDS[self.kind].columns(self, explainer, keep)

    def arrays(self, result: Any, first_row: int) -> list[Any]:
        """Return the columns' arrays of a result, in their order."""
        return KINDS[self.kind].arrays(self, result, first_row)

    def piece_rows(self, explainer: Any) -> int:
        """Return how many rows to explain at once, so that a piece stays small."""
        most = KINDS[self.kind].rows
        outputs = _outputs(explainer)
        return int(np.clip(2**22 // (len(explainer.schema_) * len(outputs)), 1, most))


@dataclass(frozen=True)
class Kind:
    """The parts of a kind, and how many rows go into a piece."""

    columns: Callable[[Form, Any, Mapping[str, Any]], Columns]
    arrays: Callable[[Form, Any, int], list[Any]]
    rows: int


def _outputs(explainer: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = explainer.class_names_
    return names[1:] if len(names) == 2 else names


def _attribution_columns(form: Form, explainer: Any, keep: Mapping[str, Any]) -> Columns:
    classes, outputs = tuple(explainer.class_names_), _outputs(explainer)
    number = "float" if form.float32 else "double"
    about = [
        Column("stand_in", "bool"),
        Column("decision", "string", classes),
        Column("probability", "double"),
        Column("surrogate_probability", "double"),
        Column("agreed", "bool"),
        Column("status", "string", STATUSES),
        Column("outside", "bool"),
        Column("trust_agreement", "double"),
        Column("trust_error", "double"),
        Column("kind", "string", CONTRIBUTIONS),
    ]
    ends = [""]
    if form.classes == "all" and len(outputs) > 1:
        ends = [f"[{name}]" for name in outputs]
    else:
        about.append(Column("output", "string", outputs))
    about += [Column(f"{name}{end}", number) for name in ("base_value", "offset") for end in ends]
    names = explainer.schema_.names
    if form.standard_errors:
        about += [Column(f"{name} (standard error){end}", number) for name in names for end in ends]
    return Columns.of(about, [Column(f"{name}{end}", number) for name in names for end in ends], keep)


def _attribution_arrays(form: Form, result: Any, first_row: int) -> list[Any]:
    n, decisions = len(result), result.decisions
    rows = np.arange(n)
    found = [
        np.full(n, result.stand_in),
        decisions,
        result.probabilities[rows, decisions],
        result.surrogate_probabilities[rows, decisions],
        result.agreed,
        _status(result.refinement),
        result.outside,
        result.trust.agreement,
        result.trust.error,
        np.full(n, CONTRIBUTIONS.index(result.kind), dtype=np.int32),
    ]
    several = result.values.ndim == 3
    every = form.classes == "all" and several
    if not every:
        found.append(decisions if several else np.zeros(n, dtype=np.int32))
    errors = (result.standard_errors,) if form.standard_errors else ()
    for array in (result.base_values, result.offset, *errors, result.values):
        taken = array if every else decided_class(result, array)
        found += _by_column(taken.reshape(n, -1), np.float32 if form.float32 else np.float64)
    return found


def _by_column(array: Any, dtype: Any) -> list[Any]:
    """Return the columns of (n, m), each in one stretch of memory; one copy for all."""
    return list(np.ascontiguousarray(array.T, dtype=dtype))


def _status(refinement: Refinement) -> Any:
    return np.where(refinement.agreed, 0, np.where(refinement.refined, 1, 2))


def _rule_columns(form: Form, explainer: Any, keep: Mapping[str, Any]) -> Columns:
    about = [
        Column("stand_in", "bool"),
        Column("decision", "string", tuple(explainer.class_names_)),
        Column("probability", "double"),
        Column("rule", "string"),
        Column("n_conditions", "int32"),
        Column("precision", "double"),
        Column("precision_low", "double"),
        Column("precision_high", "double"),
        Column("coverage", "double"),
        Column("n_covered", "int32"),
        Column("polished", "bool"),
        Column("status", "string", STATUSES),
        Column("outside", "bool"),
        Column("conditions", "string"),
    ]
    return Columns.of(about, (), keep)


def _rule_arrays(form: Form, result: Any, first_row: int) -> list[Any]:
    n = len(result)
    low, high = result.precision_interval
    conditions = [result.bounds.conditions(i) for i in range(n)]
    return [
        np.full(n, result.stand_in),
        result.decisions,
        result.probabilities[np.arange(n), result.decisions],
        [" and ".join(map(str, each)) for each in conditions],
        result.n_conditions.astype(np.int32),
        result.precision,
        low,
        high,
        result.coverage,
        result.n_covered.astype(np.int32),
        result.polished,
        _status(result.refinement),
        result.outside,
        [_json([condition.to_dict() for condition in each]) for each in conditions],
    ]


def _counterfactual_columns(form: Form, explainer: Any, keep: Mapping[str, Any]) -> Columns:
    about = [
        Column("row", "int64"),
        Column("example", "int32"),
        Column("reason", "string"),
        Column("decision", "string", tuple(explainer.class_names_)),
        Column("probability", "double"),
        Column("n_changes", "int32"),
        Column("distance", "double"),
        Column("plausibility", "double"),
        Column("changes", "string"),
    ]
    kinds = {True: "double", False: "string"}
    features = [Column(feature.name, kinds[feature.numeric]) for feature in explainer.schema_.features]
    return Columns.of(about, features, keep)


def example_rows(result: Any) -> tuple[Any, Any]:
    """Return whose line each line of counterfactuals is, and its example, -1 where the row has none."""
    none = np.flatnonzero(~result.found)
    row = np.append(result.row, none)
    example = np.append(np.arange(len(result.row)), np.full(len(none), -1))
    order = np.argsort(row, kind="stable")
    return row[order], example[order]


def _counterfactual_arrays(form: Form, result: Any, first_row: int) -> list[Any]:
    row, example = example_rows(result)
    has = example >= 0
    number = np.where(has, example - np.searchsorted(result.row, row), -1)
    P = result.example_probabilities
    of_row = result.probabilities[row]
    answers = np.where(has[:, None], P[example] if len(P) else of_row, of_row)
    found = [
        row + first_row,
        number.astype(np.int32),
        [str(reason) for reason in result.reasons[row]],
        answers.argmax(1),
        answers.max(1, initial=0.0),
        _taken(result.n_changes, example, 0).astype(np.int32),
        _taken(result.distance, example, np.nan),
        _taken(result.plausibility, example, np.nan),
        [_json(result.example(e).to_dict()["changes"]) if e >= 0 else "[]" for e in example.tolist()],
    ]
    for j, feature in enumerate(result.rules.bounds.features):
        changed = has & _taken(result.changed[:, j], example, False).astype(bool)
        found.append(_changed(result.after[:, j], example, changed, feature.numeric))
    return found


def _taken(array: Any, index: Any, otherwise: Any) -> Any:
    if not len(array):
        return np.full(len(index), otherwise)
    return np.where(index >= 0, array[index], otherwise)


def _changed(after: Any, example: Any, changed: Any, numeric: bool) -> list[Any]:
    """Return new values, and None where nothing changes: numbers, or texts of categories."""
    as_shown: Callable[[Any], Any] = float if numeric else format_value
    return [as_shown(after[e]) if new else None for e, new in zip(example, changed, strict=True)]


def _json(value: Sequence[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    simple = plain_value(value)
    return simple if isinstance(simple, (bool, int, float, str, type(None))) else str(simple)


KINDS = {
    "attributions": Kind(_attribution_columns, _attribution_arrays, 65_536),
    "rules": Kind(_rule_columns, _rule_arrays, 2_048),
    "counterfactuals": Kind(_counterfactual_columns, _counterfactual_arrays, 256),
}
