"""Reports of models that answer with numbers."""

import pytest

from illume import Explainer
from illume.errors import SchemaError
from tests.common import brief_shapley, grouped, loans
from tests.report.common import data_of, numbers, text_of


@pytest.fixture(scope="module")
def explainer():
    def model(rows):
        return 1000 * (rows["age"] + 2 * rows["income"].fillna(30) + 15 * rows["owner"])

    settings = {"encoder": "identity", "queries": 300, "effort": "quick", "output_names": ["price (€)"]}
    with brief_shapley():
        return Explainer(model, verbose=False, **grouped(**settings)).fit(loans(160))


@pytest.fixture(scope="module")
def report(explainer, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return explainer.report(loans(30, seed=2), path, max_counterfactual_rows=10)


def test_sentences_speak_of_predictions_in_their_unit(report, explainer):
    said = text_of(report)
    assert "the function model predicts" in said
    assert "the model predicted price (€) from" in said
    assert "Contributions are in the model's price (€)." in said
    assert f"has an R² of {explainer.quality_.r2:.3f} and a mean absolute error of" in said
    assert not any(word in said for word in ("greement", "standard deviation of the model"))
    assert "Mean absolute error" in said
    assert "Coverage of rules' intervals" in said
    assert not any(word in said for word in ("log-odds", "probabilit", "Always the most common"))


def test_rows_hold_predictions_rules_intervals_and_counterfactuals_what_was_wished_for(report, explainer):
    frame, data = loans(30, seed=2), data_of(report)
    batch = explainer(frame)
    shown = numbers(data["rows"]["probability"])
    assert shown == pytest.approx(batch.predictions[:, 0], rel=1e-6)
    assert data["rows"]["numbers"]["answers"][0] == batch[0].headline
    rule = data["rules"]["rules"][int(numbers(data["rules"]["of_row"])[0])]
    assert data["rules"]["intervals"]
    assert rule["decision"] == explainer.rules(frame)[0].decision
    found = data["counterfactuals"]
    assert "it would change its answer by +" in found["wish"]
    assert "or more for price (€), about half a standard deviation" in found["wish"]
    least = 0.47 * explainer.fitted_.outputs.spread[0]
    for row, examples in found["examples"].items():
        for example in examples:
            after = float(example["answer"].removeprefix("price (€) = ").replace(",", ""))
            assert after >= shown[int(row)] + least


def test_counterfactuals_reach_what_the_caller_wishes_for_within_its_limits(explainer, tmp_path):
    frame = loans(30, seed=2)
    options = {"immutable": ["age"], "direction": {"income": "up"}, "desired_range": [150_000, None]}
    path = explainer.report(frame, tmp_path / "report.html", max_counterfactual_rows=10, **options)
    found = data_of(path)["counterfactuals"]
    assert found["wish"].endswith("with these changes, it would answer 150,000 or more for price (€).")
    examples = [example for each in found["examples"].values() for example in each]
    changes = [change for example in examples for change in example["changes"]]
    assert len(examples)
    assert not [name for name, *_ in changes if name == "age"]
    assert all(float(after) > float(before) for name, before, after in changes if name == "income")
    with pytest.raises(TypeError, match="report has no option 'imutable'; those of counterfactuals are"):
        explainer.report(frame, tmp_path / "report.html", imutable=["age"])
    asked = explainer.fitted_.black_box.n_asked
    with pytest.raises(SchemaError, match="immutable names 'agee'"):
        explainer.report(frame, tmp_path / "report.html", immutable=["agee"])
    assert explainer.fitted_.black_box.n_asked == asked
