"""What the parts of a result may be: lengths that fit, numbers within their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.errors import FormatError
from illume.results.attributions import Attributions

AXES = ("rows", "examples", "shared")
# The least and the largest value of arrays, by the path of the field; NaN is what was not measured
SHARE, SIZE = (0.0, 1.0), (0.0, np.inf)
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("trust.share", "refinement.gamma_w", "refinement.gamma_x"), SHARE),
    **dict.fromkeys(("trust.contribution_error", "standard_errors"), SIZE),
    **dict.fromkeys(("distance", "plausibility", "n_covered", "n_correct"), SIZE),
    **dict.fromkeys(("refinement.neighbour", "oblique.latent"), (-1.0, np.inf)),
}
MAY_BE_INFINITE = ("low", "high", "interval", "data", "before", "after")  # open sides, and values of users

Array = np.ndarray[Any, Any]


def require_ranges(arrays: dict[str, dict[str, Array]]) -> None:
    """Raise `FormatError` if a number is one that its array never holds."""
    for path, array in ((path, each) for axis in AXES[:2] for path, each in arrays[axis].items()):
        own, last = path.removeprefix("rules."), path.rsplit(".", 1)[-1]
        if array.dtype.kind not in "iuf":
            continue
        if last not in MAY_BE_INFINITE and np.isinf(array).any():
            raise FormatError(f"{path} holds infinity, which it never does")
        low, high = RANGES.get(own, (-np.inf, np.inf))
        wrong = array[(array < low) | (array > high)]
        if len(wrong):
            expected = f"{low:g} to {high:g}" if np.isfinite(high) else f"{low:g} or more"
            raise FormatError(f"{path} holds {wrong[0]:g}, expected {expected}")


def require_shapes(result: Any, lengths: list[tuple[str, str, int]]) -> None:
    """Raise `FormatError` if the parts of a result do not fit; `lengths` has axis, path and length."""
    n, row = len(result), getattr(result, "row", np.empty(0, dtype=np.intp))
    for axis, path, found in lengths:
        expected = n if axis == "rows" else len(row)
        if found != expected:
            raise FormatError(f"{path} has {found} {axis}, expected {expected}")
    if len(row) and not (row[0] >= 0 and row[-1] < n and (np.diff(row) >= 0).all()):
        raise FormatError("the rows of examples must ascend and be rows of the result")
    _require_answers(result)
    _require_counts(result)
    if isinstance(result, Attributions):
        if result.kind not in ("shapley", "pullback"):
            raise FormatError(
                f"the kind of contributions is {result.kind!r}, expected 'shapley' or 'pullback'"
            )
        if result.standard_errors.shape != result.values.shape:
            shapes = f"{result.standard_errors.shape}, expected {result.values.shape}"
            raise FormatError(f"standard_errors has the shape {shapes}")


def _require_answers(result: Any) -> None:
    question, interval = getattr(result, "question", None), getattr(result, "interval", None)
    if question is not None and not question.is_sound(len(result.outputs)):
        raise FormatError(f"the question is {question}, which {result.outputs} do not answer")
    if interval is not None and interval.shape != (len(result), 2):
        raise FormatError(f"interval has the shape {interval.shape}, expected {(len(result), 2)}")
    if result.predictions.shape != (len(result), len(result.outputs)):
        raise FormatError(f"predictions has the shape {result.predictions.shape}, outputs {result.outputs}")
    for name in ("predictions", "surrogate_predictions", "example_predictions"):
        answers = getattr(result, name, None)
        if answers is not None and not (np.isfinite(answers).all() and result.outputs.is_valid(answers)):
            raise FormatError(f"{name} holds rows that are no answers of a model")


def _require_counts(result: Any) -> None:
    """Check the figures of rules, and those of the rules of counterfactuals."""
    rules = getattr(result, "rules", result)
    for each in (result, rules):
        names = getattr(getattr(each, "question", None), "names", ())
        decisions = vars(each).get("decisions", np.empty(0))  # stored, not derived from answers
        if len(decisions) and not (decisions.min() >= 0 and decisions.max() < len(names)):
            raise FormatError(f"decisions must be from 0 to {len(names) - 1}")
    if hasattr(rules, "n_covered"):
        good = (rules.n_correct <= rules.n_covered).all() and (rules.n_covered <= rules.n_rows).all()
        if not good:
            raise FormatError("n_correct, n_covered and n_rows of rules must not fall")
