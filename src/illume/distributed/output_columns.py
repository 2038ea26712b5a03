"""Columns of each kind of explanation: names, Arrow types, and their values in a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from illume.data.outputs import Outputs
from illume.errors import import_extra
from illume.results.frames import decided_class, rename_taken
from illume.results.levels import LEVELS
from illume.results.rules import question_columns
from illume.results.text import format_value, plain_value
from illume.results.trust import AGREED, NOT_FAITHFUL, REFINED

if TYPE_CHECKING:
    from illume.explainer import Explainer

STATUSES = (AGREED, REFINED, NOT_FAITHFUL)
CLASSES = ("decided", "all")
CONTRIBUTIONS = ("shapley", "pullback")
PIECE_ROWS = {"attributions": 65_536, "rules": 2_048, "counterfactuals": 256}  # explained at once

Type = str | tuple[str, ...]  # the name of an Arrow type, or the values of a dictionary-encoded string


class Columns(NamedTuple):
    """Columns of one type: their names, and a function from a result to the values of each."""

    names: Sequence[str]
    type: Type
    values: Callable[[Any], Iterable[Any]]


def pyarrow() -> Any:
    """Import pyarrow with its modules for Parquet and for computing."""
    for module in ("pyarrow.parquet", "pyarrow.compute"):
        import_extra(module, "pyarrow")
    return import_extra("pyarrow", "pyarrow")


@dataclass(frozen=True, eq=False)
class OutputFormat:
    """Turns an explainer's results into Arrow tables; `explain_partition` documents the parameters."""

    explainer: Explainer
    kind: str = "attributions"
    keep: Mapping[str, Any] = field(default_factory=dict)  # Arrow types of the kept columns
    classes: str = "decided"
    float32: bool = False
    standard_errors: bool = False
    threshold: float | None = None
    output: int | str | None = None

    def __post_init__(self) -> None:
        if self.kind not in PIECE_ROWS:
            raise ValueError(f"kind must be one of {list(PIECE_ROWS)}, found {self.kind!r}")
        if self.classes not in CLASSES:
            raise ValueError(f"classes must be one of {list(CLASSES)}, found {self.classes!r}")

    @cached_property
    def columns(self) -> list[Columns]:
        """The columns that explaining adds; a name that a feature has gets an underscore."""
        about, features = self._about(), self._features()
        taken = [name for columns in features for name in columns.names]
        renamed = iter(rename_taken({name: None for columns in about for name in columns.names}, taken))
        return [
            columns._replace(names=[next(renamed) for _ in columns.names]) for columns in about
        ] + features

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema: kept columns, then those that explaining adds."""
        own = {name: _arrow_type(columns.type) for columns in self.columns for name in columns.names}
        return pyarrow().schema({**rename_taken(self.keep, own), **own})

    def table(self, result: Any, kept: Sequence[Any], first_row: int) -> Any:
        """Build the Arrow table of a result; `kept` are columns of its rows to carry through."""
        lines = result
        if self.kind == "counterfactuals":
            lines = ExampleLines(result, first_row)
            kept = [column.take(lines.row) for column in kept]
        own = [_arrow_array(each, columns.type) for columns in self.columns for each in columns.values(lines)]
        return pyarrow().Table.from_arrays([*kept, *own], schema=self.schema)

    def empty_table(self) -> Any:
        """Build a table without rows that still knows the values of its dictionary-encoded strings."""
        kept = [pyarrow().array([], type=t) for t in self.keep.values()]
        own = [_arrow_array([], columns.type) for columns in self.columns for _ in columns.names]
        return pyarrow().Table.from_arrays([*kept, *own], schema=self.schema)

    def piece_rows(self) -> int:
        """Return how many rows to explain at once, so that memory stays bounded."""
        n_values = len(self.explainer.fitted_.schema) * len(self._outputs.explained)
        return int(np.clip(2**22 // n_values, 1, PIECE_ROWS[self.kind]))

    @property
    def _outputs(self) -> Outputs:
        return self.explainer.fitted_.outputs

    @property
    def _every_output(self) -> bool:
        outputs = self._outputs
        return len(outputs.explained) > 1 and (self.classes == "all" or not outputs.decides)

    def _about(self) -> list[Columns]:
        first, others = COLUMNS[self.kind]
        about = [*first, *self._answers(), *others]
        if self.kind != "attributions":
            return about
        outputs = self._outputs
        if not self._every_output:
            about.append(_column("output", outputs.explained, lambda a: outputs.first(a.predictions)))
        about += [self._numbers(["base_value"], "base_values"), self._numbers(["offset"], "offset")]
        if self.standard_errors:
            names = [f"{name} (standard error)" for name in self.explainer.fitted_.schema.names]
            about.append(self._numbers(names, "standard_errors"))
        return about

    def _answers(self) -> list[Columns]:
        """Return the columns of the model's answers, and those that are made of them."""
        outputs, none = self._outputs, np.empty((0, len(self._outputs)))
        words = outputs.names
        found = _answer_columns(outputs.columns(none), words, lambda r: outputs.columns(r.predictions))
        if self.kind == "rules":
            question = outputs.question(self.output, self.threshold)
            empty = question_columns(question, np.empty(0, dtype=np.intp), np.empty((0, 2)))
            found |= _answer_columns(empty, question.names, lambda rules: rules.question_columns)
        return list(found.values())

    def _features(self) -> list[Columns]:
        schema = self.explainer.fitted_.schema
        if self.kind == "attributions":
            return [self._numbers(schema.names, "values")]
        features = schema.features if self.kind == "counterfactuals" else ()
        return [
            _column(
                feature.name,
                "float64" if feature.numeric else "string",
                partial(ExampleLines.new_values, j=j, convert=float if feature.numeric else format_value),
            )
            for j, feature in enumerate(features)
        ]

    def _numbers(self, names: Sequence[str], attribute: str) -> Columns:
        """Return the columns of an array of attributions: of one output, or of every output."""
        number = "float32" if self.float32 else "float64"

        def values(result: Any) -> Any:
            array = getattr(result, attribute)
            flat = (array if self._every_output else decided_class(result, array)).reshape(len(result), -1)
            return np.ascontiguousarray(flat.T, dtype=number)

        suffixes = [f"[{name}]" for name in self._outputs.explained] if self._every_output else [""]
        return Columns([f"{name}{suffix}" for name in names for suffix in suffixes], number, values)


