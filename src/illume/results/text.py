"""Results and values as plain text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.column_values import is_missing
from illume.data.schema import MISSING

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions


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
    """Return a bound as text that is the bound: short where that is exact, else with enough digits.

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
    """Return what JSON knows: a missing value is None, a NumPy number a Python one."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


SHOWN = 8
STAND_IN = "without the black box: decision and probability are the surrogate's own"
FELL_BACK = "fell back to the global surrogate: one linear model for all rows, as a local one was no better"
BAR = 20


def bar(share: float) -> str:
    """Return a bar for a share between 0 and 1."""
    return "█" * round(BAR * share)


def output(names: tuple[str, ...], classes: tuple[str, ...], i: int = 0) -> str:
    """Say which log-odds are meant."""
    if len(classes) == 2:
        return f"log-odds of {classes[1]!r} against {classes[0]!r}"
    return f"log-odds of {names[i]!r} against the mean of {len(classes)} classes"


def owner(batch: Attributions) -> str:
    """Say whose log-odds contributions add up to."""
    return "the surrogate's" if batch.kind == "pullback" or batch.stand_in else "the model's"


def plus_minus(error: float, digits: int = 3) -> str:
    """Return a standard error as text, or nothing where it is not known.

    >>> plus_minus(0.0512), plus_minus(float("nan"))
    ('± 0.051', '')
    """
    return f"± {error:.{digits}f}" if math.isfinite(error) else ""


def row(attribution: Attribution) -> str:
    """Return one row's attribution as a small bar chart."""
    head = (
        f"{attribution.decision!r} with probability {attribution.probability:.3f} "
        f"(surrogate: {attribution.surrogate_probability:.3f}, "
        f"{attribution.verdict})"
    )
    i = attribution.output
    batch = attribution.batch
    score = float(np.ravel(attribution.score)[i])
    base = float(np.ravel(attribution.base_value)[i])
    named = output(batch.output_names, batch.class_names, i)
    lines = attribution.lines(SHOWN)
    largest = max([abs(line.contribution) for line in lines] + [1e-12])
    width = max([len(line.name) for line in lines] + [len("base value")])
    data_width = max([len(line.value) for line in lines] + [0])
    errors = [plus_minus(line.standard_error) for line in lines]
    error_width = max(map(len, errors), default=0)
    table = [f"  {'base value':<{width}}  {'':<{data_width}}  {base:>+8.3f}"]
    for line, error in zip(lines, errors, strict=True):
        number = f"{line.contribution:>+8.3f}{f' {error:<{error_width}}' if error_width else ''}"
        table.append(
            f"  {line.name:<{width}}  {line.value:>{data_width}}  {number}  "
            f"{bar(abs(line.contribution) / largest)}"
        )
    title = f"{named} = {score:+.3f} ({owner(batch)})"
    return "\n".join([head, title, *table, *notes(attribution)])


def notes(attribution: Attribution) -> list[str]:
    """Say how far to trust a row's attribution, and what was missing."""
    said = [STAND_IN] if attribution.batch.stand_in else []
    if attribution.outside:
        said.append(attribution.batch.novelty.note())
    shapley = attribution.batch.kind == "shapley"
    if shapley:
        said.append(certainty(attribution))
    trust = attribution.trust
    if int(trust.n_rows):
        of = " (of slopes, rules, counterfactuals)" if shapley else ""
        said.append(
            f"trust: on {int(trust.n_rows)} held-out rows around here the surrogate{of} agrees on "
            f"{float(trust.agreement):.0%} and is off by {float(trust.error):.3f}"
        )
    if attribution.batch.fell_back:
        said.append(FELL_BACK)
    if not attribution.agreed:
        said.append(("slopes " if shapley else "") + attribution.batch.refinement.note())
    if attribution.imputed:
        filled = (
            "missing, filled with the mean for the surrogate" if shapley else "missing, filled with the mean"
        )
        said.append(f"{filled}: {', '.join(attribution.imputed)}")
    return said


def certainty(attribution: Attribution) -> str:
    """Say how far off a row's contributions are, and how many of them have a sure sign."""
    typical = float(attribution.trust.contribution_error)
    if not math.isfinite(typical):
        return "trust: the error of these contributions is not known, for too few rows were held out"
    values, sure = attribution.contributions(), attribution.sure()
    zero = int(((values == 0) & (attribution.errors() == 0)).sum())
    ignored = f"; {zero} the model ignores, exactly 0" if zero else ""
    return (
        f"trust: contributions have a typical error of {typical:.3f}; the sign is sure (95 %) of "
        f"{int(sure.sum())} of {len(values)} features{ignored}"
    )


def typical_error(attributions: Attributions) -> float:
    """Return the root mean square of all standard errors; NaN where they are not known."""
    errors = attributions.trust.contribution_error
    return float(np.sqrt(np.mean(np.square(errors)))) if len(errors) else math.nan


def batch(attributions: Attributions) -> str:
    """Return a summary of a batch: agreement and global importance."""
    n, n_features = attributions.values.shape[:2]
    outputs = attributions.output_names
    named = (
        output(outputs, attributions.class_names)
        if len(outputs) == 1
        else f"log-odds of {len(outputs)} classes"
    )
    lines = [f"Attributions of {n} rows and {n_features} features, in {named} ({owner(attributions)})"]
    error = typical_error(attributions)
    if math.isfinite(error):
        lines.append(f"typical error of a contribution: {error:.3f}")
    if attributions.fell_back:
        lines.append(FELL_BACK)
    if attributions.stand_in:
        lines.append(STAND_IN)
    elif n:
        refined = int(attributions.refinement.refined.sum())
        lines.append(
            f"surrogate and black box agree on {int(attributions.agreed.sum())} of {n} rows"
            + (f", after refinement on {int(attributions.refinement.faithful.sum())}" if refined else "")
            + ("; refinement is off, for there are no rows" if attributions.refinement.off else "")
        )
    outside = int(attributions.outside.sum())
    if outside:
        lines.append(f"{outside} of {n} rows are outside what the explainer was fitted on")
    strength = attributions.strength
    order = np.argsort(-strength, kind="stable")[:SHOWN]
    width = max([len(attributions.feature_names[j]) for j in order], default=0)
    largest = max(float(strength.max(initial=0.0)), 1e-12)
    lines.append("mean absolute contribution:")
    lines += [
        f"  {attributions.feature_names[j]:<{width}}  {strength[j]:>7.3f}  {bar(strength[j] / largest)}"
        for j in order
    ]
    if n_features > SHOWN:
        lines.append(f"  … and {n_features - SHOWN} more")
    return "\n".join(lines)
