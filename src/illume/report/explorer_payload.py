"""All that the explorer's page computes with: the twin, encoding, trust, rules and the rows shown.

The page answers as an explainer does that was loaded without its model: the twin's answers take the place of
the model's, and contributions add up to the twin's score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.class_outputs import Classes
from illume.data.encoding import LARGEST
from illume.data.frames import Frame
from illume.data.number_outputs import Numbers
from illume.data.outputs import Outputs
from illume.data.scales import LOG_ODDS
from illume.data.schema import Feature, Other
from illume.errors import LeftOutError
from illume.explanations.asked import Asked
from illume.explanations.fitted import Fitted
from illume.explanations.rule_summary import RuleSetRequest, summarize_rules
from illume.explanations.rules import RuleRequest, explain_rules
from illume.report.answers import answers_of
from illume.report.explorer_twin import place_data, twin_data
from illume.report.explorer_values import json_categories
from illume.report.payload import Json, conclusions, pack, pack_codes
from illume.results.conditions import Bounds
from illume.results.rules import Rules
from illume.results.text import plain_value

VERSION = 2
N_BARS = 32  # of a histogram


def explorer_payload(fitted: Fitted, asked: Asked, rules: Rules | None = None) -> Json:
    """Return the data of an explorer that shows rows, and their rules, where a tree was grown."""
    output = None if isinstance(fitted.outputs, Classes) else 0
    if rules is None and fitted.rules.ready:
        has_rows = len(fitted.rule_model.conditions.sample) > 0  # which rules are polished on
        rules = explain_rules(fitted, asked, RuleRequest(output=output, polish=has_rows))
    features = [_feature(fitted, j) for j in range(len(fitted.schema))]
    return {
        "version": VERSION,
        "features": features,
        "inputs": {
            "mean": pack(fitted.encoding.mean, "f8"),
            "scale": pack(fitted.encoding.scale, "f8"),
            "largest": LARGEST,
        },
        "outputs": _outputs(fitted),
        "twin": twin_data(fitted.twin) | {"error": plain_value(fitted.quality.error)},
        "places": place_data(fitted),
        "usual_square": fitted.usual_square,
        "rules": None if rules is None else _row_rules(rules),
        "rule_set": _rule_set(fitted, output) if fitted.rules.ready else None,
        "rows": _rows(fitted, asked.frame, features, asked.P if fitted.has_model else None),
    }


def _feature(fitted: Fitted, j: int) -> Json:
    """Return a feature: its names, range or categories, seen values, and the place of its inputs."""
    feature, dictionary, encoding = fitted.schema.features[j], fitted.dictionary, fitted.encoding
    inputs = np.flatnonzero(encoding.owner == j)
    shared = {
        "name": feature.name,
        "label": dictionary.label(feature.name),
        "unit": dictionary.unit(feature.name),
        "kind": "number" if feature.numeric else "category",
        "missing": bool(fitted.missing[j]) if feature.numeric else None in feature.categories,
        "start": int(inputs[0]) if len(inputs) else 0,
        "width": len(inputs),
    }
    if not feature.numeric:
        return shared | {
            "categories": json_categories(feature.categories),
            "category_labels": [dictionary.category(feature.name, value) for value in feature.categories],
            "other": feature.categories.index(Other.OTHER) if feature.open else None,
            "shares": _category_shares(fitted, j),
        }
    return shared | {
        "low": plain_value(feature.low),
        "high": plain_value(feature.high),
        "empty": math.isnan(feature.low),
        "whole": feature.whole,
        "knots": np.unique(_seen(fitted.reference().knots[j])).tolist(),
        "histogram": _histogram(fitted, feature, j),
    }


def _seen(numbers: FloatArray) -> FloatArray:
    return numbers[np.isfinite(numbers)]


def _category_shares(fitted: Fitted, j: int) -> list[float]:
    """Return the share of fitted rows with each category."""
    sizes = [0 if each.numeric else len(each.categories) for each in fitted.schema.features]
    first = sum(sizes[:j])
    return [round(float(each), 6) for each in fitted.reference().shares[first : first + sizes[j]]]


def _histogram(fitted: Fitted, feature: Feature, j: int) -> Json | None:
    """Return how many training rows have numbers in bins of equal width; None if nothing is known.

    Without rows, shares between quantiles take their place.
    """
    if feature.constant or not (math.isfinite(feature.low) and math.isfinite(feature.high)):
        return None
    low, high, n_bars = feature.low, feature.high, N_BARS
    if feature.whole and high - low < N_BARS:
        low, high, n_bars = low - 0.5, high + 0.5, int(high - low) + 1
    edges = np.linspace(low, high, n_bars + 1)
    if fitted.pool is not None:
        counts = np.histogram(_seen(fitted.pool.frame.numbers(feature.name)), edges)[0]
        return {"low": low, "high": high, "counts": counts.tolist()}
    reference = fitted.reference()
    if np.isnan(reference.knots[j]).any():
        return None
    knots = np.repeat(reference.knots[j], 2)
    shares = np.column_stack([reference.below[j], reference.at_most[j]]).ravel()
    return {"low": low, "high": high, "counts": np.diff(np.interp(edges, knots, shares)).round(6).tolist()}


def _outputs(fitted: Fitted) -> Json:
    """Return what the model answers, how answers are decided on, and the words for both."""
    outputs, words = fitted.outputs, answers_of(fitted.outputs)
    shared = {
        "task": outputs.task,
        "names": list(outputs.names),
        "explained": list(outputs.explained),
        "link": _link(outputs),
        "sign": float(outputs.turn(np.ones(1))[0]),
        "whole": float(outputs.turn_total(np.zeros(1))[0]),
        "meanings": words.meanings(),
        "scale_name": outputs.scale_name,
        "error_unit": outputs.error_unit,
        "answer_decimals": [outputs.decimals(i) for i in range(len(outputs))],
        "common_unit": outputs.common_unit.tolist(),
        "has_model": fitted.has_model,
    }
    if isinstance(outputs, Numbers):
        decimals = [3 if outputs.link == "log" else outputs.decimals(i) for i in range(len(outputs))]
        numbers = {"spread": list(outputs.spread), "decimals": decimals}
        return shared | numbers | {"positive": None, "threshold": None}
    cutoff = outputs.cutoff if isinstance(outputs, Classes) else None
    return shared | {
        "spread": None,
        "decimals": [3] * len(outputs.explained),
        "positive": getattr(outputs, "at", None) if len(outputs) == 2 else getattr(outputs, "positive", None),
        "threshold": None if cutoff is None else {"class": cutoff.positive, "value": cutoff.threshold},
    }


def _link(outputs: Outputs) -> str:
    """Return how the page makes answers of scores, as `Outputs.answers_of` does."""
    if not outputs.decides:
        return "exp" if outputs.link == "log" else "identity"
    one, several = ("logistic", "softmax") if outputs.scale_name == LOG_ODDS else ("share", "shares")
    return one if len(outputs) == 2 else several


def _rows(fitted: Fitted, frame: Frame, features: list[Json], predictions: FloatArray | None) -> Json:
    """Return the values of the rows, exactly, and the model's own answers to them."""
    values, index = fitted.row_values(frame), frame.origin.index
    decided = None
    if predictions is not None and isinstance(fitted.outputs, Classes):
        decided = pack_codes(fitted.outputs.decide(predictions), len(fitted.outputs))
    return {
        "n": len(frame),
        "labels": None if index is None else [str(label) for label in index],
        "columns": [
            pack_exact(values[:, j]) if feature.numeric else _codes(feature, values[:, j], features[j])
            for j, feature in enumerate(fitted.schema.features)
        ],
        "answers": None if predictions is None else pack(predictions, "f8"),
        "decisions": decided,
    }