def _arrow_type(t: Type) -> Any:
    pa = pyarrow()
    return getattr(pa, t)() if isinstance(t, str) else pa.dictionary(pa.int32(), pa.string())


def _arrow_array(values: Any, t: Type) -> Any:
    """Return an Arrow array; dictionary-encoded strings are given as positions or as themselves."""
    pa = pyarrow()
    if isinstance(t, str):
        return pa.array(values, type=_arrow_type(t))
    known, values = pa.array(t, pa.string()), np.asarray(values)
    if values.dtype.kind in "OU":
        positions = pa.compute.index_in(pa.array(values, pa.string()), value_set=known)
        return pa.DictionaryArray.from_arrays(positions, known)
    return pa.DictionaryArray.from_arrays(values.astype(np.int32), known)


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

    def number(self) -> Any:
        """Return the number of each example among those of its row, -1 where there is none."""
        return np.where(self.example < 0, -1, self.example - np.searchsorted(self.result.row, self.row))

    @property
    def predictions(self) -> Any:
        """The model's answers to the changed rows, or to the row itself."""
        P, exists = self.result.predictions[self.row], self.example >= 0
        P[exists] = self.result.example_predictions[self.example[exists]]
        return P

    def take(self, values: Any, otherwise: Any) -> Any:
        """Return the value of each example, or `otherwise` where there is none."""
        return np.append(values, otherwise)[self.example]  # -1 takes the last one

    def changes_json(self) -> list[str]:
        """Return the changes of each example as JSON."""
        examples = (self.result.example(e) if e >= 0 else None for e in self.example.tolist())
        return [_to_json(each.to_dict()["changes"]) if each is not None else "[]" for each in examples]

    def new_values(self, j: int, convert: Callable[[Any], Any]) -> list[Any]:
        """Return the new values of feature j, None where it does not change."""
        changed, after = self.take(self.result.changed[:, j], False), self.result.after[:, j]
        return [convert(after[e]) if new else None for e, new in zip(self.example, changed, strict=True)]


