"""Results and values as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.answers import is_missing
from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.data.schema import MISSING, Other
from illume.results.display import Table
from illume.results.levels import EXACT, FAIR, HIGH, LOW, UNKNOWN

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions
    from illume.results.reasons import Line

SHOWN = 8
FELL_BACK = "fell back to the global surrogate: one linear model for all rows, as a local one was no better"
OFFSET, LEFT_OUT = "offset of the row", "left out"  # terms of a score that are no features
MOVED = "with slopes moved towards those of a similar row"
UNSURE = "?"  # behind a contribution that may have the other sign
STAND_IN = "without the model: the answers are its twin's"


def format_value(raw: Any) -> str:
    """Return a value of the user's data as short text.

    >>> [format_value(value) for value in (3.14159, 7.0, None, "high", True, 34499.2)]
    ['3.142', '7', '(missing)', 'high', 'True', '34499']
    """
    if is_missing(raw):
        return MISSING
    if isinstance(raw, (float, np.floating, int, np.integer)) and not isinstance(raw, (bool, np.bool_)):
        number = float(raw)
        if abs(number) < 1e15 and number == int(number):
            return f"{int(number)}"
        return f"{number:.{1 if abs(number) < 1e4 else 0}f}" if 1e3 <= abs(number) < 1e15 else f"{number:.4g}"
    return str(raw)


def format_bound(number: float) -> str:
    """Return a bound as text: exact where that is short, otherwise with enough digits.

    >>> [format_bound(number) for number in (100049.55000000002, 3.0, 31.4, 1 / 3, 1e6 / 7)]
    ['100049.55', '3', '31.4', '0.333333', '142857.14']
    """
    if abs(number) < 1e15 and number == int(number):
        return f"{int(number)}"
    for digits in range(3, 11):
        text = f"{number:.{digits}g}"
        if abs(float(text) - number) <= 1e-12 * abs(number):
            return text if "e+" not in text else f"{float(text):f}".rstrip("0").rstrip(".")
    return f"{number:.6g}" if abs(number) < 1e5 else f"{number:.2f}"


def plain_value(value: Any) -> Any:
    """Return what JSON knows: None if missing or infinite, Python's numbers for NumPy's, also in lists."""
    if isinstance(value, dict):
        return {name: plain_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(each) for each in value]
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    if value is Other.OTHER:
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def format_error(error: float, outputs: Outputs) -> str:
    """Return a standard error as text, empty where it is not known, or 0.

    >>> from illume.data.class_outputs import Classes
    >>> format_error(0.0512, Classes(("no", "yes"))), format_error(float("nan"), Classes(("no", "yes")))
    ('± 0.051', '')
    """
    return f"± {outputs.format_error(error)}" if math.isfinite(error) and error > 0 else ""


def format_contribution(line: Line, outputs: Outputs, i: int, width: int = 0) -> str:
    """Return the contribution of a line with its standard error, where that is known."""
    move, error = outputs.format_score(line.contribution, i), format_error(line.standard_error, outputs)
    return f"{move:>{width}} {error}".rstrip()


def owner(batch: Attributions) -> str:
    """Return whose score contributions add up to."""
    if batch.kind == "pullback":
        return "the surrogate's"
    return "the twin's" if batch.stand_in else "the model's"


def describe_attribution(row: Attribution) -> Iterator[str | Table]:
    """Describe one row: the model's answer, its score, the strongest features and notes."""
    i, batch, lines, outputs = row.output, row.batch, row.lines(SHOWN), row.batch.outputs
    score, base = float(np.ravel(row.score)[i]), float(np.ravel(row.base_value)[i])
    pullback = batch.kind == "pullback" and not batch.stand_in
    yield f"{row.headline} ({row.surrogate_text}, {row.verdict})" if pullback else row.headline
    total = f"{outputs.describe_scale(i)} = {outputs.format_total(score, i)}"
    if total != row.headline:
        yield f"{total} ({owner(batch)})"
    width = max(8, *(len(outputs.format_score(line.contribution, i)) for line in lines))
    shown = (format_contribution(line, outputs, i, width) + f" {UNSURE}" * line.unsure for line in lines)
    cells = [[line.label, line.value, text] for line, text in zip(lines, shown, strict=True)]
    numbers = [math.nan, *(line.contribution for line in lines)]
    yield Table([["base value", "", f"{outputs.format_total(base, i):>{width}}"], *cells], "<><", numbers)
    yield from outputs.scale_notes(base, i)
    yield from _row_notes(row, [line.unsure for line in lines])


