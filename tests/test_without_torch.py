"""Only training needs torch: a stored explainer explains where torch cannot be imported at all."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import illume
from illume.data.archive import VERSION
from illume.errors import MissingExtraError
from tests.io.test_golden import FILES, model, rows

REFUSED = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is not here")

sys.meta_path.insert(0, Refuse())
"""
EXPLAINS = """
import json
import numpy as np
import illume
from illume.data.archive import VERSION
from tests.io.test_golden import FILES, model, rows

explainer = illume.load(FILES / f"version{VERSION}.illume", model=model)
some = rows().iloc[::6]
found = explainer(some)
assert found.kind == "shapley"
refined = explainer(some, refine=6)
explainer.counterfactuals(some.head(3))
explainer.latents(some, maps=True)
explainer.check(some)
explainer.report(some, "report.html", max_counterfactual_rows=2)
explainer.save("again.illume")
again = illume.load("again.illume", model=model)
assert np.array_equal(again(some).values, found.values)
from illume import *
assert Explainer and MetaEncoder and Objective and Training
rules = [rule.text for rule in explainer.rules(some)]
assert "torch" not in sys.modules
numbers = {"values": found.values, "errors": found.standard_errors, "refined": refined.values}
print(json.dumps({"rules": rules} | {name: array.tolist() for name, array in numbers.items()}))
"""
FITS = """
import illume
from tests.io.test_golden import rows

asked = []
def model(frame):
    asked.append(len(frame))
    return [0.5] * len(frame)

def refused(call):
    try:
        call()
    except illume.errors.MissingExtraError as error:
        assert "illume[train]" in str(error)
    else:
        raise AssertionError(call)

frame = rows()
refused(lambda: illume.Explainer(model, twin="learned").fit(frame))
assert not asked
answer = lambda frame: (frame["age"] > 48) * 0.8 + 0.1
refused(lambda: illume.Explainer(answer).fit(frame))  # that it cannot be read is known once it has answered

from sklearn.linear_model import LinearRegression
frame = frame[["age", "income", "owner"]].fillna(30.0)
for encoder in ("meta", "linear", illume.MetaEncoder(2)):
    line = LinearRegression().fit(frame, frame["age"] - frame["income"])
    options = illume.SurrogateOptions(encoder=encoder)
    exact = illume.Explainer(line, surrogate_options=options, verbose=False).fit(frame)
    assert exact.quality_.word == "exact"
    found = exact(frame)
    found.to_frame(), str(found), exact.interactions(frame), exact.save("exact.illume")
    assert (illume.load("exact.illume")(frame).values == found.values).all()
    refused(lambda: found.slopes)
    refused(lambda: exact.rules(frame))
settings = {"surrogate_options": illume.SurrogateOptions(encoder="identity"), "contributions": "pullback"}
own = illume.Explainer(answer, **settings).fit(frame)
print(own(frame).values.shape[0])
"""


ROOT = Path(__file__).parents[1]


def run_refused(program, folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    words = [sys.executable, "-W", "error::RuntimeWarning", "-c", REFUSED + program]
    answer = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert answer.returncode == 0, answer.stderr[-2000:]
    return json.loads(answer.stdout)


def test_a_stored_explainer_explains_without_torch_as_with_it(tmp_path):
    found = run_refused(EXPLAINS, tmp_path)
    explainer, some = illume.load(FILES / f"version{VERSION}.illume", model=model), rows().iloc[::6]
    here, refined = explainer(some), explainer(some, refine=6)
    wanted = {"values": here.values, "errors": here.standard_errors, "refined": refined.values}
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-9, err_msg=name)
    assert np.abs(refined.values - here.values).max() > 1e-3
    assert found["rules"] == [rule.text for rule in explainer.rules(some)]
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_without_torch_models_that_are_read_are_explained_and_others_say_what_is_missing(tmp_path):
    assert run_refused(FITS, tmp_path) == len(rows())


@pytest.mark.parametrize("kind", [illume.MetaEncoder, illume.LinearEncoder])
def test_without_torch_an_encoder_cannot_be_fitted(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"this needs torch; .*illume\[train\]"):
        kind(2).fit(np.zeros((4, 2)), [0, 1, 0, 1])


def test_the_small_image_installs_all_that_is_required_but_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {each for each in project["dependencies"] if not each.startswith("torch")}
    wanted |= set(project["optional-dependencies"]["pandas"])
    dockerfile = re.search(
        r"```dockerfile\n(.*?)```", (ROOT / "docs/guides/slim.md").read_text(), flags=re.DOTALL
    )
    assert set(re.findall(r'"([^"]+)"', dockerfile[1])) == wanted
    torch = [each for each in project["dependencies"] if each.startswith("torch")]
    assert project["optional-dependencies"]["train"] == torch
