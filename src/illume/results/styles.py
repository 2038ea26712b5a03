"""Results as styled pandas tables; all text from data is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.errors import import_extra
from illume.results import colours, frames, text

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions
    from illume.results.counterfactuals import Counterfactuals
    from illume.results.rules import Rules

SHARE, DISTANCE = "{:.3f}", "{:.2f}"
# Light bars have black text on them, whatever the colours of the page around the table.
PAPER = {"color": "black", "background-color": "white"}


def style_attributions(batch: Attributions, n: int) -> Any:
    """Style a line per row: the decision, and contributions of the n strongest features as bars."""
    top = batch.top(n)
    about = frames.answer_columns(top) | {
        "base value": frames.decided_class(top, top.base_values),
    }
    about = frames.rename_taken(about, top.feature_labels)
    formats: dict[str, Any] = {name: _answer_format(batch.outputs, name) for name in about}
    formats[list(about)[-1]] = batch.outputs.format_total
    values = frames.decided_class(top, top.values)
    moved = {name: values[:, j] + 0.0 for j, name in enumerate(top.feature_labels)}
    others = len(batch.feature_names) - len(top.feature_names)
    rest = count(others, "other feature") if others else text.LEFT_OUT
    terms = {text.OFFSET: top.offset, rest: top.rest}
    terms = {name: frames.decided_class(top, term) for name, term in terms.items() if term.any()}
    moved |= frames.rename_taken(terms, (*about, *moved))
    formats |= dict.fromkeys(moved, batch.outputs.format_score)
    styler = _styler(
        about | moved, formats, batch.origin.index, f"contributions to {batch.outputs.table_caption}"
    )
    return _diverging_bars(styler, list(moved))


def _answer_format(outputs: Outputs, name: str) -> Any:
    """Return how a column of answers is written; None leaves values as they are."""
    return SHARE if name.startswith("probability") else outputs.format_bound if "prediction" in name else None


def style_attribution(row: Attribution, n: int) -> Any:
    """Style a line per feature of one row: value and contribution, the n strongest first."""
    _, values, contributions, _, names = zip(*row.lines(n), strict=True)
    columns = {"value": values, "contribution": np.array(contributions)}
    batch, i = row.batch, row.output
    named = batch.outputs.describe_scale(i)
    score, base = float(np.ravel(row.score)[i]), float(np.ravel(row.base_value)[i])
    outputs = batch.outputs
    totals = f"{named} = {outputs.format_total(score, i)}, base {outputs.format_total(base, i)}"
    formats = {"contribution": lambda number: outputs.format_score(number, i)}
    styler = _styler(columns, formats, names, f"{row.headline}; {totals}")
    return _diverging_bars(styler, ["contribution"])


def style_rules(batch: Rules) -> Any:
    """Style a line per row: the rule, its decision, precision and coverage as bars."""
    found = frames.rules_columns(batch)
    ends = [rule.decision for rule in batch]
    columns = {"rule": [rule or "always" for rule in found["rule"]], "decision": ends}
    shares = {name: found[name] for name in ("precision", "coverage")}
    counts = {"covered rows": found["n_covered"], "status": found["status"]}
    caption = f"precision and coverage on {batch.n_rows} held-out rows"
    styler = _styler(columns | shares | counts, dict.fromkeys(shares, SHARE), batch.origin.index, caption)
    styler = styler.set_properties(subset=["rule"], **{"text-align": "left"})
    styler = styler.bar(subset=list(shares), color=colours.SHARE, vmin=0.0, vmax=1.0)
    return styler.set_properties(subset=list(shares), **PAPER)


def style_counterfactuals(found: Counterfactuals) -> Any:
    """Style a line per example: the values before and after, and the model's new decision."""
    known = frames.example_columns(found)
    names = ("row", *found.outputs.columns(found.example_predictions), "distance")
    labels = dict(zip(found.feature_names, map(found.dictionary.label, found.feature_names), strict=True))
    about = frames.rename_taken({name: known[name] for name in names}, labels.values())
    formats = {name: _answer_format(found.outputs, name) for name in about}
    formats[list(about)[-1]] = DISTANCE
    changing = np.flatnonzero(found.changed.any(0))
    own = found.before[found.row][:, changing]
    texts = {
        labels[found.feature_names[j]]: [
            found.dictionary.exact(found.feature_names[j], value) for value in own[:, k]
        ]
        for k, j in enumerate(changing)
    }
    for e in range(len(found.row)):
        for change in found.example(e).changes:
            texts[labels[change.feature]][e] = change.text
    examples = f"{count(len(found.row), 'example')} for {int(found.found.sum())} of "
    examples += f"{count(len(found), 'row')}, each verified on the model; marked cells were changed"
    styler = _styler(about | texts, formats, None, examples)
    mark, changed = f"background-color: {colours.CHANGED}; color: black", found.changed[:, changing]
    styler = styler.apply(lambda _: np.where(changed, mark, ""), axis=None, subset=list(texts))
    return styler.hide(axis="index")


def _diverging_bars(styler: Any, columns: list[str]) -> Any:
    """Draw bars from the middle of the cell, on one scale for all columns."""
    largest = float(np.abs(styler.data[columns].to_numpy(dtype=np.float64)).max(initial=0.0)) or 1.0
    both = [colours.AGAINST_BAR, colours.FOR_BAR]
    styler = styler.bar(subset=columns, align="zero", color=both, vmin=-largest, vmax=largest)
    return styler.set_properties(subset=columns, **PAPER)


def _styler(
    columns: Mapping[str, Any], formats: Mapping[str, Any], index: Sequence[Any] | None, caption: str
) -> Any:
    """Return a Styler that escapes values, names and labels; labels need not be unique."""
    import_extra("jinja2", "style")
    pd = import_extra("pandas", "style")
    labels = pd.RangeIndex(len(next(iter(columns.values())))) if index is None else pd.Index(index)
    unique = labels.is_unique and labels.nlevels == 1
    frame = pd.DataFrame(dict(columns), index=labels.rename(None) if unique else None)
    styler = frame.style.format(dict(formats), escape="html", na_rep="").set_caption(escape(caption))
    styler = styler.format_index(escape="html", axis=1).format_index(escape="html", axis=0)
    return styler if unique else styler.relabel_index([escape(str(label)) for label in labels], axis=0)
