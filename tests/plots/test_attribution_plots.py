"""Plots of attributions draw the numbers of the result."""

from dataclasses import replace

import numpy as np
import pytest

from illume import Explainer, MetaEncoder, plots
from illume.data.class_outputs import Classes
from illume.plots.dependence import jitter
from tests.common import FAST, loans
from tests.plots.cases import WIDE, texts


def y_labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def widths(ax):
    return [patch.get_width() for patch in ax.patches]


def test_bars_are_contributions_strongest_on_top(mixed, several):
    row, batch = mixed.row, several.batch
    ax = plots.bar(row, n_features=3)
    np.testing.assert_allclose(widths(ax), sorted(row.values, key=abs, reverse=True)[:3])
    assert y_labels(ax) == list(row.top(3).feature_names)
    np.testing.assert_allclose(sorted(widths(plots.bar(batch))), sorted(batch.strength))
    ax = plots.bar(batch, output="mid")
    np.testing.assert_allclose(sorted(widths(ax)), sorted(batch.importance[:, 1]))
    assert "mean absolute contribution to the model's probability of 'mid'" in ax.get_xlabel()


def test_a_waterfall_leads_from_the_base_value_to_the_score(mixed):
    row = mixed.row
    ax = plots.waterfall(row, n_features=2)
    first, last = ax.patches[0], ax.patches[-1]
    assert first.get_x() + first.get_width() == pytest.approx(float(row.score))
    assert last.get_x() == pytest.approx(float(row.base_value))
    assert y_labels(ax)[-1] == "2 other features"
    assert f"education = {row.data[3]}" in y_labels(plots.waterfall(row))


@pytest.mark.parametrize("output", [0, "top", -2])
def test_a_waterfall_shows_the_output_that_is_asked_for(several, output):
    row = several.row
    i = row.position(output)
    ax = plots.waterfall(row, output=output)
    first = ax.patches[0]
    assert first.get_x() + first.get_width() == pytest.approx(float(row.score[i]))
    assert f"the model's probability of '{several.batch.output_names[i]}'" in ax.get_xlabel()


def test_waterfalls_and_bars_have_intervals_where_errors_are_known(loan_measured, loan_pullback):
    rows = loans(5, seed=2)
    measured, pulled = loan_measured(rows), loan_pullback(rows)[1]
    row, ax = measured[1], plots.waterfall(measured[1])
    intervals, _ = ax.collections  # before the lines that connect bars
    top = row.top(4)
    ends = float(row.score) - np.r_[0.0, np.cumsum(top.values)[:-1]]
    reach = 1.96 * top.standard_errors
    drawn = np.array([[left, right] for (left, _), (right, _) in intervals.get_segments()])
    np.testing.assert_allclose(drawn, np.column_stack([ends - reach, ends + reach]), rtol=1e-5)
    assert "95 % intervals" in ax.get_title()
    assert ax.get_xlabel().startswith("the model's log-odds")
    ax = plots.waterfall(pulled)
    assert len(ax.collections) == 1
    assert "95 %" not in ax.get_title()
    assert ax.get_xlabel().startswith("the surrogate's log-odds")
    ax = plots.bar(row)
    assert "thin lines: 95 % intervals" in ax.get_xlabel()
    assert len(ax.collections[0].get_segments()) == 4
    assert "95 %" not in plots.bar(pulled).get_xlabel()
    assert "(the model's log-odds)" in plots.bar(measured).get_xlabel()


def test_quality_shows_the_accuracy_of_contributions(loan_measured, loan_pullback):
    rows = loans(30, seed=2)
    batch, found = loan_measured(rows), loan_measured.quality_.contributions
    (_, ax) = plots.quality(batch, measured=loan_measured.quality_)
    assert f"R² {found.r2:.3f} ({found.low:.3f} to {found.high:.3f})" in ax.get_title(loc="left")
    most = np.bincount(batch.decisions).max() / len(batch)
    assert f"the most common has {most:.1%}" in ax.get_title(loc="left")
    (_, ax) = plots.quality(batch)
    assert "typical error" in ax.get_title(loc="left")
    (_, ax) = plots.quality(loan_pullback(rows), measured=loan_pullback.quality_)
    assert "contributions: accuracy not measured" in ax.get_title(loc="left")


