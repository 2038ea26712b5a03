"""What columns and their values are called in texts, plots and reports: labels and units."""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from illume.data.answers import is_missing
from illume.data.schema import MISSING, Feature, Schema, describe_unknown
from illume.errors import SchemaError
from illume.results.text import format_bound, format_value

FIELDS = ("label", "unit", "values")
CSV_COLUMNS = ("column", "label", "unit", "value", "value_label")
LAYOUT = f"a data dictionary in CSV has the columns {', '.join(CSV_COLUMNS)}"

ODD = re.compile(r"[<>=≤≥≠→⇒±,;:{}“”]|\band\b")  # in a category: what joins and compares in conditions

NUMBER = (int, float, np.number)

Given = Mapping[str, Any] | str | PathLike[str] | None


@dataclass(frozen=True)
class ColumnLabels:
    """What one column is called: label, unit, and labels of its values by their text; empty where not given.

    All are printable and in one line.
    """

    label: str = ""
    unit: str = ""
    values: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what would break a line, or a terminal."""
        for text in (self.label, self.unit, *self.values.values()):
            if not text.isprintable():
                raise ValueError(f"a label must be printable and in one line, found {text!r}")


@dataclass(frozen=True)
class DataDictionary:
    """Labels by column; a column without one is called by its name.

    >>> income = ColumnLabels("Income", "EUR")
    >>> known = DataDictionary({"inc": income, "sex": ColumnLabels(values={"2": "female"})})
    >>> known.label("inc"), known.title("inc"), known.bound("inc", 31400.0), known.show("sex", 2)
    ('Income', 'Income [EUR]', '31400 EUR', 'female')
    """

    columns: dict[str, ColumnLabels] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Given, schema: Schema) -> DataDictionary:
        """Return the labels that a user gave, a mapping or a file, checked against the features.

        A file may describe more than the features: other columns and values are left out. Labels that two
        columns, or two values of a column, have in common get the name in brackets.
        """
        found = {str(name): entry for name, entry in parse_labels(given).items()}
        in_file = isinstance(given, (str, PathLike))
        for name in found if not in_file or not set(schema.names) & set(found) else ():
            if name not in schema.names:
                raise SchemaError(f"labels names {describe_unknown(name, schema.names)}")
        entries = {
            name: _parse_entry(entry, schema[name], in_file)
            for name, entry in found.items()
            if name in schema.names
        }
        names = {name: entries[name].label if name in entries else "" for name in schema.names}
        labels = _distinct(names, "columns")
        return cls(
            {
                name: ColumnLabels(labels[name] if entry.label else "", entry.unit, entry.values)
                for name, entry in entries.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the same as `labels` takes it."""
        return {name: dict(asdict(entry)) for name, entry in self.columns.items()}

    def column(self, name: Any) -> Any:
        """Return the column that has this label, or what is given if no column has."""
        return next((column for column in self.columns if self.label(column) == name), name)

    def label(self, name: str) -> str:
        """Return what a column is called."""
        return self._entry(name).label or name

    def unit(self, name: str) -> str:
        """Return the unit of a column; empty where it has none."""
        return self._entry(name).unit

    def title(self, name: str) -> str:
        """Return what a column is called, with its unit in brackets: for an axis, or above a column."""
        unit = self.unit(name)
        return f"{self.label(name)} [{unit}]" if unit else self.label(name)

    def category(self, name: str, value: Any) -> str:
        """Return what a category, itself or as text, is called."""
        text = value_text(value)
        return self._entry(name).values.get(text, text)

    def quoted(self, name: str, value: Any) -> str:
        """Return a category as `category` does, in quotation marks where it could be read as something else.

        >>> [NO_LABELS.quoted("account", value) for value in ("no account", "< 0 DM", "a, b", None)]
        ['no account', '“< 0 DM”', '“a, b”', '(missing)']
        """
        return quote_odd(self.category(name, value))

    def show(self, name: str, value: Any) -> str:
        """Return a value of a row as text: its label, or the number with its unit."""
        text = self._entry(name).values.get(value_text(value), format_value(value))
        return self._with_unit(name, text) if isinstance(value, NUMBER) and not is_missing(value) else text

    def bound(self, name: str, number: float) -> str:
        """Return a bound of a number as text, with its unit."""
        return self._with_unit(name, format_bound(number))

    def exact(self, name: str, value: Any) -> str:
        """Return a value as `show` does, but numbers with all the digits that tell them apart."""
        exact = isinstance(value, float) and math.isfinite(value) and not self._entry(name).values
        return self.bound(name, value) if exact else self.show(name, value)

    def input(self, name: str, text: str) -> str:
        """Return what an input of a column is called, given its name: the column, or `column = value`."""
        value = text.removeprefix(f"{name} = ")
        return self.label(name) if text == name else f"{self.label(name)} = {self.quoted(name, value)}"

    def _entry(self, name: str) -> ColumnLabels:
        return self.columns.get(name, UNLABELLED)

    def _with_unit(self, name: str, text: str) -> str:
        return f"{text} {self.unit(name)}".rstrip()


UNLABELLED = ColumnLabels()
NO_LABELS = DataDictionary()


