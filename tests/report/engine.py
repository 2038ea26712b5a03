"""Run the explorer's engine in Node, and compare it with Python: an explainer without its model."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import illume.report
from illume.explanations.asked import Asked
from illume.explanations.attributions import attribute
from illume.explanations.fitted import TwinBlackBox
from illume.explanations.rule_summary import RuleSetRequest, summarize_rules
from illume.explanations.rules import RuleRequest, explain_rules
from illume.report.explorer_payload import explorer_payload

HERE = Path(__file__).parent
STATIC = Path(illume.report.__file__).parent / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the engine runs in Node, which is not there")
EQUAL, EXACT = 1e-5, 1e-9


def modules_in(folder):
    """Copy the engine's modules to where Node and browsers take them as modules."""
    folder.mkdir(exist_ok=True)
    for path in (*STATIC.glob("*.js"), *HERE.glob("*.js")):
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def run_script(script, *arguments):
    subprocess.run([NODE, HERE / script, *map(str, arguments)], check=True, timeout=600)


def without_model(fitted):
    """Return the reference: the twin's answers take the place of the model's."""
    known = fitted.with_unknown("ignore")
    return replace(known, black_box=TwinBlackBox(known.encoding, known.outputs, known.twin))


def write_payload(fitted, frame, folder):
    """Write the payload of a frame's rows to a file, and return it."""
    payload = explorer_payload(fitted, Asked.about(fitted, frame))
    (folder / "payload.json").write_text(json.dumps(payload, allow_nan=False))
    return payload


def read_figures(numbers, fitted):
    """Take the numbers apart that the engine wrote, row by row."""
    f, s = len(fitted.schema), len(fitted.outputs.explained)
    sizes = {"answers": len(fitted.outputs), "decision": 1, "values": f * s, "errors": f * s, "score": s}
    sizes |= {"base": s, "trust": 3, "far": 1, "odd": f, "rules": 2, "set": 1}
    rows = numbers.reshape(-1, sum(sizes.values()))
    return dict(zip(sizes, np.split(rows, np.cumsum(list(sizes.values()))[:-1], axis=1), strict=True))


def off(found, wanted, size=0.0):
    """Return the largest difference in any row, relative to the row's largest number, or to `size`."""
    wanted = np.array(wanted, dtype=np.float64).reshape(len(found), -1)
    assert (np.isnan(found) == np.isnan(wanted)).all()
    largest = np.maximum(np.nan_to_num(np.abs(wanted)).max(1), np.maximum(size, 1e-300))
    return float((np.nan_to_num(np.abs(found - wanted)).max(1) / largest).max())


def assert_equal(said, fitted, frame):
    """Check numbers within 1e-5 of a row's largest, an exact twin's within 1e-9; all else exactly."""
    alone, outputs = without_model(fitted), fitted.outputs
    found = attribute(alone, Asked.about(alone, frame))
    # A prediction may be near 0, as its differences to others are not: they count by the standard deviation.
    size = 0.0 if outputs.decides else min(outputs.spread)
    errors = {
        "values": off(said["values"], found.values),
        "answers": off(said["answers"], found.predictions, size),
        "base": off(said["base"], found.base_values),
        "score": off(said["score"], found.base_values + found.values.sum(1), np.abs(said["values"]).sum(1)),
    }
    assert max(errors.values()) < (EXACT if fitted.twin.exact else EQUAL), errors
    # Standard errors grow with the small difference that contributions miss the score by.
    assert off(said["errors"], found.standard_errors) < 10 * EQUAL
    if outputs.decides:
        assert (said["decision"][:, 0] == outputs.decide(found.predictions)).all()
    assert (said["far"][:, 0] == found.novelty.far).all()
    assert (said["odd"] == found.novelty.features).all()
    _assert_trust(said["trust"], fitted, frame, found.trust)
    return errors


def assert_the_models_own(said, fitted, frame):
    """Check answers against the model's own, within 1e-6 of the largest, and decisions exactly."""
    P = fitted.black_box(frame)
    error = float(np.abs(said["answers"] - P).max() / np.abs(P).max())
    assert error < 1e-6
    if fitted.outputs.decides:
        assert (said["decision"][:, 0] == fitted.outputs.decide(P)).all()
    return error


def _assert_trust(said, fitted, frame, trust):
    # Distances are differences of squares, which Python computes in single precision
    distance = fitted.places().distance(fitted.encode(frame).X)
    assert off(said[:, :1], distance, 1 + np.nan_to_num(distance).max()) < 1e-3
    assert off(said[:, 1:2], trust.contribution_error) < 10 * EQUAL
    np.testing.assert_allclose(np.clip(said[:, 2], 0, 1), trust.share, atol=10 * EQUAL)


def assert_rules_equal(said, fitted, frame, step=1):
    """Check on every `step`-th row which rows rules cover: the row itself and the next; exactly."""
    if not fitted.rules.ready:
        assert np.isnan(said["rules"]).all()
        assert np.isnan(said["set"]).all()
        return
    n, output = len(frame), None if fitted.outputs.decides else 0
    has_rows = len(fitted.rule_model.conditions.sample) > 0
    rules = explain_rules(fitted, Asked.about(fitted, frame), RuleRequest(output=output, polish=has_rows))
    for i in range(0, n, step):
        covers = rules[i].covers(frame.take(np.array([i, (i + 1) % n])).native)
        assert (said["rules"][i] == covers).all()
    if not has_rows:
        assert np.isnan(said["set"]).all()
        return
    found = summarize_rules(fitted, RuleSetRequest(output=output))
    covers = np.array([rule.covers(frame.native) for rule in found] + [np.ones(n, dtype=bool)])
    first = covers.argmax(0)
    assert (said["set"][:, 0] == np.where(first < len(found), first, -1)).all()
