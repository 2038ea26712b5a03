"""The explorer's engine in JavaScript says what Python says without the model."""

import subprocess

import pytest

from illume.explanations.rules import RuleRequest, explain_rules
from illume.report.assemble import bundle
from tests.report.engine import NODE, STATIC, assert_equal, engine_says, needs_node

pytestmark = needs_node


@pytest.fixture(
    scope="module", params=["loan_explainer", "three_class_explainer", "limit_explainer", "loan_pullback"]
)
def compared(request, tmp_path_factory):
    explainer = request.getfixturevalue(request.param)
    X = (
        request.getfixturevalue("three_class")[1]
        if "three" in request.param
        else request.getfixturevalue("loan_frame")
    )
    fitted = explainer.fit_rules().fitted_
    frame = fitted.as_frame(X)
    _, said = engine_says(fitted, frame, tmp_path_factory.mktemp("engine"))
    return fitted, frame, said


def test_contributions_answers_slopes_and_trust_are_those_of_python(compared):
    fitted, frame, said = compared
    assert_equal(said, fitted, frame)


def test_rules_cover_the_same_rows_as_in_python(compared):
    fitted, frame, said = compared
    rules = explain_rules(fitted, frame, RuleRequest(output=None if fitted.outputs.decides else 0))
    for i in range(0, len(frame), 7):
        after = (i + 1) % len(frame)
        pair = frame.take([i, after]).native
        assert said["rules"][i] == rules[i].covers(pair).tolist()


def test_modules_can_be_put_into_one_scope(tmp_path):
    """No name stands at the top of two of them."""
    script = tmp_path / "all.js"
    script.write_text(bundle([path.stem for path in STATIC.glob("*.js")]))
    subprocess.run([NODE, "--check", script], check=True, timeout=60)