def _row_notes(row: Attribution, unsure: list[bool]) -> Iterator[str]:
    """Yield notes on trust, refinement and missing values of one row."""
    batch, shapley = row.batch, row.batch.kind == "shapley"
    if batch.stand_in:
        yield STAND_IN
    if row.outside:
        yield batch.novelty.note()
    if shapley:
        yield _certainty(row) + (f"; {UNSURE} stands where it is not" if any(unsure) else "")
    elif batch.fell_back:
        yield FELL_BACK
    if not shapley and not row.agreed:
        yield batch.refinement.note()
    if row.imputed and not shapley:
        yield f"missing, filled with the mean: {', '.join(map(batch.dictionary.label, row.imputed))}"


def _typical_error(error: float, outputs: Outputs) -> str:
    unit = " standard deviations" if outputs.error_unit.startswith("standard") else ""
    return f"{outputs.format_typical_error(error)}{unit}"


def _certainty(row: Attribution) -> str:
    typical, level = float(row.trust.contribution_error), str(row.trust.level)
    values, sure = row.contributions(), row.sure()
    zero = int(((values == 0) & (row.errors() == 0)).sum())
    ignored = f"; {zero} the model ignores, exactly 0" if zero else ""
    if level == EXACT:
        return f"contributions are exact{ignored}"
    if not math.isfinite(typical):
        return "contributions: their error is not measured, because too few rows were held out"
    return (
        f"trust in the contributions: {level}; typical error {_typical_error(typical, row.batch.outputs)}; "
        f"the sign is sure (95 %) for {int(sure.sum())} of {count(len(values), 'feature')}{ignored}"
    )


def _describe_trust(batch: Attributions) -> str:
    """Return how far the contributions of a batch can be trusted, row by row."""
    levels = batch.trust.level
    counts = [(word, int((levels == word).sum())) for word in (EXACT, HIGH, FAIR, LOW, UNKNOWN)]
    found = [(word, n) for word, n in counts if n]
    if len(found) == 1:
        return "contributions are exact" if found[0][0] == EXACT else f"trust in every row: {found[0][0]}"
    return "trust, by row: " + ", ".join(f"{word} {n}" for word, n in found)


def describe_attributions(batch: Attributions) -> Iterator[str | Table]:
    """Describe a batch: errors, agreement, novelty and global importance; a single row as itself."""
    n, n_features = batch.values.shape[:2]
    if n == 1:
        yield from describe_attribution(batch[0])
        return
    outputs, strength = batch.outputs, batch.strength
    scale = f"in {outputs.describe_scales()} ({owner(batch)})"
    yield f"Attributions of {count(n, 'row')} and {count(n_features, 'feature')}, {scale}"
    if n and batch.kind == "shapley":
        typical = batch.typical_error
        known = f"; typical error {_typical_error(typical, outputs)}" if typical > 0 else ""
        yield _describe_trust(batch) + known
    if batch.stand_in:
        yield STAND_IN
    if batch.kind == "pullback":
        yield from _describe_surrogate(batch)
    if batch.outside.any():
        n_outside = int(batch.outside.sum())
        are = "is" if n_outside == 1 else "are"
        yield f"{n_outside} of {count(n, 'row')} {are} outside what the explainer was fitted on"
    yield "mean absolute contribution:"
    order = np.argsort(-strength, kind="stable")[:SHOWN]
    cells = [[batch.feature_labels[j], f"{outputs.format_typical_error(strength[j]):>7}"] for j in order]
    yield Table(cells, "<<", strength[order])
    if n_features > SHOWN:
        yield f"  … and {n_features - SHOWN} more"


def _describe_surrogate(batch: Attributions) -> Iterator[str]:
    """Yield on how many rows the surrogate, whose contributions these are, agrees with the model."""
    n, refinement = len(batch), batch.refinement
    if batch.fell_back:
        yield FELL_BACK
    if n and not batch.stand_in:
        refined = refinement.refined.any() and not refinement.exact
        yield (
            f"surrogate and model agree on {int(batch.agreed.sum())} of {count(n, 'row')}"
            + (f", on {int(refinement.faithful.sum())} {MOVED}" if refined else "")
            + ("; refinement is off, as there are no rows" if refinement.off else "")
        )
