"""Plots of rules and counterfactuals draw the conditions and changes of the result."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from illume import plots
from illume.plots.looks import look_of
from illume.plots.rule_charts import draw_chips
from illume.results.conditions import Membership
from illume.results.text import format_bound, format_value
from tests.plots.cases import texts


def with_bounds(rules, **changes):
    """The first rule, with conditions of our own."""
    one = rules[:1]
    blank = {
        "low": np.full_like(one.bounds.low, -np.inf),
        "high": np.full_like(one.bounds.high, np.inf),
        "missing": np.zeros_like(one.bounds.missing),
        "allowed": np.ones_like(one.bounds.allowed),
    }
    for name, (place, value) in changes.items():
        blank[name][0, place] = value
    return replace(one, bounds=replace(one.bounds, **blank))[0]


def test_an_interval_is_a_bar_between_its_bounds_and_the_row_is_marked(mixed):
    rule = with_bounds(mixed.rules, low=(0, 30.0), high=(0, 60.0))
    ax = plots.rule(rule)
    (bar,) = ax.patches
    feature = rule.feature("age")
    span = feature.high - feature.low
    assert bar.get_x() == pytest.approx((30 - feature.low) / span)
    assert bar.get_x() + bar.get_width() == pytest.approx((60 - feature.low) / span)
    marked = ax.collections[-1].get_offsets()[0]
    own = float(rule.value("age"))
    assert own == mixed.frame["age"].iloc[0]
    assert marked[0] == pytest.approx((own - feature.low) / span)
    assert {"≥ 30", "≤ 60", f"this row: {format_value(own)}"} <= set(texts(ax))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["age"]


@pytest.mark.parametrize("row", range(0, 40, 4))
def test_a_row_lies_in_the_bars_of_its_rule_and_its_category_is_not_crossed_out(row, mixed):
    ax = plots.rule(mixed.rules[row])
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in ax.patches}
    dots = [each for each in ax.collections if len(each.get_facecolor())]  # the others are lines
    diamonds = [each.get_offsets()[0] for each in dots if np.allclose(each.get_facecolor(), 1)]
    for x, y in diamonds:
        assert bars[y].get_x() - 1e-9 <= x <= bars[y].get_x() + bars[y].get_width() + 1e-9
    said = texts(ax)
    assert len(diamonds) + sum(text == "this row: missing" for text in said) == len(bars)
    assert not any(text.startswith("✗ this row") for text in said)


def test_an_open_side_has_an_arrow_and_a_missing_value_is_said(mixed):
    rule = with_bounds(mixed.rules, high=(1, 32.5), missing=(1, True))
    said = texts(plots.rule(rule))
    assert {"≤ 32.5", "or missing"} <= set(said)
    assert ("this row: missing" in said) == bool(np.isnan(mixed.frame["income"].iloc[0]))
    assert "no condition: always" in texts(plots.rule(with_bounds(mixed.rules)))
    # the rows of a frame are a light histogram behind
    assert len(plots.rule(rule, mixed.frame).patches) == len(plots.rule(rule).patches) + 1


def test_categories_are_chips_and_forbidden_ones_are_crossed_out(mixed):
    names = mixed.rules.bounds.features[3].categories
    own = mixed.frame["education"].iloc[0]
    forbidden = next(name for name in names if name != own)
    place = int(mixed.rules.bounds.first[3]) + names.index(forbidden)
    rule = with_bounds(mixed.rules, allowed=(place, False))
    assert isinstance(rule.conditions[0], Membership)
    said = texts(plots.rule(rule))
    assert {f"✗ {forbidden}", f"this row: {own}"} <= set(said)


def test_a_rule_names_its_decision_and_what_was_measured(case):
    rule = case.rules[0]
    ax = plots.rule(rule, case.frame)
    assert ax.get_title(loc="left").startswith("→ ")
    assert ax.get_xlabel().replace("\n", "  ") == rule.measured
    assert len(ax.get_yticklabels()) == len(rule.conditions) + (rule.interval is not None)


def test_the_rule_of_a_counterfactual_is_drawn_without_a_row(mixed):
    found = next(one for one in mixed.counterfactuals if one.rule is not None and one.rule.conditions)
    ax = plots.rule(found.rule)
    assert not any("this row" in text for text in texts(ax))
    with pytest.raises(ValueError, match="has no row of its own"):
        found.rule.value("age")


def test_every_change_of_every_example_has_a_line_with_both_values(case):
    for found in case.counterfactuals[:6]:
        ax = plots.counterfactual(found)
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert len(names) == sum(len(example.changes) for example in found.examples)
        said = texts(ax)
        for example, p in zip(found.examples, found.batch.example_predictions, strict=True):
            assert any(f"→ {look_of(found).answer(p)}" == text for text in said)
            for change in example.changes:
                for value in (change.before, change.after):
                    assert {
                        format_value(value),
                        format_bound(value) if isinstance(value, float) else "",
                    } & set(said)


def test_arrows_point_from_the_old_value_to_the_new(several):
    found = next(one for one in several.counterfactuals if len(one.examples) == 2)
    ax = plots.counterfactual(found, n_examples=1)
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
    for arrow, change in zip(arrows, found.examples[0].changes, strict=True):
        assert np.sign(arrow.xy[0] - arrow.xyann[0]) == np.sign(change.after - change.before)
    assert sum(text.startswith("→ ") for text in texts(ax)) == 1


def test_a_row_without_a_counterfactual_says_why(loan_explainer, mixed):
    found = loan_explainer.counterfactuals(mixed.frame.iloc[:1], min_probability=0.999999)
    assert found[0].reason
    written = " ".join(" ".join(texts(plots.counterfactual(found[0]))).split())
    assert found[0].reason in written


def test_categories_that_do_not_fit_on_a_line_are_counted():
    ax = mpl.figure.Figure().subplots()
    draw_chips(ax, 0, [(f"category {i}", i < 30) for i in range(40)], "category 0")
    said = texts(ax)
    assert "this row: category 0" in said
    shown = sum("category" in text for text in said)
    assert 2 <= shown < 10
    assert f"and {40 - shown} more, {30 - shown} of them allowed" in said
