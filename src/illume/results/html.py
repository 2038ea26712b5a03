"""Results as small tables for notebooks; everything that comes from data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from illume.results import colours, text

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions

SHOWN = 10


def row(attribution: Attribution) -> str:
    """Return one row's attribution as a table with bars."""
    batch = attribution.batch
    top = attribution.top(SHOWN)
    numbers = top.contributions()
    largest = max(float(np.abs(numbers).max(initial=0.0)), 1e-12)
    lines = [
        _line(name, text.value(data), number, number / largest)
        for name, data, number in zip(top.feature_names, top.data, numbers, strict=True)
    ]
    i = attribution.output
    base, score = np.ravel(attribution.base_value)[i], np.ravel(attribution.score)[i]
    others = len(attribution.feature_names) - len(numbers)
    if others:
        lines.append(_line(f"{others} other features", "", score - base - numbers.sum(), 0.0))
    named = text.output(batch.output_names, batch.class_names, i)
    agrees = "agrees" if attribution.agreed else "<b>disagrees</b>"
    trust = attribution.trust
    caption = (
        f"<b>{escape(attribution.decision)}</b>, probability {attribution.probability:.3f} "
        f"(surrogate {attribution.surrogate_probability:.3f}, {agrees}); "
        f"{escape(named)} = {score:+.3f}, base value {base:+.3f}"
    )
    if int(trust.n_rows):
        caption += (
            f"; on the {int(trust.n_rows)} nearest held-out rows the surrogate agrees on "
            f"{float(trust.agreement):.0%}"
        )
    return _table(caption, lines)


def batch(attributions: Attributions) -> str:
    """Return a batch's global importance as a table with bars."""
    strength = attributions.importance
    strength = strength if strength.ndim == 1 else strength.sum(1)
    order = np.argsort(-strength, kind="stable")[:SHOWN]
    largest = max(float(strength.max(initial=0.0)), 1e-12)
    lines = [_line(attributions.feature_names[j], "", strength[j], strength[j] / largest) for j in order]
    n, n_features = attributions.values.shape[:2]
    caption = (
        f"mean absolute contribution, {n} rows, {n_features} features, {attributions.scale}; "
        f"surrogate and black box agree on {int(attributions.agreed.sum())} rows"
    )
    return _table(caption, lines)


def _line(name: str, data: str, number: float, share: float) -> str:
    width, colour = round(120 * abs(share)), colours.of(number)
    mark = f'<div style="width:{width}px;height:0.8em;background:{colour}"></div>'
    return (
        f'<tr><td style="text-align:left">{escape(name)}</td><td>{escape(data)}</td>'
        f'<td>{number:+.3f}</td><td style="text-align:left">{mark}</td></tr>'
    )


def _table(caption: str, lines: list[str]) -> str:
    return (
        f'<table><caption style="caption-side:top;text-align:left">{caption}</caption>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
