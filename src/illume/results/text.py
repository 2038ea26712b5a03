"""Results as text that reads well in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from illume.results.attribution import Attribution
    from illume.results.attributions import Attributions

SHOWN = 8
STAND_IN = "without the black box: decision and probability are the surrogate's own"
BAR = 20


def bar(share: float) -> str:
    """Return a bar for a share between 0 and 1."""
    return "█" * round(BAR * share)


def output(names: tuple[str, ...], classes: tuple[str, ...], i: int = 0) -> str:
    """Say which log-odds are meant."""
    if len(classes) == 2:
        return f"log-odds of {classes[1]!r} against {classes[0]!r}"
    return f"log-odds of {names[i]!r} against the mean of {len(classes)} classes"


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
    largest = max([abs(number) for *_, number in lines] + [1e-12])
    width = max([len(name) for name, *_ in lines] + [len("base value")])
    data_width = max([len(data) for _, data, _ in lines] + [0])
    table = [f"  {'base value':<{width}}  {'':<{data_width}}  {base:>+8.3f}"]
    table += [
        f"  {name:<{width}}  {data:>{data_width}}  {number:>+8.3f}  {bar(abs(number) / largest)}"
        for name, data, number in lines
    ]
    return "\n".join([head, f"{named} = {score:+.3f}", *table, *notes(attribution)])


def notes(attribution: Attribution) -> list[str]:
    """Say how far to trust a row's attribution, and what was missing."""
    said = [STAND_IN] if attribution.batch.stand_in else []
    if attribution.outside:
        said.append(attribution.batch.novelty.note())
    trust = attribution.trust
    if int(trust.n_rows):
        said.append(
            f"trust: on {int(trust.n_rows)} held-out rows around here the surrogate agrees on "
            f"{float(trust.agreement):.0%} and is off by {float(trust.error):.3f}"
        )
    if not attribution.agreed:
        said.append(attribution.batch.refinement.note())
    if attribution.imputed:
        said.append(f"missing, filled with the mean: {', '.join(attribution.imputed)}")
    return said


def batch(attributions: Attributions) -> str:
    """Return a summary of a batch: agreement and global importance."""
    n, n_features = attributions.values.shape[:2]
    outputs = attributions.output_names
    named = (
        output(outputs, attributions.class_names)
        if len(outputs) == 1
        else f"log-odds of {len(outputs)} classes"
    )
    lines = [f"Attributions of {n} rows and {n_features} features, in {named}"]
    if attributions.stand_in:
        lines.append(STAND_IN)
    elif n:
        refined = int(attributions.refinement.refined.sum())
        lines.append(
            f"surrogate and black box agree on {int(attributions.agreed.sum())} of {n} rows"
            + (f", after refinement on {int(attributions.faithful.sum())}" if refined else "")
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
