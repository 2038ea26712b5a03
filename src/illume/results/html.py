"""Results as small tables for notebooks; everything that comes from data is escaped."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from illume.results import colours, text

if TYPE_CHECKING:
    from illume.results.attribution import Attribution
    from illume.results.attributions import Attributions

SHOWN = 10


def row(attribution: Attribution) -> str:
    """Return one row's attribution as a table with bars."""
    batch = attribution.batch
    shown = attribution.lines(SHOWN)
    largest = max([abs(line.contribution) for line in shown] + [1e-12])
    lines = [
        _line(line.name, line.value, line.contribution, line.contribution / largest, line.standard_error)
        for line in shown
    ]
    i = attribution.output
    base, score = np.ravel(attribution.base_value)[i], np.ravel(attribution.score)[i]
    named = text.output(batch.output_names, batch.class_names, i)
    agrees = escape(attribution.verdict)
    caption = (
        f"<b>{escape(attribution.decision)}</b>, probability {attribution.probability:.3f} "
        f"(surrogate {attribution.surrogate_probability:.3f}, {agrees}); "
        f"{escape(named)} = {score:+.3f} ({text.whose(batch)}), base value {base:+.3f}"
    )
    notes = "".join(f"; {escape(note)}" for note in text.notes(attribution))
    return _table(caption + notes, lines)


def batch(attributions: Attributions) -> str:
    """Return a batch's global importance as a table with bars."""
    strength = attributions.strength
    order = np.argsort(-strength, kind="stable")[:SHOWN]
    largest = max(float(strength.max(initial=0.0)), 1e-12)
    lines = [_line(attributions.feature_names[j], "", strength[j], strength[j] / largest) for j in order]
    n, n_features = attributions.values.shape[:2]
    caption = (
        f"mean absolute contribution, {n} rows, {n_features} features, {attributions.scale} "
        f"({text.whose(attributions)}); "
        + (
            text.STAND_IN
            if attributions.stand_in
            else f"surrogate and black box agree on {int(attributions.agreed.sum())} rows"
        )
    )
    outside = int(attributions.outside.sum())
    more = f"; {outside} are outside what the explainer was fitted on" if outside else ""
    error = text.typical_error(attributions)
    more += f"; typical error of a contribution {error:.3f}" if math.isfinite(error) else ""
    more += f"; {text.FELL_BACK}" if attributions.fell_back else ""
    return _table(caption + more, lines)


def _line(name: str, data: str, number: float, share: float, error: float = math.nan) -> str:
    width, colour = round(120 * abs(share)), colours.of(number)
    mark = f'<div style="width:{width}px;height:0.8em;background:{colour}"></div>'
    return (
        f'<tr><td style="text-align:left">{escape(name)}</td><td>{escape(data)}</td>'
        f"<td>{f'{number:+.3f} {text.plus_minus(error)}'.strip()}</td>"
        f'<td style="text-align:left">{mark}</td></tr>'
    )


def _table(caption: str, lines: list[str]) -> str:
    return (
        f'<table><caption style="caption-side:top;text-align:left">{caption}</caption>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
