"""Results and values as plain text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.column_values import is_missing
from illume.data.schema import MISSING, Other
from illume.results.predictions import STAND_IN

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions

SHOWN = 8
FELL_BACK = "fell back to the global surrogate: one linear model for all rows, as a local one was no better"
OFFSET, LEFT_OUT = "offset of the refinement", "left out"  # terms of a score that are no features
BAR = 20


def format_value(raw: Any) -> str:
    """Return a value of the user's data as short text.

    >>> [format_value(value) for value in (3.14159, 7.0, None, "high", True, 41234.0)]
    ['3.142', '7', '(missing)', 'high', 'True', '41234']
    """
    if is_missing(raw):
        return MISSING
    if isinstance(raw, (float, np.floating, int, np.integer)) and not isinstance(raw, (bool, np.bool_)):
        number = float(raw)
        return f"{int(number)}" if abs(number) < 1e15 and number == int(number) else f"{number:.4g}"
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


def format_error(error: float) -> str:
    """Return a standard error as text, empty where it is not known.

    >>> format_error(0.0512), format_error(float("nan"))
    ('± 0.051', '')
    """
    return f"± {error:.3f}" if math.isfinite(error) else ""


def output(names: tuple[str, ...], classes: tuple[str, ...], i: int = 0) -> str:
    """Describe the log-odds of an output.

    >>> output(("yes",), ("no", "yes"))
    "log-odds of 'yes' against 'no'"
    """
    if len(classes) == 2:
        return f"log-odds of {classes[1]!r} against {classes[0]!r}"
    return f"log-odds of {names[i]!r} against the mean of {len(classes)} classes"


def owner(batch: Attributions) -> str:
    """Return whose log-odds contributions add up to."""
    return "the surrogate's" if batch.kind == "pullback" or batch.stand_in else "the model's"


def attribution_text(row: Attribution) -> str:
    """Return one row's attribution as a small bar chart."""
    i, batch, lines = row.output, row.batch, row.lines(SHOWN)
    score, base = float(np.ravel(row.score)[i]), float(np.ravel(row.base_value)[i])
    errors = [format_error(line.standard_error) for line in lines]
    largest = max([abs(line.contribution) for line in lines] + [1e-12])
    width = max([len(line.name) for line in lines] + [len("base value")])
    value_width = max([len(line.value) for line in lines] + [0])
    error_width = max(map(len, errors), default=0)
    table = [f"  {'base value':<{width}}  {'':<{value_width}}  {base:>+8.3f}"]
    for line, error in zip(lines, errors, strict=True):
        number = f"{line.contribution:>+8.3f}{f' {error:<{error_width}}' if error_width else ''}"
        bar = _bar(abs(line.contribution) / largest)
        table.append(f"  {line.name:<{width}}  {line.value:>{value_width}}  {number}  {bar}")
    return "\n".join(
        [
            f"{row.decision!r} with probability {row.probability:.3f} "
            f"(surrogate: {row.surrogate_probability:.3f}, {row.verdict})",
            f"{output(batch.output_names, batch.class_names, i)} = {score:+.3f} ({owner(batch)})",
            *table,
            *attribution_notes(row),
        ]
    )


def attribution_notes(row: Attribution) -> list[str]:
    """Return notes on trust, refinement and missing values of one row."""
    batch, trust, shapley = row.batch, row.trust, row.batch.kind == "shapley"
    notes = [STAND_IN] if batch.stand_in else []
    if row.outside:
        notes.append(batch.novelty.note())
    if shapley:
        notes.append(_certainty(row))
    if int(trust.n_rows):
        parts = " (of slopes, rules, counterfactuals)" if shapley else ""
        notes.append(
            f"trust: on {int(trust.n_rows)} held-out rows around here the surrogate{parts} agrees on "
            f"{float(trust.agreement):.0%} and is off by {float(trust.error):.3f}"
        )
    if batch.fell_back:
        notes.append(FELL_BACK)
    if not row.agreed:
        notes.append(("slopes " if shapley else "") + batch.refinement.note())
    if row.imputed:
        purpose = " for the surrogate" if shapley else ""
        notes.append(f"missing, filled with the mean{purpose}: {', '.join(row.imputed)}")
    return notes


def _certainty(row: Attribution) -> str:
    typical = float(row.trust.contribution_error)
    if not math.isfinite(typical):
        return "trust: the error of these contributions is not known, because too few rows were held out"
    values, sure = row.contributions(), row.sure()
    zero = int(((values == 0) & (row.errors() == 0)).sum())
    ignored = f"; {zero} the model ignores, exactly 0" if zero else ""
    return (
        f"trust: contributions have a typical error of {typical:.3f}; the sign is sure (95 %) of "
        f"{int(sure.sum())} of {len(values)} features{ignored}"
    )


def attributions_text(batch: Attributions) -> str:
    """Return a summary of a batch: agreement and global importance."""
    n, n_features = batch.values.shape[:2]
    outputs, strength = batch.output_names, batch.strength
    several = f"log-odds of {len(outputs)} classes"
    named = output(outputs, batch.class_names) if len(outputs) == 1 else several
    order = np.argsort(-strength, kind="stable")[:SHOWN]
    width = max([len(batch.feature_names[j]) for j in order], default=0)
    largest = max(float(strength.max(initial=0.0)), 1e-12)
    return "\n".join(
        [
            f"Attributions of {n} rows and {n_features} features, in {named} ({owner(batch)})",
            *attributions_notes(batch),
            "mean absolute contribution:",
            *(
                f"  {batch.feature_names[j]:<{width}}  {strength[j]:>7.3f}  {_bar(strength[j] / largest)}"
                for j in order
            ),
            *([f"  … and {n_features - SHOWN} more"] if n_features > SHOWN else []),
        ]
    )


def attributions_notes(batch: Attributions) -> list[str]:
    """Return notes on errors, agreement and novelty of a batch."""
    n, refinement, error = len(batch), batch.refinement, batch.typical_error
    notes = [f"typical error of a contribution: {error:.3f}"] if math.isfinite(error) else []
    notes += [FELL_BACK] * batch.fell_back + [STAND_IN] * batch.stand_in
    if n and not batch.stand_in:
        notes.append(
            f"surrogate and black box agree on {int(batch.agreed.sum())} of {n} rows"
            + (f", after refinement on {int(refinement.faithful.sum())}" if refinement.refined.any() else "")
            + ("; refinement is off, as there are no rows" if refinement.off else "")
        )
    if batch.outside.any():
        notes.append(f"{int(batch.outside.sum())} of {n} rows are outside what the explainer was fitted on")
    return notes


def _bar(share: float) -> str:
    return "█" * round(BAR * share)
