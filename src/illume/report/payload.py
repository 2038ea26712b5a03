"""The data behind a page's charts and tables, as plain values for JSON.

Numbers are packed: little-endian bytes in base64, which a browser reads back at once.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.data.schema import Feature, Schema
from illume.report.answers import answers_of
from illume.report.collect import Explained
from illume.report.sentences import low_trust
from illume.report.words import percent
from illume.results.counterfactuals import Counterfactuals, Example
from illume.results.dictionary import DataDictionary
from illume.results.levels import EXACT, FAIR, HIGH, LOW, UNKNOWN
from illume.results.rules import Rules
from illume.results.text import owner, plain_value

LEVELS = (EXACT, HIGH, FAIR, LOW, UNKNOWN)
EXACT_IN_SINGLE = 2**24
MOST_IN_SINGLE = 1_000_000  # contributions; if there are more, they are rounded to two bytes each

Json = dict[str, Any]


def payload(explained: Explained, schema: Schema, has_model: bool, labels: Any = None) -> Json:
    """Return all data of a page; numbers that JSON does not know are None. `labels` are true answers."""
    rules, counterfactuals = explained.rules, explained.counterfactuals
    own = {"has_model": has_model, "truth": None if labels is None else _truth(explained, labels)}
    parts = {
        "rows": row_data(explained, schema) | own,
        "rules": None if rules is None else rule_data(rules),
        "counterfactuals": None
        if counterfactuals is None
        else counterfactual_data(counterfactuals, explained.searched.tolist(), explained.wish),
    }
    return dict(plain_value(parts))


def _truth(explained: Explained, labels: Any) -> Json:
    """Return true classes as positions, or true numbers of the first output."""
    outputs, mine = explained.attributions.outputs, labels[explained.positions]
    return pack_codes(mine, len(outputs)) if outputs.decides else pack_numbers(mine[:, 0])


def pack(array: Any, dtype: str, unit: float = 1.0) -> Json:
    """Pack numbers as they are; the browser multiplies them by `unit`.

    >>> pack([1, 2, 255], "u1")
    {'type': 'u1', 'text': 'AQL/', 'unit': 1.0}
    """
    numbers = np.ascontiguousarray(array, dtype=np.dtype(f"<{dtype}"))
    return {"type": dtype, "text": base64.b64encode(numbers.tobytes()).decode("ascii"), "unit": unit}


def pack_rounded(array: Any) -> Json:
    """Pack numbers in two bytes each, rounded to a 32,767th of the largest."""
    numbers = np.asarray(array, dtype=np.float64)
    unit = float(np.abs(numbers).max(initial=0.0)) / 32767 or 1.0
    return pack(np.round(numbers / unit), "i2", unit)


def pack_numbers(array: Any) -> Json:
    """Pack numbers in the smallest type that keeps integers exact and others to 7 digits.

    >>> [pack_numbers(numbers)["type"] for numbers in ([1, 100], [1, 300], [1, np.nan], [2**24 + 1, 0.5])]
    ['i1', 'i2', 'f4', 'f8']
    """
    numbers = np.asarray(array, dtype=np.float64)
    largest = float(np.abs(numbers).max(initial=0.0, where=np.isfinite(numbers)))
    if largest < 2**31 and np.isfinite(numbers).all() and (numbers == np.round(numbers)).all():
        return pack(numbers, np.min_scalar_type(-1 - int(largest)).str[1:])
    return pack(numbers, "f4" if largest < EXACT_IN_SINGLE else "f8")


def pack_codes(codes: Any, n_codes: int) -> Json:
    """Pack positions in a list of `n_codes` items.

    >>> pack_codes([0, 299], 300)["type"]
    'u2'
    """
    return pack(codes, np.min_scalar_type(max(n_codes - 1, 0)).str[1:])


def row_data(explained: Explained, schema: Schema) -> Json:
    """Return decisions, contributions, trust and place on the map of all rows, packed by column.

    `labels` is None if rows are named by their position. What only few rows have (`offset`, `refined`,
    `imputed`, `outside`) is keyed by the row's position.
    """
    found = explained.attributions
    trust, kind = found.trust, answers_of(found.outputs)
    answers = kind.row_data(found)
    measured = bool(np.isfinite(trust.contribution_error).all()) and not (trust.contribution_error == 0).all()
    offset, plane = found.offset.reshape(len(found), -1), contribution_plane(found.values)
    exact = bool(len(found)) and bool((trust.contribution_error == 0).all())
    return {
        "n": len(found),
        "classes": answers["classes"],
        "numbers": answers["numbers"],
        "positive": answers.get("positive"),
        "opens": explained.opens,
        "threshold": answers.get("threshold"),
        "threshold_class": answers.get("threshold_class"),
        "edge": answers.get("edge"),
        "towards": None if answers.get("towards") is None else pack(answers["towards"], "f4"),
        "meanings": kind.meanings(),
        "noun": kind.noun,
        "map_note": plane.note,
        "outputs": found.output_names,
        "labels": _labels(explained),
        "columns": [
            _column(feature, found.data[:, j], found.dictionary) for j, feature in enumerate(schema.features)
        ],
        "decision": pack_codes(answers["decision"], len(answers["classes"])),
        "probability": pack(answers["probability"], "f4"),
        "low": pack(low_trust(found), "u1"),
        "levels": LEVELS,
        "level": pack([LEVELS.index(word) for word in trust.level], "u1"),
        "exact": exact,
        "scale_name": found.outputs.scale_name,
        "base": np.ravel(found.base_values[:1]).tolist(),
        "offset": {i: offset[i].tolist() for i in _positions(offset.any(1))},
        "refinement": _refinement_notes(found),
        "imputed": {i: _positions(found.imputed[i]) for i in _positions(found.imputed.any(1))},
        "outside": {i: found.novelty.note(i) for i in _positions(found.outside)},
        "contributions": _pack_by_output(found.values, rounded=found.values.size > MOST_IN_SINGLE),
        "importance": np.atleast_2d(found.importance.T).tolist(),
        "x": pack(plane.places[:, 0], "f4"),
        "y": pack(plane.places[:, 1], "f4"),
        "kind": found.kind,
        "whose": owner(found),
        "errors": _pack_by_output(found.standard_errors, rounded=True) if measured else None,
        "contribution_error": pack(trust.contribution_error, "f4") if measured else None,
    }


class Plane(NamedTuple):
    """Places of rows on a map, (n, 2), and what the map shows."""

    places: FloatArray
    note: str


def contribution_plane(values: FloatArray) -> Plane:
    """Return the plane in which contributions (n, …) of rows differ most.

    >>> contribution_plane(np.array([[1.0, 0.0], [3.0, 0.0]])).places[:, 0].tolist()
    [-1.0, 1.0]
    """
    flat = values.reshape(len(values), -1)
    flat = flat - flat.mean(0) if len(flat) else flat
    variance, directions = np.linalg.eigh(flat.T @ flat)
    axes = directions[:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    places = np.zeros((len(flat), 2))
    places[:, : axes.shape[1]] = flat @ axes
    share = float(variance[::-1][:2].sum() / variance.sum()) if variance.sum() > 0 else 1.0
    note = (
        "Rows close to each other have alike reasons: the two axes are the directions in which contributions "
        f"differ most, and show {percent(min(share, 1.0))} of the differences."
    )
    return Plane(places, note)


def _refinement_notes(found: Any) -> dict[int, str]:
    """Return how explanations of the surrogate were made to agree; nothing for Shapley values."""
    if found.kind == "shapley":
        return {}
    notes = ((i, found.refinement.note(i)) for i in range(len(found)))
    return {i: f"{note[:1].upper()}{note[1:]}." for i, note in notes if note}


def _positions(mask: Any) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _labels(explained: Explained) -> list[str] | None:
    index = explained.attributions.origin.index
    labels = [str(label) for label in (explained.positions if index is None else index)]
    return None if labels == [str(i) for i in range(len(labels))] else labels


def _column(feature: Feature, values: np.ndarray[Any, Any], dictionary: DataDictionary) -> Json:
    """Return the values of a feature: numbers, or positions among the categories that occur.

    Categories are in the order of the schema; values that it does not know come last.
    """
    name = feature.name
    named = {"name": dictionary.label(name), "unit": dictionary.unit(name), "column": name}
    if feature.numeric:
        return {**named, "values": pack_numbers(values), "categories": None}
    place = {dictionary.category(name, text): i for i, text in enumerate(feature.labels)}
    shown = {
        dictionary.show(name, value): place.get(dictionary.category(name, value), len(place))
        for value in values
    }
    categories = sorted(shown, key=lambda text: (shown[text], text))
    position = {text: i for i, text in enumerate(categories)}
    codes = [position[dictionary.show(name, value)] for value in values]
    return {**named, "values": pack_codes(codes, len(categories)), "categories": categories}


def _pack_by_output(values: Any, *, rounded: bool) -> list[list[Json]]:
    """Pack (n, m) or (n, m, c) numbers by output and feature."""
    by_output = values[None] if values.ndim == 2 else np.moveaxis(values, -1, 0)
    return [[pack_rounded(one) if rounded else pack(one, "f4") for one in rows.T] for rows in by_output]


def rule_data(rules: Rules) -> Json:
    """Return the distinct rules, with figures measured on held-out rows, and which of them each row has."""
    bounds, conditioned = rules.bounds, rules.bounds.has_condition
    figures = np.column_stack([rules.precision, *rules.precision_interval, rules.coverage]).round(6).tolist()
    counts = list(zip(conclusions(rules), rules.n_covered.tolist(), rules.n_correct.tolist(), strict=True))
    distinct: dict[tuple[Any, ...], int] = {}
    of_row = []
    for i, (precision, *others) in enumerate(figures):
        conditions = tuple(str(bounds.condition(i, j)) for j in _positions(conditioned[i]))
        rule = (conditions, *counts[i], precision if rules.n_covered[i] else None, *others)
        of_row.append(distinct.setdefault(rule, len(distinct)))
    names = ("conditions", "decision", "covered", "correct", "precision", "low", "high", "coverage")
    return {
        "rules": [dict(zip(names, rule, strict=True)) for rule in distinct],
        "of_row": pack_codes(of_row, len(distinct)),
        "n_rows": rules.n_rows,
        "wanted": rules.wanted,
        "intervals": rules.interval is not None,
    }


def conclusions(rules: Rules) -> list[str]:
    """Return what each rule ends in: a class, or an interval."""
    if rules.interval is None:
        return [rules.question.names[c] for c in rules.decisions]
    show = rules.outputs.format_bound
    return [f"{show(low)} to {show(high)}" for low, high in rules.interval]


def counterfactual_data(found: Counterfactuals, rows: list[int], wish: str) -> Json:
    """Return the examples of the rows that were searched, by their positions, or why there are none."""
    examples: dict[int, list[Json]] = {row: [] for row in rows}
    for e, i in enumerate(found.row):
        examples[rows[i]].append(_example_data(found.example(e)))
    reasons = {row: str(reason) for row, reason in zip(rows, found.reasons, strict=True) if reason}
    distance = round(found.typical_distance, 6)
    words = {"wish": wish, "limits": "; ".join(found.constraints)}
    return {"examples": examples, "reasons": reasons, "typical_distance": distance, **words}


def _example_data(example: Example) -> Json:
    changes = [[one.label, *one.texts] for one in example.changes]
    figures = {name: round(getattr(example, name), 6) for name in ("distance", "plausibility")}
    given = {name: example.columns.get(name) for name in ("decision", "probability")}
    return {"changes": changes, "answer": example.answer} | given | figures
