"""Columns of each kind of explanation: names, Arrow types, and their values in a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from illume.errors import import_extra
from illume.results.frames import decided_class, rename_taken
from illume.results.text import format_value, plain_value
from illume.results.trust import AGREED, NOT_FAITHFUL, REFINED, Refinement

if TYPE_CHECKING:
    from illume.explainer import Explainer

STATUSES = (AGREED, REFINED, NOT_FAITHFUL)
CLASSES = ("decided", "all")
CONTRIBUTIONS = ("shapley", "pullback")
PIECE_ROWS = {"attributions": 65_536, "rules": 2_048, "counterfactuals": 256}  # explained at once

Type = str | tuple[str, ...]  # the name of an Arrow type, or the values of a dictionary-encoded string


class Column(NamedTuple):
    """A column: its name, its type, and its values in a result."""

    name: str
    type: Type
    values: Callable[[Any], Any]


def pyarrow() -> Any:
    """Import pyarrow with its Parquet module."""
    import_extra("pyarrow.parquet", "pyarrow")
    return import_extra("pyarrow", "pyarrow")


@dataclass(frozen=True)
class OutputColumns:
    """Columns that explaining adds, and columns of the rows that are carried through before them."""

    own: Mapping[str, Type]
    kept: Mapping[str, Any]

    def schema(self) -> Any:
        """Return the Arrow schema."""
        return pyarrow().schema(
            [*self.kept.items(), *((name, _arrow_type(t)) for name, t in self.own.items())]
        )

    def table(self, kept: Sequence[Any], own: Sequence[Any]) -> Any:
        """Build the Arrow table; dictionary-encoded strings are given as positions."""
        arrays = [_arrow_array(values, t) for values, t in zip(own, self.own.values(), strict=True)]
        return pyarrow().Table.from_arrays([*kept, *arrays], schema=self.schema())

    def empty_table(self) -> Any:
        """Build a table without rows that still knows the values of its dictionary-encoded strings."""
        return self.table([pyarrow().array([], type=t) for t in self.kept.values()], [[]] * len(self.own))


def _arrow_type(t: Type) -> Any:
    pa = pyarrow()
    return getattr(pa, t)() if isinstance(t, str) else pa.dictionary(pa.int32(), pa.string())


def _arrow_array(values: Any, t: Type) -> Any:
    pa = pyarrow()
    if isinstance(t, str):
        return pa.array(values, type=_arrow_type(t))
    return pa.DictionaryArray.from_arrays(np.asarray(values, dtype=np.int32), pa.array(t, pa.string()))


@dataclass(frozen=True)
class OutputFormat:
    """How explanations are laid out in columns; `explain_partition` documents the parameters."""

    kind: str = "attributions"
    classes: str = "decided"
    float32: bool = False
    standard_errors: bool = False

    def __post_init__(self) -> None:
        if self.kind not in PIECE_ROWS:
            raise ValueError(f"kind must be one of {list(PIECE_ROWS)}, found {self.kind!r}")
        if self.classes not in CLASSES:
            raise ValueError(f"classes must be one of {list(CLASSES)}, found {self.classes!r}")

    def columns(self, explainer: Explainer, keep: Mapping[str, Any]) -> OutputColumns:
        """Return the columns; a name that a feature has gets an underscore, and so does a kept one."""
        about: dict[str, Type] = {each.name: each.type for each in COLUMNS[self.kind]}
        about["decision"] = tuple(explainer.fitted_.class_names)
        features: dict[str, Type] = {}
        if self.kind == "attributions":
            names, outputs = explainer.fitted_.schema.names, _output_names(explainer)
            if not self._every_class(len(outputs)):
                about["output"] = outputs
            errors = [f"{name} (standard error)" for name in names] if self.standard_errors else []
            about |= self._numbers(["base_value", "offset", *errors], outputs)
            features = self._numbers(names, outputs)
        elif self.kind == "counterfactuals":
            features = {
                f.name: "float64" if f.numeric else "string" for f in explainer.fitted_.schema.features
            }
        own = rename_taken(about, features) | features
        return OutputColumns(own, rename_taken(keep, own))

    def values(self, result: Any, first_row: int) -> list[Any]:
        """Return the values of the columns in a result, in their order."""
        lines = ExampleLines(result, first_row) if self.kind == "counterfactuals" else result
        values = [each.values(lines) for each in COLUMNS[self.kind]]
        if self.kind == "counterfactuals":
            values += lines.new_values()
        if self.kind != "attributions":
            return values
        n, n_outputs = len(result), len(result.output_names)
        every = self._every_class(n_outputs)
        if not every:
            values.append(result.decisions if n_outputs > 1 else np.zeros(n))
        errors = (result.standard_errors,) if self.standard_errors else ()
        for array in (result.base_values, result.offset, *errors, result.values):
            flat = (array if every else decided_class(result, array)).reshape(n, -1)
            values += list(np.ascontiguousarray(flat.T, dtype=self._number()))
        return values

    def piece_rows(self, explainer: Explainer) -> int:
        """Return how many rows to explain at once, so that memory stays bounded."""
        n_values = len(explainer.fitted_.schema) * len(_output_names(explainer))
        return int(np.clip(2**22 // n_values, 1, PIECE_ROWS[self.kind]))

    def _every_class(self, n_outputs: int) -> bool:
        return self.classes == "all" and n_outputs > 1

    def _number(self) -> str:
        return "float32" if self.float32 else "float64"

    def _numbers(self, names: Sequence[str], outputs: Sequence[str]) -> dict[str, Type]:
        suffixes = [f"[{name}]" for name in outputs] if self._every_class(len(outputs)) else [""]
        return {f"{name}{suffix}": self._number() for name in names for suffix in suffixes}


def _output_names(explainer: Explainer) -> tuple[str, ...]:
    names: tuple[str, ...] = explainer.fitted_.class_names
    return names[1:] if len(names) == 2 else names


def _decided(result: Any, probabilities: Any) -> Any:
    return probabilities[np.arange(len(result)), result.decisions]


def _status(result: Any) -> Any:
    refinement: Refinement = result.refinement
    return np.where(refinement.agreed, 0, np.where(refinement.refined, 1, 2))


def _rule_texts(rules: Any) -> list[str]:
    return [" and ".join(map(str, rules.bounds.conditions(i))) for i in range(len(rules))]


def _conditions_json(rules: Any) -> list[str]:
    conditions = (rules.bounds.conditions(i) for i in range(len(rules)))
    return [_to_json([condition.to_dict() for condition in each]) for each in conditions]


class ExampleLines:
    """Lines of counterfactuals: each example of each row, or one line for a row without any.

    `row` is the row of each line, `example` its example or -1.
    """

    def __init__(self, result: Any, first_row: int = 0) -> None:
        none = np.flatnonzero(~result.found)
        row = np.append(result.row, none)
        order = np.argsort(row, kind="stable")
        self.result, self.first_row, self.row = result, first_row, row[order]
        self.example = np.append(np.arange(len(result.row)), np.full(len(none), -1))[order]
        self.exists = self.example >= 0

    def number(self) -> Any:
        """Return the number of each example among those of its row, -1 where there is none."""
        return np.where(self.exists, self.example - np.searchsorted(self.result.row, self.row), -1)

    def probabilities(self) -> Any:
        """Return the probabilities of the changed row, or of the row itself."""
        of_rows, changed = self.result.probabilities[self.row], self.result.example_probabilities
        return np.where(self.exists[:, None], changed[self.example], of_rows) if len(changed) else of_rows

    def take(self, values: Any, otherwise: Any) -> Any:
        """Return what belongs to each example, or `otherwise` where there is none."""
        if not len(values):
            return np.full(len(self.row), otherwise)
        return np.where(self.exists, values[self.example], otherwise)

    def changes_json(self) -> list[str]:
        """Return the changes of each example as JSON."""
        examples = (self.result.example(e) if e >= 0 else None for e in self.example.tolist())
        return [_to_json(each.to_dict()["changes"]) if each is not None else "[]" for each in examples]

    def new_values(self) -> list[list[Any]]:
        """Return for each feature its new values, None where it does not change."""
        columns = []
        for j, feature in enumerate(self.result.rules.bounds.features):
            convert: Any = float if feature.numeric else format_value
            changed, after = self.take(self.result.changed[:, j], False), self.result.after[:, j]
            pairs = zip(self.example, changed, strict=True)
            columns.append([convert(after[e]) if new else None for e, new in pairs])
        return columns


_STAND_IN = Column("stand_in", "bool_", lambda result: np.full(len(result), result.stand_in))
_DECISION = Column("decision", (), lambda result: result.decisions)
_PROBABILITY = Column("probability", "float64", lambda result: _decided(result, result.probabilities))
_STATUS = Column("status", STATUSES, _status)
_OUTSIDE = Column("outside", "bool_", lambda result: result.outside)

COLUMNS = {
    "attributions": (
        _STAND_IN,
        _DECISION,
        _PROBABILITY,
        Column("surrogate_probability", "float64", lambda a: _decided(a, a.surrogate_probabilities)),
        Column("agreed", "bool_", lambda a: a.agreed),
        _STATUS,
        _OUTSIDE,
        Column("trust_agreement", "float64", lambda a: a.trust.agreement),
        Column("trust_error", "float64", lambda a: a.trust.error),
        Column("trust_contribution_error", "float64", lambda a: a.trust.contribution_error),
        Column("kind", CONTRIBUTIONS, lambda a: np.full(len(a), CONTRIBUTIONS.index(a.kind))),
    ),
    "rules": (
        _STAND_IN,
        _DECISION,
        _PROBABILITY,
        Column("rule", "string", _rule_texts),
        Column("n_conditions", "int32", lambda r: r.n_conditions),
        Column("precision", "float64", lambda r: r.precision),
        Column("precision_low", "float64", lambda r: r.precision_interval[0]),
        Column("precision_high", "float64", lambda r: r.precision_interval[1]),
        Column("coverage", "float64", lambda r: r.coverage),
        Column("n_covered", "int32", lambda r: r.n_covered),
        Column("polished", "bool_", lambda r: r.polished),
        _STATUS,
        _OUTSIDE,
        Column("conditions", "string", _conditions_json),
    ),
    "counterfactuals": (
        Column("row", "int64", lambda lines: lines.row + lines.first_row),
        Column("example", "int32", ExampleLines.number),
        Column("reason", "string", lambda lines: [str(r) for r in lines.result.reasons[lines.row]]),
        Column("decision", (), lambda lines: lines.probabilities().argmax(1)),
        Column("probability", "float64", lambda lines: lines.probabilities().max(1, initial=0.0)),
        Column("n_changes", "int32", lambda lines: lines.take(lines.result.n_changes, 0)),
        Column("distance", "float64", lambda lines: lines.take(lines.result.distance, np.nan)),
        Column("plausibility", "float64", lambda lines: lines.take(lines.result.plausibility, np.nan)),
        Column("changes", "string", ExampleLines.changes_json),
    ),
}


def _to_json(value: Sequence[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=_json_value)


def _json_value(value: Any) -> Any:
    plain = plain_value(value)
    return plain if isinstance(plain, (bool, int, float, str, type(None))) else str(plain)