def parse_labels(given: Given) -> Mapping[str, Any]:
    """Return labels by column from a mapping, or from a CSV or JSON file."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, (str, PathLike)):
        raise TypeError(
            f"labels must be a mapping from columns to labels, or the path of a CSV or JSON file, found "
            f"{type(given).__name__}"
        )
    path = Path(given)
    readers = {".csv": _read_csv, ".json": _read_json}
    if path.suffix.lower() not in readers:
        raise ValueError(f"a file of labels must end in .csv or .json, found {path.name!r}")
    try:
        return readers[path.suffix.lower()](path.read_text(encoding="utf-8-sig"))
    except (ValueError, csv.Error) as error:  # among these: text that is not UTF-8, or no JSON
        raise ValueError(f"{path.name}: {error}") from error


def _read_json(content: str) -> Mapping[str, Any]:
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError(f"expected an object with an entry for each column, found {type(found).__name__}")
    return found


def _read_csv(content: str) -> Mapping[str, Any]:
    """Return the labels of a table: a line for a column, and one for each of its values."""
    first = content.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(content), delimiter=";" if ";" in first else ",", strict=True)
    unknown = [name for name in reader.fieldnames or () if name not in CSV_COLUMNS]
    if unknown or "column" not in (reader.fieldnames or ()):
        raise ValueError(f"{LAYOUT}; found {', '.join(reader.fieldnames or ()) or 'nothing'}")
    found: dict[str, dict[str, Any]] = {}
    for cells in reader:
        if None in cells:
            raise ValueError(f"line {reader.line_num} has more cells than the first line has columns")
        line = {name: (cell or "").strip() for name, cell in cells.items()}
        entry = found.setdefault(line["column"], {"label": "", "unit": "", "values": {}})
        for name in ("label", "unit"):
            text = line.get(name, "")
            if text and entry[name] not in ("", text):
                raise ValueError(
                    f"line {reader.line_num} has the {name} {text!r} for {line['column']!r}, which has "
                    f"{entry[name]!r} above; leave it empty, or write the same"
                )
            entry[name] = entry[name] or text
        if line.get("value"):
            entry["values"][line["value"]] = line.get("value_label", "")
    return found


def _parse_entry(given: Any, feature: Feature, in_file: bool) -> ColumnLabels:
    where = f"labels[{feature.name!r}]"
    entry = {"label": given} if isinstance(given, str) else given
    if not isinstance(entry, Mapping) or set(entry) - set(FIELDS):
        raise ValueError(
            f"{where} must be a text, or a mapping with some of {', '.join(FIELDS)}, found {given!r}"
        )
    label, unit = (_clean(entry.get(name) or "", f"{where}[{name!r}]") for name in FIELDS[:2])
    values = entry.get("values") or {}
    if not isinstance(values, Mapping):
        raise ValueError(f"{where}['values'] must be a mapping from values to texts, found {values!r}")
    if in_file:
        values = {value: text for value, text in values.items() if value_text(value) in feature.labels}
    if values and feature.numeric:
        raise SchemaError(
            f"{where} has labels of values, but the column is a number; if its numbers are codes, fit with "
            f"categorical=[{feature.name!r}]"
        )
    given_texts = {_known_text(value, feature): text for value, text in values.items()}
    texts = {name: _clean(text, f"{where}['values']") for name, text in given_texts.items()}
    labels = _distinct({name: texts.get(name, "") for name in feature.labels}, f"values of {feature.name!r}")
    return ColumnLabels(label, unit, {name: labels[name] for name in feature.labels if texts.get(name)})


def _known_text(value: Any, feature: Feature) -> str:
    """Return the text of a category; files have codes as text."""
    text = value_text(value)
    if text not in feature.labels:
        close = difflib.get_close_matches(text, feature.labels, n=1, cutoff=0.5)
        known = f"{', '.join(feature.labels[:8])}{', …' if len(feature.labels) > 8 else ''}"
        hint = f"the nearest is {close[0]!r}" if close else f"the values are {known}"
        raise SchemaError(
            f"labels has the value {text!r} of {feature.name!r}, which no fitted row has; {hint}"
        )
    return text


def quote_odd(text: str) -> str:
    """Return the text of a category in quotation marks where it holds signs that conditions are made of."""
    return f"“{text}”" if not text.strip() or text != text.strip() or ODD.search(text) else text


def value_text(value: Any) -> str:
    """Return a value as the text of its category; whole floats are codes that a gap turned into floats."""
    if is_missing(value):
        return MISSING
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _clean(text: Any, where: str) -> str:
    """Return text in one line, without characters that cannot be printed."""
    if not isinstance(text, str):
        raise ValueError(f"{where} must be a text, found {text!r}")
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _distinct(labels: Mapping[str, str], what: str) -> dict[str, str]:
    """Return a label for every name; where several share one, the name follows in brackets."""
    counts = Counter(label or name for name, label in labels.items())
    shared = {label for label, n in counts.items() if n > 1}
    found = {
        name: f"{label} ({_clean(name, what)})" if label in shared and label != name else label or name
        for name, label in labels.items()
    }
    same = [label for label, n in Counter(found.values()).items() if n > 1]
    if same:
        raise ValueError(f"labels calls two {what} {same[0]!r}; give each a label of its own")
    return found
