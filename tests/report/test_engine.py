"""The explorer's engine in JavaScript says what Python says without the model."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest

from illume.data.rounded_weights import BITS, common_unit
from illume.explanations.asked import Asked
from illume.report.assemble import bundle
from tests.report.engine import (
    NODE,
    STATIC,
    assert_equal,
    assert_rules_equal,
    modules_in,
    needs_node,
    read_figures,
    run_script,
    without_model,
    write_payload,
)
from tests.report.explorer_fits import KINDS, fit, rows

pytestmark = needs_node


class Compared:
    """An explainer, rows, and what the engine says of them in Node."""

    def __init__(self, explainer, X, folder):
        self.fitted = explainer.fitted_.with_unknown("ignore")
        self.frame = self.fitted.as_frame(X)
        self.payload = write_payload(self.fitted, self.frame, folder)
        numbers, rest = folder / "figures", folder / "rest.json"
        run_script("run_engine.mjs", modules_in(folder / "modules"), folder / "payload.json", numbers, rest)
        self.said, self.rest = read_figures(np.fromfile(numbers), self.fitted), json.loads(rest.read_text())


@pytest.fixture(scope="module", params=KINDS)
def compared(request, tmp_path_factory):
    X = rows(request.param, 120, seed=1)
    X.loc[:5, "x0"] = 40.0
    return Compared(fit(request.param), X, tmp_path_factory.mktemp("engine"))


def test_contributions_answers_and_trust_are_those_of_python(compared):
    assert_equal(compared.said, compared.fitted, compared.frame)


def test_matrices_of_values_are_rounded_in_fit_and_kept_exactly(compared):
    network = compared.fitted.twin.model.values
    for name in ("first", "last"):
        matrix, packed = getattr(network, name), compared.payload["twin"][name]
        assert packed["unit"] == common_unit(matrix)
        assert np.sqrt(np.square(matrix).mean()) < 2 ** (BITS + 1) * packed["unit"]


def test_reasons_of_rows_outside_are_in_the_words_of_python(compared):
    novelty = Asked.about(compared.fitted, compared.frame).novelty(compared.fitted)
    assert compared.rest["reasons"] == [list(novelty.reasons(i)) for i in range(len(compared.frame))]
    assert compared.rest["reasons"][0]


def test_rules_cover_the_same_rows_as_in_python(compared):
    assert_rules_equal(compared.said, compared.fitted, compared.frame, step=7)


def test_curves_and_grids_are_explanations_of_the_changed_rows(compared):
    assert compared.rest["shortcuts"] < 1e-9


def _changed(fitted, frame, values):
    """Return rows that JavaScript gave, with the types of a frame."""
    native = frame.native
    columns = zip(native.columns, zip(*values, strict=True), strict=True)
    arrays = {name: pd.array(list(each), dtype=native[name].dtype) for name, each in columns}
    return fitted.as_frame(pd.DataFrame(arrays))


def _reached(outputs, asked, P, own):
    """Return which answers are as desired."""
    desired = asked["desired"]
    if outputs.decides:
        decided = outputs.decide(P)
        return decided != outputs.decide(own)[0] if desired is None else decided == desired
    low, high = desired
    return P[:, 0] >= low if high is None else P[:, 0] <= high


def _steps(fitted, j, before, after):
    """Return how far values of a feature are from its own: standard deviations, 1 for another category."""
    feature, encoding = fitted.schema.features[j], fitted.encoding
    if not feature.numeric:
        return np.ones(len(after))
    start = encoding.mean[encoding.owner == j][0] if before is None else before
    return np.abs(np.array(after, dtype=float) - start) / encoding.standard_deviation(j)


def test_least_changes_keep_limits_reach_the_goal_and_no_single_seen_value_is_nearer(compared):
    fitted, said = without_model(compared.fitted), compared.rest["recourses"]
    # The network of the widest explainer is hardly trained
    assert any(asked["examples"] for asked in said) or len(fitted.schema) == 100
    if not fitted.outputs.decides:  # one change in narrow limits is not enough
        assert any(len(each["changes"]) > 1 for asked in said for each in asked["examples"])
    for asked in said:
        assert asked["again"] == asked["examples"]
        values, outputs = asked["row"], fitted.outputs
        own = fitted.black_box(_changed(fitted, compared.frame, [values]))
        for example in asked["examples"]:
            changed = {change["j"]: change["to"] for change in example["changes"]}
            assert example["row"] == [changed.get(j, value) for j, value in enumerate(values)]
            assert 1 <= len(changed) <= asked.get("maxChanges", 3)
            assert not set(changed) & set(asked.get("locked", []))
            P = fitted.black_box(_changed(fitted, compared.frame, [example["row"]]))
            assert _reached(outputs, asked, P, own).all()
            for j, value in changed.items():
                feature = fitted.schema.features[j]
                assert value != values[j]
                assert not feature.numeric or not feature.whole or value == round(value)
                if str(j) in asked.get("directions", {}):
                    assert asked["directions"][str(j)] * (value - values[j]) > 0
                if str(j) in asked.get("ranges", {}):
                    low, high = asked["ranges"][str(j)]
                    assert low <= value <= high
        nearest = _nearest_single(fitted, compared, asked, own)
        if asked["examples"] and len(asked["examples"][0]["changes"]) == 1:
            assert asked["examples"][0]["distance"] <= nearest + 1e-9
        else:
            assert nearest == np.inf


def _nearest_single(fitted, compared, asked, own):
    """Return how far the nearest seen value is that alone reaches the goal; infinite if none does."""
    rows_tried, steps = [], [np.empty(0)]
    for j, feature in enumerate(compared.payload["features"]):
        before, way = asked["row"][j], asked.get("directions", {}).get(str(j), 0)
        known = feature["knots"] if feature["kind"] == "number" else feature["categories"]
        low, high = asked.get("ranges", {}).get(str(j), [-np.inf, np.inf])
        tried = [value for value in known if value not in (before, None, "(other)")]
        if feature["kind"] == "number":
            tried = [value for value in tried if low <= value <= high]
            tried = [
                value for value in tried if not way or (before is not None and way * (value - before) > 0)
            ]
        if j in asked.get("locked", []) or not feature["width"]:
            continue
        rows_tried += [[*asked["row"][:j], value, *asked["row"][j + 1 :]] for value in tried]
        steps.append(_steps(fitted, j, before, tried))
    P = fitted.black_box(_changed(fitted, compared.frame, rows_tried))
    return min(np.concatenate(steps)[_reached(fitted.outputs, asked, P, own)], default=np.inf)


def test_modules_can_be_put_into_one_scope(tmp_path):
    """No name stands at the top of two of them."""
    script = tmp_path / "all.js"
    script.write_text(bundle([path.stem for path in STATIC.glob("*.js")]))
    subprocess.run([NODE, "--check", script], check=True, timeout=60)