def test_plots_of_contributions_do_not_train_the_surrogate(three_class):
    model, X = three_class
    explainer = Explainer(model).fit(X)
    batch = explainer(X.iloc[:12])
    for draw in (plots.bar, plots.beeswarm, plots.decision_paths):
        draw(batch)
    plots.dependence(batch, "a")
    for ax in (plots.waterfall(batch[0]), plots.bar(batch[0]), *plots.compare_rows(batch[0], batch[1])):
        assert "surrogate" not in " ".join(texts(ax))
    plots.compare({"one": batch[0], "other": batch[1]})
    assert not explainer.fitted_.latents.ready
    plots.quality(batch)  # which is about the surrogate
    assert explainer.fitted_.latents.ready


def test_a_row_says_what_the_surrogate_answers_only_where_contributions_are_its_own(mixed, loan_pullback):
    assert "surrogate" not in plots.waterfall(mixed.row).get_title()
    pulled = loan_pullback(loans(5, seed=2))[1]
    assert "\n(surrogate 0." in plots.waterfall(pulled).get_title()
    assert plots.waterfall(pulled).get_title().splitlines()[1].endswith(f"{pulled.verdict})")


def test_a_beeswarm_has_a_dot_per_row_and_feature(mixed):
    ax = plots.beeswarm(mixed.batch, n_features=4)
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == 40 * 4
    shades = np.concatenate([d.get_array() for d in ax.collections if d.get_array() is not None])
    assert shades.min() == 0
    assert shades.max() == 1


def test_a_beeswarm_has_a_colour_bar_from_low_to_high_values(mixed):
    ax = plots.beeswarm(mixed.batch, n_features=4)
    _, bar = ax.figure.axes
    assert bar.get_ylabel() == "value of the feature"
    assert y_labels(bar) == ["low", "high"]
    assert "category or missing" in ax.get_title(loc="right")


def test_importance_has_no_sign_and_says_over_what_it_is_summed(mixed, several):
    ax = plots.bar(several.batch)
    assert "summed over 3 classes" in ax.get_xlabel()
    assert "summed" not in plots.bar(several.batch, output="mid").get_xlabel()
    assert "summed" not in plots.bar(mixed.batch).get_xlabel()
    assert len({patch.get_facecolor() for patch in ax.patches}) == 1
    signs = {patch.get_facecolor() for patch in plots.bar(mixed.row).patches}
    assert ax.patches[0].get_facecolor() not in signs


def test_dependence_of_every_feature_of_mixed_rows_draws_every_row(mixed):
    for name in mixed.batch.feature_names:
        ax = plots.dependence(mixed.batch, name)
        assert sum(len(dots.get_offsets()) for dots in ax.collections) == len(mixed.batch)
        assert ax.get_xlabel() == name


def test_the_output_of_a_plot_is_chosen_by_name_or_position(several):
    for draw in (plots.beeswarm, plots.decision_paths):
        assert "'mid'" in draw(several.batch, output="mid").get_xlabel()
        assert "'top'" in draw(several.batch, output=2).get_xlabel()


def test_dependence_puts_values_against_contributions(several):
    batch = several.batch
    ax = plots.dependence(batch, "b", colour="a", output="top")
    dots = ax.collections[0]
    expected = np.column_stack([batch.data[:, 1], batch.values[:, 1, 2]])
    np.testing.assert_allclose(dots.get_offsets(), expected)
    np.testing.assert_allclose(dots.get_array(), batch.data[:, 0])
    assert ax.get_xlabel() == "b"
    assert ax.figure.axes[1].get_ylabel() == "a"
    strength = np.abs(batch.values[:, 1:, 0]).sum(0)  # the most important other feature is the default
    colour = plots.dependence(batch, 0).figure.axes[1].get_ylabel()
    assert colour == batch.feature_names[1 + int(strength.argmax())]


