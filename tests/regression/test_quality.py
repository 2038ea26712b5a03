"""Figures of quality, trust, drift and metrics, in the units of the number."""

import numpy as np
import pytest

from illume import metrics
from illume.metrics import Boxes


@pytest.mark.parametrize("name", ["linear", "factors"])
def test_quality_of_a_learned_twin_is_that_of_the_report_rows(name, request):
    case = request.getfixturevalue(name)
    fitted, quality = case.explainer.fitted_, case.explainer.quality_
    rows = case.X.iloc[fitted.split.report]
    y, frame = case.predict(rows), fitted.as_frame(rows)
    twin = fitted.twin.scores(fitted.twin.read(frame, fitted.encode(frame)))
    q = fitted.outputs.answers_of(twin)[:, 0]
    assert (quality.word, quality.exact) != ("exact", True)
    assert quality.error == pytest.approx(np.abs(y - q).mean(), rel=1e-4)
    assert quality.r2 == pytest.approx(1 - np.square(y - q).sum() / np.square(y - y.mean()).sum(), rel=1e-4)
    assert quality.r2 > 0.9


def test_a_model_that_is_read_is_its_own_twin(houses):
    quality = houses.explainer.quality_
    assert (quality.word, quality.exact, quality.error, quality.agreement) == ("exact", True, 0, 1)


def test_quality_of_the_surrogate_is_that_of_the_report_rows(houses):
    quality, rows = (
        houses.explainer.fit_latents().quality_.surrogate,
        houses.X.iloc[houses.explainer.fitted_.split.report],
    )
    y, q = houses.predict(rows), houses.explainer(rows).surrogate_predictions[:, 0]
    assert quality.report.error == pytest.approx(np.abs(y - q).mean(), rel=1e-4)
    assert quality.r2 == pytest.approx(1 - np.square(y - q).sum() / np.square(y - y.mean()).sum(), rel=1e-4)
    close = np.abs(y - q) <= 0.1 * houses.predict(houses.X).std()
    assert quality.agreement == pytest.approx(close.mean(), abs=0.05)
    assert quality.r2 > 0.9


@pytest.mark.parametrize("name", ["houses", "linear", "pair", "factors"])
def test_texts_speak_of_numbers(name, request):
    case = request.getfixturevalue(name)
    explainer, rows = case.explainer, case.X[:10]
    output = 0 if name == "pair" else None
    attributions, rules = explainer(rows), explainer.rules(rows, output=output)
    found = explainer.counterfactuals(rows[:3], threshold=float(case.predict(rows).mean()), output=output)
    shown = [explainer.quality_, explainer.rule_quality_, attributions, attributions[0], rules, rules[0]]
    shown += [
        found,
        found[0],
        explainer.check(rows),
        explainer.interactions(rows[:2]),
        explainer.latents(rows),
    ]
    shown += [explainer.rule_set(output=output)]
    for result in shown:
        for word in ("log-odds", "probabilit", "class"):
            assert word not in str(result).lower(), type(result)
            assert word not in result._repr_html_().lower().replace("class=", ""), type(result)


def test_units_are_shown(houses, linear):
    text = str(houses.explainer(houses.X[:1])[0])
    assert f"price = {houses.predict(houses.X[:1])[0]:,.0f}" in text
    assert "Contributions: exact, in price" in str(houses.explainer.quality_)
    assert "units of prediction" in str(linear.explainer.quality_)


def test_trust_of_a_row_is_the_typical_error_of_its_contributions(factors, linear):
    for case in (factors, linear):
        found = case.explainer(case.X)
        trust, errors = found.trust, found.standard_errors
        np.testing.assert_allclose(trust.contribution_error, np.sqrt(np.square(errors).mean(1)), rtol=1e-5)
        assert (trust.contribution_error > 0).all()
        assert ((trust.share >= 0) & (trust.share <= 1)).all()
        assert set(trust.level) <= {"high", "fair", "low"}
        measured = case.explainer.quality_.contributions
        assert measured.error / 3 < found.typical_error < 3 * measured.error
        assert measured.coverage > 0.85


def test_rows_of_a_model_that_is_read_are_exact(houses):
    trust = houses.explainer(houses.X).trust
    assert not trust.contribution_error.any()
    assert set(trust.level) == {"exact"}


def test_rows_like_the_fitted_ones_pass_the_check_and_others_do_not(houses):
    assert houses.explainer.check(houses.X).ok
    other = houses.X.assign(age=houses.X["age"] + 200)
    check = houses.explainer.check(other)
    assert not check.ok
    assert "age" in " ".join(check.warnings)
    assert "decide" not in str(check)


def ask(X):
    return 100 * X[:, 0] - 50 * X[:, 1]


def test_metrics_take_numbers(linear):
    X = linear.X.to_numpy()
    slopes = np.tile([100.0, -50.0, 0.0, 0.0], (len(X), 1))
    fidelity = metrics.local_fidelity(slopes, X, ask, None)
    assert (fidelity.correlation, fidelity.r2, fidelity.agreement) == pytest.approx((1, 1, 1))
    values = slopes * (X - X.mean(0))
    known = {"background": X, "n_samples": 64}
    assert metrics.infidelity(values, X, ask, None, **known) < 0.05
    assert metrics.infidelity(values[:, ::-1], X, ask, None, **known) > 0.5
    gap = metrics.prediction_gap(values, X, ask, None, background=X)
    assert gap > metrics.prediction_gap(values, X, ask, None, background=X, important=False)
    areas = [
        change(values, X, ask, None, background=X, signed=True)
        for change in (metrics.insertion, metrics.deletion)
    ]
    assert areas[0] > areas[1]
    assert metrics.faithfulness(values, ask(X)[:, None]) > 0
    assert 0 < metrics.robustness(values, X, np.zeros(len(X))) <= 1
    with pytest.raises(ValueError, match=r"ask must answer \(n,\) numbers"):
        metrics.infidelity(values, X, lambda X: np.stack([ask(X)] * 2, axis=1), None, background=X)


def test_metrics_of_rules_and_counterfactuals_take_intervals_and_ranges():
    boxes, X = Boxes(np.array([[0.0]]), np.array([[2.0]])), np.array([[0.0], [1.0], [2.0], [3.0]])
    precision, coverage = metrics.rule_precision(boxes, np.array([[5.0, 15.0]]), X, 10 * X[:, 0])
    assert (precision[0], coverage[0]) == (1 / 3, 0.75)
    valid = metrics.validity(X, np.tile([5.0, 20.0], (4, 1)), lambda X: 10 * X[:, 0])
    assert valid.tolist() == [False, True, True, False]
