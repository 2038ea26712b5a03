"""Flips that the model confirmed, and what a search for others may change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.fitted import Fitted
from illume.report.answers import answers_of
from illume.report.collect import Explained
from illume.report.explorer_values import categories_in_page, page_values
from illume.report.payload import Json


def flip_data(fitted: Fitted, explained: Explained) -> dict[int, list[Json]]:
    """Return the flips that the model confirmed, as changes and answers, by the positions of rows.

    Rows that were not searched are left out.
    """
    found, searched = explained.counterfactuals, explained.searched.tolist()
    if found is None:
        return {}
    rows: dict[int, list[Json]] = {i: [] for i in searched}
    after = page_values(fitted.schema, found.after)
    for example, i in enumerate(found.row):
        changes = [[j, after[example][j]] for j in np.flatnonzero(found.changed[example]).tolist()]
        answers = found.example_predictions[example].tolist()
        rows[searched[i]].append({"changes": changes, "answers": answers})
    return rows


def search_request(fitted: Fitted, n: int, options: Mapping[str, Any]) -> CounterfactualRequest:
    """Return what a search for flips starts with, checked as far as can be without the model."""
    request = answers_of(fitted.outputs).requests(n, options, "explorer")[1].with_columns(fitted)
    request.require_known(fitted)
    return request


def search_data(fitted: Fitted, request: CounterfactualRequest) -> Json:
    """Return the locks, limits and wishes that a search in the page starts with."""
    schema = fitted.schema
    ranges: Json = {}
    for name, wish in (request.permitted_range or {}).items():
        j, feature = schema.names.index(name), schema[name]
        ranges[str(j)] = [*map(_end, wish)] if feature.numeric else categories_in_page(feature, wish)
    directions: Json = {}
    for j, way in request.direction_ranks(schema).items():
        if isinstance(way, float):
            directions[str(j)] = way
            continue
        feature, ranked = schema.features[j], np.argsort(way)[: np.isfinite(way).sum()]
        directions[str(j)] = categories_in_page(feature, [feature.categories[at] for at in ranked])
    return {
        "locked": np.flatnonzero(~request.free_features(schema)).tolist(),
        "directions": directions,
        "ranges": ranges,
        "maxChanges": request.max_changes,
        "wish": _wish(fitted, request),
    }


def _wish(fitted: Fitted, request: CounterfactualRequest) -> Json:
    outputs, given = fitted.outputs, request.desired_range
    if outputs.decides:
        wanted = str(request.desired_class)
        found = outputs.names.index(wanted) if wanted in outputs.names else None
        return {"class": found, "least": request.min_probability}
    return {
        "range": None if given is None else [*map(_end, given)],
        "change": request.desired_change,
        "threshold": request.threshold,
        "output": request.goal(outputs, np.empty((0, len(outputs)))).question.output,
    }


def _end(number: Any) -> float | None:
    """Return the end of a range; None if it is open."""
    return None if number is None or math.isinf(number) else float(number)