def test_dependence_sets_missing_numbers_apart_and_marks_them(mixed):
    batch = mixed.batch
    ax = plots.dependence(batch, "income", colour=None)
    x = np.asarray(ax.collections[0].get_offsets())[:, 0]
    missing = batch.imputed[:, 1]
    assert missing.any()
    assert x[missing].min() > x[~missing].max()
    np.testing.assert_allclose(x[~missing], batch.data[~missing, 1].astype(float))
    assert "missing" in texts(ax)
    assert max(ax.get_xticks()) <= x[~missing].max()  # the band is no part of the scale


def test_dependence_puts_categories_side_by_side_with_a_jitter_that_stays(mixed):
    batch = mixed.batch
    ax = plots.dependence(batch, "education", colour="owner")
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names == ["high", "low", "middle"]
    by_owner = {"False": 0, "True": 1}
    for dots, owner in zip(ax.collections, by_owner, strict=True):
        x, y = np.asarray(dots.get_offsets()).T
        mine = [str(value) == owner for value in batch.data[:, 2]]
        assert [names[round(place)] for place in x] == list(batch.data[mine, 3])
        np.testing.assert_allclose(y, batch.values[mine, 3])
    assert np.abs(jitter(500)).max() <= 0.5
    np.testing.assert_array_equal(jitter(7), jitter(9)[:7])


def test_paths_lead_from_the_base_value_to_the_scores(several):
    batch = several.batch
    ax = plots.decision_paths(batch, output="mid", n_features=2)
    (lines,) = [c for c in ax.collections if len(c.get_segments()) == len(batch)]
    paths = np.array(lines.get_segments())
    np.testing.assert_allclose(paths[:, 0, 0], batch.base_values[:, 1])
    np.testing.assert_allclose(paths[:, -1, 0], batch.scores[:, 1], atol=1e-12)
    strongest = batch.importance[:, 1].argmax()
    np.testing.assert_allclose(np.diff(paths[:, :, 0])[:, -1], batch.values[:, strongest, 1])
    assert y_labels(ax)[0].startswith("2 other features")
    assert y_labels(ax)[1:] == list(batch.top(2, "mid").feature_names)[::-1]


def test_highlighted_rows_are_bold_and_named_as_in_the_frame(mixed):
    batch = mixed.batch[5:]
    ax = plots.decision_paths(batch, highlight=[0, -1])
    bold = [line for line in ax.lines if line.get_linewidth() > 2]
    np.testing.assert_allclose([line.get_xdata()[-1] for line in bold], batch.scores[[0, -1]])
    assert {"row 5", "row 39"} <= {text.get_text() for text in ax.get_legend().get_texts()}


def test_two_rows_are_compared_on_one_scale(several):
    first, second = several.row, several.batch[1]
    left, right = plots.compare_rows(first, second, output="top", n_features=3)
    assert left.get_xlim() == right.get_xlim()
    largest = np.maximum(abs(first.contributions("top")), abs(second.contributions("top")))
    order = np.argsort(-largest)[:3]
    np.testing.assert_allclose(widths(left), first.contributions("top")[order])
    np.testing.assert_allclose(widths(right), second.contributions("top")[order])
    assert y_labels(left)[0].startswith(f"{first.feature_names[order[0]]} = ")


