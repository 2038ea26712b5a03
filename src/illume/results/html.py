"""Results as HTML for notebooks and as styled pandas tables; all text from data is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.errors import import_extra
from illume.results import colours, frames, text
from illume.results.predictions import decisions_of

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions
    from illume.results.counterfactuals import Counterfactuals
    from illume.results.rules import Rules

SHOWN = 10
CONTRIBUTION, SHARE, DISTANCE = "{:+.3f}", "{:.3f}", "{:.2f}"
# Light bars have black text on them, whatever the colours of the page around the table.
PAPER = {"color": "black", "background-color": "white"}


def attribution_html(row: Attribution) -> str:
    """Return one row's attribution as a table with bars."""
    batch, i, shown = row.batch, row.output, row.lines(SHOWN)
    largest = max([abs(line.contribution) for line in shown] + [1e-12])
    base, score = np.ravel(row.base_value)[i], np.ravel(row.score)[i]
    named = text.output(batch.output_names, batch.class_names, i)
    caption = (
        f"<b>{escape(row.decision)}</b>, probability {row.probability:.3f} "
        f"(surrogate {row.surrogate_probability:.3f}, {escape(row.verdict)}); "
        f"{escape(named)} = {score:+.3f} ({text.owner(batch)}), base value {base:+.3f}"
    )
    notes = [escape(note) for note in text.attribution_notes(row)]
    return _table("; ".join([caption, *notes]), [_table_row(*line, largest) for line in shown])


def attributions_html(batch: Attributions) -> str:
    """Return a batch's global importance as a table with bars."""
    strength = batch.strength
    order = np.argsort(-strength, kind="stable")[:SHOWN]
    largest = max(float(strength.max(initial=0.0)), 1e-12)
    n, n_features = batch.values.shape[:2]
    head = f"mean absolute contribution, {n} rows, {n_features} features, {batch.scale} ({text.owner(batch)})"
    lines = [_table_row(batch.feature_names[j], "", strength[j], math.nan, largest) for j in order]
    return _table("; ".join([head, *text.attributions_notes(batch)]), lines)


def _table_row(name: str, value: str, number: float, error: float, largest: float) -> str:
    width, colour = round(120 * abs(number / largest)), colours.contribution_colour(number)
    return (
        f'<tr><td style="text-align:left">{escape(name)}</td><td>{escape(value)}</td>'
        f"<td>{f'{number:+.3f} {text.format_error(error)}'.strip()}</td>"
        f'<td style="text-align:left"><div style="width:{width}px;height:0.8em;background:{colour}"></div>'
        "</td></tr>"
    )


def _table(caption: str, lines: list[str]) -> str:
    return (
        f'<table><caption style="caption-side:top;text-align:left">{caption}</caption>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def style_attributions(batch: Attributions, n: int) -> Any:
    """Style a line per row: the decision, and contributions of the n strongest features as bars."""
    top = batch.top(n)
    about = frames.rename_taken(
        {
            **frames.decision_columns(top),
            "status": top.refinement.status,
            "base value": frames.decided_class(top, top.base_values),
        },
        top.feature_names,
    )
    _, probability, _, base = about
    values = frames.decided_class(top, top.values)
    moved = {name: values[:, j] + 0.0 for j, name in enumerate(top.feature_names)}
    others = len(batch.feature_names) - len(top.feature_names)
    rest = f"{others} other feature{'s' * (others > 1)}" if others else text.LEFT_OUT
    terms = {text.OFFSET: top.offset, rest: top.rest}
    terms = {name: frames.decided_class(top, term) for name, term in terms.items() if term.any()}
    moved |= frames.rename_taken(terms, (*about, *moved))
    formats = {probability: SHARE, base: CONTRIBUTION} | dict.fromkeys(moved, CONTRIBUTION)
    styler = _diverging_bars(_styler(about | moved, formats, batch.origin.index), list(moved))
    kind = "the decided class" if top.values.ndim == 3 else repr(top.output_names[0])
    return styler.set_caption(escape(f"contributions to the log-odds of {kind}"))


def style_attribution(row: Attribution, n: int) -> Any:
    """Style a line per feature of one row: value and contribution, the n strongest first."""
    lines, batch, i = row.lines(n), row.batch, row.output
    columns = {
        "value": [line.value for line in lines],
        "contribution": np.array([line.contribution for line in lines], dtype=np.float64),
    }
    styler = _styler(columns, {"contribution": CONTRIBUTION}, [line.name for line in lines])
    named = text.output(batch.output_names, batch.class_names, i)
    score, base = float(np.ravel(row.score)[i]), float(np.ravel(row.base_value)[i])
    caption = f"{row.decision!r}, probability {row.probability:.3f}; {named} = {score:+.3f}, base {base:+.3f}"
    return _diverging_bars(styler, ["contribution"]).set_caption(escape(caption))


def style_rules(batch: Rules) -> Any:
    """Style a line per row: the rule, its decision, precision and coverage as bars."""
    columns = {
        "rule": [" and ".join(map(str, batch.bounds.conditions(i))) or "always" for i in range(len(batch))],
        "decision": frames.decision_columns(batch)["decision"],
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


def style_counterfactuals(found: Counterfactuals) -> Any:
    """Style a line per example: the values before and after, and the model's new decision."""
    names = np.array(found.class_names, dtype=object)
    about = frames.rename_taken(
        {
            "row": found.row_labels[found.row],
            "decision": names[decisions_of(found.example_probabilities)],
            "probability": found.example_probabilities.max(1, initial=0.0),
            "distance": found.distance,
        },
        found.feature_names,
    )
    _, _, probability, distance = about
    changes = {found.feature_names[j]: [""] * len(found.row) for j in np.flatnonzero(found.changed.any(0))}
    for e in range(len(found.row)):
        for change in found.example(e).changes:
            changes[change.feature][e] = change.text
    styler = _styler(about | changes, {probability: SHARE, distance: DISTANCE}, None)
    mark = f"background-color: {colours.CHANGED}; color: black"
    styler = styler.map(lambda change: mark if change else "", subset=list(changes))
    return styler.hide(axis="index").set_caption(
        f"{len(found.row)} examples for {int(found.found.sum())} of {len(found)} rows, "
        "each verified on the model"
    )


def _diverging_bars(styler: Any, columns: list[str]) -> Any:
    """Draw bars from the middle of the cell, on one scale for all columns."""
    largest = float(np.abs(styler.data[columns].to_numpy(dtype=np.float64)).max(initial=0.0)) or 1.0
    both = [colours.AGAINST_BAR, colours.FOR_BAR]
    styler = styler.bar(subset=columns, align="zero", color=both, vmin=-largest, vmax=largest)
    return styler.set_properties(subset=columns, **PAPER)


def _styler(columns: Mapping[str, Any], formats: Mapping[str, str], index: Sequence[Any] | None) -> Any:
    """Return a Styler that escapes values, names and labels; labels need not be unique."""
    import_extra("jinja2", "style")
    pd = import_extra("pandas", "style")
    labels = pd.RangeIndex(len(next(iter(columns.values())))) if index is None else pd.Index(index)
    unique = labels.is_unique and labels.nlevels == 1
    frame = pd.DataFrame(dict(columns), index=labels.rename(None) if unique else None)
    styler = frame.style.format(dict(formats), escape="html", na_rep="")
    styler = styler.format_index(escape="html", axis=1).format_index(escape="html", axis=0)
    return styler if unique else styler.relabel_index([escape(str(label)) for label in labels], axis=0)
