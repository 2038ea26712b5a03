"""Reports of models that answer with numbers."""

import pytest

from illume import Explainer
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
    assert f"R² is {explainer.quality_.r2:.3f}" in said
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
    assert "price (€) rises by" in found["wish"]
    assert "half a standard deviation" in found["wish"]
    least = 0.47 * explainer.fitted_.outputs.spread[0]
    for row, examples in found["examples"].items():
        for example in examples:
            after = float(example["answer"].removeprefix("price (€) = ").replace(",", ""))
            assert after >= shown[int(row)] + least
