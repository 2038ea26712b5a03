"""Results as HTML for notebooks; all text from data is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.errors import MissingExtraError
from illume.results import colours, frames, text
from illume.results.counterfactuals import Change
from illume.results.predictions import decisions_of

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions
    from illume.results.counterfactuals import Counterfactuals
    from illume.results.rules import Rules


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
        f"{escape(named)} = {score:+.3f} ({text.owner(batch)}), base value {base:+.3f}"
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
        f"({text.owner(attributions)}); "
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
    width, colour = round(120 * abs(share)), colours.contribution_colour(number)
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


CONTRIBUTION, SHARE, DISTANCE = "{:+.3f}", "{:.3f}", "{:.2f}"

# Light bars are written on in black, whatever the colours of the page around the table.
PAPER = {"color": "black", "background-color": "white"}


def attributions(batch: Attributions, n: int) -> Any:
    """Style a line per row: the decision, and contributions of the n strongest features as bars."""
    top = batch.top(n)
    rows, names = np.arange(len(top)), np.array(top.class_names, dtype=object)
    about = frames.rename_taken(
        {
            "decision": names[top.decisions],
            "probability": top.probabilities[rows, top.decisions],
            "status": top.refinement.status,
            "base value": frames.decided_class(top, top.base_values),
        },
        top.feature_names,
    )
    _, probability, _, base = about
    values = frames.decided_class(top, top.values)
    moved = {name: values[:, j] + 0.0 for j, name in enumerate(top.feature_names)}
    others = len(batch.feature_names) - len(top.feature_names)
    rest = f"{others} other feature{'s' * (others > 1)}" if others else "left out"
    beside = {"offset of the refinement": top.offset, rest: top.rest}
    terms = {name: frames.decided_class(top, term) for name, term in beside.items() if term.any()}
    moved |= frames.rename_taken(terms, (*about, *moved))
    formats = {probability: SHARE, base: CONTRIBUTION} | dict.fromkeys(moved, CONTRIBUTION)
    styler = _styler(about | moved, formats, batch.origin.index)
    kind = "the decided class" if top.values.ndim == 3 else repr(top.output_names[0])
    return _diverging(styler, moved).set_caption(escape(f"contributions to the log-odds of {kind}"))


def attribution(row: Attribution, n: int) -> Any:
    """Style a line per feature of one row: value and contribution, the n strongest first."""
    lines = row.lines(n)
    columns = {
        "value": [line.value for line in lines],
        "contribution": np.array([line.contribution for line in lines], dtype=np.float64),
    }
    styler = _styler(columns, {"contribution": CONTRIBUTION}, [line.name for line in lines])
    i, batch = row.output, row.batch
    named = text.output(batch.output_names, batch.class_names, i)
    score, base = float(np.ravel(row.score)[i]), float(np.ravel(row.base_value)[i])
    caption = f"{row.decision!r}, probability {row.probability:.3f}; {named} = {score:+.3f}, base {base:+.3f}"
    return _diverging(styler, columns.keys() - {"value"}).set_caption(escape(caption))


def rules(batch: Rules) -> Any:
    """Style a line per row: the rule, its decision, precision and coverage as bars."""
    names = np.array(batch.class_names, dtype=object)
    columns = {
        "rule": [" and ".join(map(str, batch.bounds.conditions(i))) or "always" for i in range(len(batch))],
        "decision": names[batch.decisions],
        "precision": batch.precision,
        "coverage": batch.coverage,
        "covered rows": batch.n_covered,
        "status": batch.refinement.status,
    }
    shares = ["precision", "coverage"]
    styler = _styler(columns, dict.fromkeys(shares, SHARE), batch.origin.index)
    styler = styler.set_properties(subset=["rule"], **{"text-align": "left"})
    styler = styler.bar(subset=shares, color=colours.SHARE, vmin=0.0, vmax=1.0)
    styler = styler.set_properties(subset=shares, **PAPER)
    return styler.set_caption(f"precision and coverage on {batch.n_rows} held-out rows")


def counterfactuals(found: Counterfactuals) -> Any:
    """Style a line per example: what changes from what to what, and what the model then says."""
    index = found.origin.index
    row = np.arange(len(found)) if index is None else np.asarray(index)
    decided = decisions_of(found.example_probabilities)
    about = frames.rename_taken(
        {
            "row": row[found.row],
            "decision": np.array(found.class_names, dtype=object)[decided],
            "probability": found.example_probabilities.max(1, initial=0.0),
            "distance": found.distance,
        },
        found.feature_names,
    )
    _, _, probability, distance = about
    shown = np.flatnonzero(found.changed.any(0))
    changes = {found.feature_names[j]: _changes(found, int(j)) for j in shown}
    styler = _styler(about | changes, {probability: SHARE, distance: DISTANCE}, None)
    mark = f"background-color: {colours.CHANGED}; color: black"
    styler = styler.map(lambda change: mark if change else "", subset=list(changes))
    return styler.hide(axis="index").set_caption(
        f"{len(found.row)} examples for {int(found.found.sum())} of {len(found)} rows, each put to the model"
    )


def _changes(found: Counterfactuals, j: int) -> list[str]:
    name, before, after = found.feature_names[j], found.before[found.row, j], found.after[:, j]
    rows = zip(before, after, found.changed[:, j], strict=True)
    return [Change(name, was, becomes).text if changed else "" for was, becomes, changed in rows]


def _diverging(styler: Any, columns: Any) -> Any:
    """Draw bars from the middle of the cell, on one scale for all columns."""
    shown = list(columns)
    numbers = styler.data[shown].to_numpy(dtype=np.float64)
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    both = [colours.AGAINST_BAR, colours.FOR_BAR]
    styler = styler.bar(subset=shown, align="zero", color=both, vmin=-largest, vmax=largest)
    return styler.set_properties(subset=shown, **PAPER)


def _styler(columns: Mapping[str, Any], formats: Mapping[str, str], index: Sequence[Any] | None) -> Any:
    """Return a Styler that escapes values, names and labels; labels need not be unique."""
    try:
        import jinja2  # noqa: F401
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of(str(error.name), "style") from error
    labels = pd.RangeIndex(len(next(iter(columns.values())))) if index is None else pd.Index(index)
    unique = labels.is_unique and labels.nlevels == 1
    frame = pd.DataFrame(dict(columns), index=labels.rename(None) if unique else None)
    styler = frame.style.format(dict(formats), escape="html", na_rep="")
    styler = styler.format_index(escape="html", axis=1).format_index(escape="html", axis=0)
    return styler if unique else styler.relabel_index([escape(str(label)) for label in labels], axis=0)
