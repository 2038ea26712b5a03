import pytest
from benchmarks.paper import Column

from benchmarks import selection
from tests.benchmarks.lines import line, store

CS = "lr.slopes.cs"


def cells(tmp_path, lines):
    return selection.cells(selection.read(store(tmp_path, lines)))


def ill(k, value, validation, protocol, **others):
    metrics = {CS: value, "lr.validation": validation, "lr.agreement": 0.9}
    setting = {"objective": "co", "k": k} | others
    return line(method="paper", setting=setting, metrics=metrics, protocol=protocol)


@pytest.mark.parametrize(("protocol", "value"), [("paper", 0.8), ("clean", 0.3)])
def test_paper_takes_the_best_figure_and_clean_the_best_validated(tmp_path, protocol, value):
    found = cells(tmp_path, [ill(2, 0.3, 0.95, protocol), ill(8, 0.8, 0.90, protocol)])
    column = Column.parse("ill (co)")
    chosen = selection.choose(selection.among(found, protocol, column, CS), protocol, CS)
    assert chosen.loc[("breast", "xgb"), "value"] == value
    assert chosen.loc[("breast", "xgb"), "accuracy"] == 0.9


def test_ties_on_validation_rows_go_to_the_fewest_latents(tmp_path):
    found = cells(tmp_path, [ill(32, 0.1, 0.9, "clean"), ill(8, 0.2, 0.9, "clean")])
    chosen = selection.choose(found, "clean", CS)
    assert chosen["value"].tolist() == [0.2]


def test_columns_take_neither_other_objectives_nor_variants_nor_fewer_training_rows(tmp_path):
    lines = [ill(8, 0.1, 0.5, "clean"), ill(8, 0.2, 0.5, "clean", variant="uc")]
    lines += [ill(8, 0.3, 0.5, "clean", train_rows=64)]
    found = cells(tmp_path, lines)
    assert len(selection.among(found, "clean", Column.parse("ill (.)"), CS)) == 0
    assert selection.among(found, "clean", Column.parse("ill (co)"), CS)[CS].tolist() == [0.1]
    assert selection.among(found, "clean", Column.parse("ill-uc (co)"), CS)[CS].tolist() == [0.2]
    assert selection.among(found, "clean", Column.parse("ill"), CS)[CS].tolist() == [0.1]


def test_without_validation_most_samples_or_the_mean_are_taken(tmp_path):
    lime = [
        line(method="lime", setting={"samples": n}, metrics={CS: value})
        for n, value in ((100, 0.9), (5000, 0.4), (300, 0.7))
    ]
    pca = [line(method="pca", setting={"k": k}, metrics={CS: value}) for k, value in ((2, 0.2), (8, 0.4))]
    found = cells(tmp_path, lime + pca)
    take = {name: selection.among(found, "clean", Column(name, name), CS) for name in ("lime", "pca")}
    assert selection.choose(take["lime"], "clean", CS)["value"].tolist() == [0.4]
    assert selection.choose(take["pca"], "clean", CS)["value"].tolist() == pytest.approx([0.3])


def test_seeds_are_averaged_before_anything_is_chosen(tmp_path):
    # seed 1 alone would choose k = 2; both together choose k = 8
    values = {(2, 0): 0.0, (2, 1): 0.9, (8, 0): 0.6, (8, 1): 0.6}
    lines = [ill(k, value, 0.5, "paper") | {"seed": seed} for (k, seed), value in values.items()]
    found = cells(tmp_path, lines)
    assert found["seeds"].tolist() == [2, 2]
    assert selection.choose(found, "paper", CS)["value"].tolist() == pytest.approx([0.6])


def test_less_is_better_of_times_and_infidelity(tmp_path):
    name = "lr.contributions.infidelity"
    lines = [line(method="lime", setting={"samples": n}, metrics={name: n / 100}) for n in (10, 20)]
    found = cells(tmp_path, [one | {"protocol": "paper"} for one in lines])
    assert selection.choose(found, "paper", name)["value"].tolist() == [0.1]


def test_summaries_take_the_best_black_box_in_paper_and_the_mean_in_clean(tmp_path):
    lines = [line(black_box=box, metrics={CS: value}) for box, value in (("xgb", 0.2), ("lgb", 0.6))]
    chosen = selection.choose(cells(tmp_path, lines), "clean", CS)
    assert selection.per_data(chosen, "paper", CS).to_dict() == {"breast": 0.6}
    assert selection.per_data(chosen, "clean", CS).to_dict() == pytest.approx({"breast": 0.4})


def test_mad_is_over_settings_and_black_boxes_then_a_mean_over_data_sets(tmp_path):
    # breast: .1 .2 .6 .7 -> median .4, deviations .3 .2 .2 .3 -> .25; sonar: .5 .7 -> .1
    values = {("breast", "xgb"): (0.1, 0.2), ("breast", "lgb"): (0.6, 0.7), ("sonar", "xgb"): (0.5, 0.7)}
    lines = [
        line(data, box, "lime", {"samples": i}, metrics={CS: value})
        for (data, box), pair in values.items()
        for i, value in enumerate(pair)
    ]
    assert selection.mad(cells(tmp_path, lines), CS) == pytest.approx(0.175)


def test_the_last_line_of_a_cell_counts(tmp_path):
    lines = [line(error="ValueError: no", metrics={}), line(metrics={CS: 0.5})]
    found = selection.read(store(tmp_path, lines))
    assert found["error"].isna().all()
    assert found[CS].tolist() == [0.5]