def test_two_rows_say_which_is_before_which_after_and_what_changed(mixed):
    first = mixed.row
    same = first.data[1] == mixed.batch.data[:, 1]
    second = mixed.batch[int(np.flatnonzero(~same)[0])]
    left, right = plots.compare_rows(first, second)
    n_changed = sum(str(a) != str(b) for a, b in zip(first.data, second.data, strict=True))
    assert left.get_title().startswith("before\n")
    assert right.get_title().startswith(f"after: {n_changed} of 4 values changed\n")
    ticks = right.get_yticklabels()
    named = {label.split(" = ")[0]: tick for label, tick in zip(y_labels(left), ticks, strict=True)}
    for name, a, b in zip(first.feature_names, first.data, second.data, strict=True):
        changed = str(a) != str(b)
        assert named[name].get_text().startswith("→ " if changed else "same")
        assert (named[name].get_fontweight() == "bold") == changed
    left, right = plots.compare_rows(first, first, names=("today", "tomorrow"))
    assert left.get_title().startswith("today\n")
    assert right.get_title().startswith("tomorrow: 0 of 4 values changed")
    assert set(y_labels(right)) == {"same"}


def test_explainers_are_compared_by_bars_of_their_own_numbers(mixed):
    row = mixed.row
    ax = plots.compare({"illume": row, "_$5$": -2 * row.values}, n_features=4)
    np.testing.assert_allclose(widths(ax)[4:], -2 * np.array(widths(ax)[:4]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["illume", r"_\$5\$"]
    alike = plots.compare({"illume": row, "other": 2 * row.values}, normalise=True)
    np.testing.assert_allclose(widths(alike)[4:], widths(alike)[:4])
    assert np.abs(widths(alike)[:4]).sum() == pytest.approx(1.0)
    assert y_labels(plots.compare({"a": np.array([1.0, 2.0])}, feature_names=["p", "q"])) == ["q", "p"]


def test_quality_shows_calibration_and_agreement_of_the_result(several):
    batch = several.batch
    left, right = plots.quality(batch, output="mid", n_bins=4)
    found = batch.calibration("mid", 4)
    known = found.n_rows > 0
    dots = left.collections[-1].get_offsets()
    np.testing.assert_allclose(dots, np.column_stack([found.surrogate, found.black_box])[known])
    np.testing.assert_allclose(widths(right), np.nan_to_num(batch.class_agreement.agreement))
    assert "'mid'" in left.get_xlabel()
    assert f"{batch.agreed.mean():.1%} of 20 rows" in right.get_title(loc="left")


def test_names_that_are_cut_stay_apart(material):
    batch = material(WIDE).batch
    for draw in (plots.bar, plots.beeswarm, plots.decision_paths):
        names = y_labels(draw(batch, n_features=60))
        assert len(set(names)) == len(names)
        assert max(map(len, names)) < 45


def test_training_is_drawn_with_the_epoch_that_was_kept():
    X = np.random.default_rng(0).normal(size=(60, 3))
    history = MetaEncoder(2, training=FAST).fit(X, X[:, 0] > 0).history_
    ax = plots.history(history)
    assert f"kept: epoch {history.best}" in [t.get_text() for t in ax.get_legend().get_texts()]
    one = replace(history, epochs=history.epochs[:1], best=1)
    assert plots.history(one).lines[0].get_marker() == "o"


def test_interactions_are_a_symmetric_matrix_with_both_entries_of_a_pair_added(loan_measured):
    found = loan_measured.interactions(loans(20, seed=2))
    ax = plots.interactions(found, max_features=3)
    expected = 2 * found.strength[:3, :3] - np.diag(np.diag(found.strength[:3, :3]))
    np.testing.assert_allclose(ax.images[0].get_array(), expected)
    assert y_labels(ax) == list(found.feature_names[:3])
    assert {f"{number:.2f}" for number in expected.ravel()} <= set(texts(ax))


@pytest.mark.parametrize("name", ["out of stock of late", "now against all odds"])
def test_a_long_caption_breaks_before_the_name_of_a_class_and_not_within_it(loan_explainer, name):
    found = loan_explainer(loans(8, seed=5))
    outputs = Classes(("in stock for a while", name))
    named = replace(found, labels=replace(found.labels, outputs=outputs))
    assert plots.beeswarm(named).get_xlabel() == f"contribution to the model's log-odds\nof '{name}'"
    total = plots.waterfall(named[0]).get_xlabel()
    assert total == f"the model's log-odds of '{name}'\nagainst 'in stock for a while'"
