"""Run the explorer's engine in Node, and compare it with Python: an explainer without its model."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import illume.report
from illume.explanations.attributions import attribute
from illume.explanations.fitted import SurrogateBlackBox
from illume.report.explorer_payload import explorer_payload

HERE = Path(__file__).parent
STATIC = Path(illume.report.__file__).parent / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the engine runs in Node, which is not there")
EQUAL = 1e-5


def modules_in(folder):
    """Copy the engine's modules to where Node takes them as modules."""
    folder.mkdir(exist_ok=True)
    for path in (*STATIC.glob("*.js"), *HERE.glob("*.js")):
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def run_script(script, *arguments):
    subprocess.run([NODE, HERE / script, *map(str, arguments)], check=True, timeout=600)


def without_model(fitted):
    """Return the reference: the surrogate's answers take the place of the model's."""
    known = fitted.with_unknown("ignore")
    return replace(known, black_box=SurrogateBlackBox(known.encoding, known.pair))


def engine_says(fitted, frame, folder):
    """Return the payload of a frame's rows, and all that the engine says of them in Node."""
    payload = explorer_payload(fitted, frame)
    (folder / "payload.json").write_text(json.dumps(payload, allow_nan=False))
    modules, said = modules_in(folder / "modules"), folder / "said.json"
    run_script("run_engine.mjs", modules, folder / "payload.json", said)
    return payload, json.loads(said.read_text())


def off(found, wanted, size=None):
    """Return the largest difference in any row, relative to the row's largest number, or to `size`."""
    found, wanted = (np.array(each, dtype=np.float64).reshape(len(each), -1) for each in (found, wanted))
    assert (np.isnan(found) == np.isnan(wanted)).all()
    largest = np.maximum(np.nan_to_num(np.abs(wanted)).max(1), 1e-300 if size is None else size)
    return (np.nan_to_num(np.abs(found - wanted)).max(1) / largest).max()


def assert_equal(said, fitted, frame):
    """Check contributions, answers, slopes and trust within 1e-5 of a row's largest, and flags exactly."""
    found = attribute(without_model(fitted), frame.native)
    outputs = fitted.outputs
    # A prediction may be near 0, as its differences to others are not: they count by the standard deviation.
    size = None if outputs.decides else np.array(outputs.spread).min()
    assert off(said["values"], found.values) < EQUAL
    assert off(said["answers"], found.predictions, size) < EQUAL
    assert off(said["slopes"], found.slopes) < EQUAL
    assert off(said["base"], found.base_values) < EQUAL
    assert off(said["errors"], found.standard_errors) < EQUAL
    if outputs.decides:
        assert said["decision"] == outputs.decide(found.predictions).tolist()
    trust = np.array(said["trust"], dtype=np.float64)
    assert (np.isnan(trust[:, 3]) == np.isnan(found.trust.contribution_error)).all()
    np.testing.assert_allclose(trust[:, 0], found.trust.agreement, atol=1e-12)
    np.testing.assert_allclose(trust[:, 1], found.trust.error, rtol=1e-9, atol=1e-12)
    # Distances are differences of squares, which Python computes in single precision.
    assert np.abs(trust[:, 2] - found.trust.distance).max() < 1e-3 * (1 + found.trust.distance.max())
    assert said["far"] == found.novelty.far.tolist()
    assert said["odd"] == found.novelty.features.tolist()
    assert said["reasons"] == [list(found.novelty.reasons(i)) for i in range(len(found))]
    return found