def _column(name: str, t: Type, values: Callable[[Any], Any]) -> Columns:
    return Columns([name], t, lambda result: [values(result)])


def _answer_columns(
    empty: Mapping[str, Any], words: Sequence[str], read: Callable[[Any], Mapping[str, Any]]
) -> dict[str, Columns]:
    """Return the columns that `read` finds in a result; `empty` has the same without rows."""

    def column(name: str) -> Columns:
        t = tuple(words) if np.asarray(empty[name]).dtype.kind == "O" else "float64"
        return _column(name, t, lambda result: read(result)[name])

    return {name: column(name) for name in empty}


def _status(result: Any) -> Any:
    return np.where(result.refinement.agreed, 0, np.where(result.refinement.refined, 1, 2))


def _rule_texts(rules: Any) -> list[str]:
    return [" and ".join(map(str, rules.bounds.conditions(i))) for i in range(len(rules))]


def _conditions_json(rules: Any) -> list[str]:
    conditions = (rules.bounds.conditions(i) for i in range(len(rules)))
    return [_to_json([condition.to_dict() for condition in each]) for each in conditions]


_STAND_IN = _column("stand_in", "bool_", lambda result: np.full(len(result), result.stand_in))
_STATUS = _column("status", STATUSES, _status)
_OUTSIDE = _column("outside", "bool_", lambda result: result.outside)


# By kind: the columns before the model's answers, and those after.
COLUMNS = {
    "attributions": (
        (_STAND_IN,),
        (
            _OUTSIDE,
            _column("trust", LEVELS, lambda a: [LEVELS.index(level) for level in a.trust.level]),
            _column("contribution_error", "float64", lambda a: a.trust.contribution_error),
            _column("kind", CONTRIBUTIONS, lambda a: np.full(len(a), CONTRIBUTIONS.index(a.kind))),
        ),
    ),
    "rules": (
        (_STAND_IN,),
        (
            _column("rule", "string", _rule_texts),
            _column("n_conditions", "int32", lambda r: r.n_conditions),
            _column("precision", "float64", lambda r: r.precision),
            _column("precision_low", "float64", lambda r: r.precision_interval[0]),
            _column("precision_high", "float64", lambda r: r.precision_interval[1]),
            _column("coverage", "float64", lambda r: r.coverage),
            _column("n_covered", "int32", lambda r: r.n_covered),
            _column("polished", "bool_", lambda r: r.polished),
            _STATUS,
            _OUTSIDE,
            _column("conditions", "string", _conditions_json),
        ),
    ),
    "counterfactuals": (
        (
            _column("row", "int64", lambda lines: lines.row + lines.first_row),
            _column("example", "int32", ExampleLines.number),
            _column("reason", "string", lambda lines: [str(r) for r in lines.result.reasons[lines.row]]),
        ),
        (
            _column("n_changes", "int32", lambda lines: lines.take(lines.result.n_changes, 0)),
            _column("distance", "float64", lambda lines: lines.take(lines.result.distance, np.nan)),
            _column("plausibility", "float64", lambda lines: lines.take(lines.result.plausibility, np.nan)),
            _column("changes", "string", ExampleLines.changes_json),
        ),
    ),
}


def _to_json(value: Sequence[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=_json_value)


def _json_value(value: Any) -> Any:
    plain = plain_value(value)
    return plain if isinstance(plain, (bool, int, float, str, type(None))) else str(plain)