def pack_exact(array: Any) -> Json:
    """Pack numbers in the smallest type that holds each exactly.

    >>> [pack_exact(numbers)["type"] for numbers in ([1, 100], [1, 0.5], [1, np.nan], [2**24 + 1, 0.1])]
    ['i1', 'f4', 'f4', 'f8']
    """
    numbers = np.asarray(array, dtype=np.float64)
    for dtype in ("i1", "i2", "i4", "f4"):
        with np.errstate(invalid="ignore", over="ignore"):
            same = numbers.astype(dtype) == numbers
        if (same | (np.isnan(numbers) & (dtype == "f4"))).all():
            return pack(numbers, dtype)
    return pack(numbers, "f8")


def _codes(feature: Feature, values: np.ndarray[Any, Any], shown: Json) -> Json:
    """Return categories by their positions; those never seen in fit follow the known ones, as text."""
    position: dict[Any, int] = {category: i for i, category in enumerate(feature.categories)}
    unseen: list[Any] = []
    for value in values:
        if value not in position:
            position[value] = len(position)
            unseen.append(value)
    codes = [position[value] for value in values]
    texts = json_categories([*shown["categories"], *unseen])[len(feature.categories) :]
    return pack_codes(codes, len(position)) | {"unseen": texts}


def _row_rules(rules: Rules) -> Json:
    """Return the distinct rules of rows, and which of them each row has."""
    distinct: dict[str, int] = {}
    listed: list[Json] = []
    of_row = []
    for rule in _list_rules(rules):
        at = distinct.setdefault(repr(rule), len(listed))
        if at == len(listed):
            listed.append(rule)
        of_row.append(at)
    return {"rules": listed, "of_row": pack_codes(of_row, len(listed)), **_rule_figures(rules)}


def _rule_set(fitted: Fitted, output: int | None) -> Json | None:
    """Return the few rules for all rows, and the answer to rows that none covers."""
    try:
        found = summarize_rules(fitted, RuleSetRequest(output=output))
    except LeftOutError:  # saved without rows
        return None
    rest = next(_list_rules(found.rest))
    return {"rules": list(_list_rules(found.rules)), "else": rest, **_rule_figures(found.rules)}


def _rule_figures(rules: Rules) -> Json:
    return {"n_rows": rules.n_rows, "wanted": rules.wanted, "intervals": rules.interval is not None}


def _list_rules(rules: Rules) -> Iterator[Json]:
    """Yield rules: their conditions, what they end in, and figures measured on held-out rows."""
    conditioned, intervals = rules.bounds.has_condition, rules.interval
    precision = np.column_stack([rules.precision, *rules.precision_interval])
    for i, decision in enumerate(conclusions(rules)):
        yield {
            "conditions": [_condition(rules.bounds, i, j) for j in np.flatnonzero(conditioned[i]).tolist()],
            "decision": decision,
            "position": None if intervals is not None else int(rules.decisions[i]),
            "interval": None if intervals is None else intervals[i].tolist(),
            "precision": precision[i].tolist() if rules.n_covered[i] else None,
            "n_covered": int(rules.n_covered[i]),
            "polished": bool(rules.polished[i]),
        }


def _condition(bounds: Bounds, i: int, j: int) -> Json:
    """Return the condition of rule i on feature j; an open side is None."""
    text = str(bounds.condition(i, j))
    if bounds.features[j].numeric:
        low, high = (plain_value(float(side[i, j])) for side in (bounds.low, bounds.high))
        known = {"low": low, "high": high, "missing": bool(bounds.missing[i, j])}
    else:
        allowed = bounds.allowed[i, bounds.first[j] : bounds.first[j + 1]]
        known = {"allowed": np.flatnonzero(allowed).tolist()}
    return {"feature": j, "text": text, **known}
