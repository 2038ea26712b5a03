"""The same numbers whatever the number of threads and the size of the pieces."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import illume
from illume.data import threads
from illume.explanations import attributions as assembly
from tests.common import FAST, brief_shapley, grouped, linear_black_box, loans
from tests.io.test_golden import FILES

PROGRAM = """
import hashlib, json, sys
from dataclasses import replace
import numpy as np, torch
import illume
from illume.data.archive import VERSION
from illume.data.threads import thread_count
from tests.common import FAST, brief_shapley, grouped, use_local
from tests.io.test_golden import FILES, model, rows
torch.set_num_threads(int(sys.argv[1]))
if sys.argv[2] == "stored":
    X, explainer = rows(), illume.load(FILES / f"version{VERSION}.illume", model=model)
else:
    X = np.random.default_rng(0).normal(size=(800, 24))
    black_box = lambda X: 1 / (1 + np.exp(-(X[:, 0] * (X[:, 1] > 0) + np.abs(X[:, 2]))))
    settings = grouped(n_latents=4, queries=600, training=replace(FAST, max_steps=100))
    with brief_shapley():
        explainer = use_local(illume.Explainer(black_box, **settings).fit(X))
    assert explainer.fitted_.pair is explainer.fitted_.local
explained, rules = explainer(X), explainer.rules(X[:100])
found = {
    "values": explained.values,
    "slopes": explained.slopes,
    "probabilities": explained.surrogate_probabilities,
    "trust": explained.trust.contribution_error,
    "bounds": np.nan_to_num([rules.bounds.low, rules.bounds.high]),
    "rules": np.array([rule.text for rule in rules]),
    "curve": explainer.fitted_.rule_model.curve.precision,
}
mark = lambda each: hashlib.sha256(np.ascontiguousarray(each).tobytes()).hexdigest()
marks = {name: mark(each) for name, each in found.items()}
print(json.dumps(marks | {"threads": thread_count()}))
"""
TOLERANCE = 1e-5


def answers(threads, kind):
    root = Path(__file__).parents[1]
    path = os.pathsep.join([str(root / "src"), str(root)])
    many = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment = {**os.environ, **many, "PYTHONPATH": path}
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(threads), kind]
    answer = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return json.loads(answer.stdout)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
@pytest.mark.parametrize("kind", ["fitted", pytest.param("stored", marks=pytest.mark.slow)])
def test_one_thread_and_two_give_the_same_bits(kind):
    one, two = answers(1, kind), answers(2, kind)
    assert (one.pop("threads"), two.pop("threads")) == (1, 2)
    assert one == two


@pytest.mark.parametrize("piece", [7, 64, 1000])
def test_pieces_of_any_size_give_the_same_numbers(loan_explainer, monkeypatch, piece):
    rows = loans(300, seed=4)
    whole, rules = loan_explainer(rows), loan_explainer.rules(rows)
    pieces = [loan_explainer(rows.iloc[start : start + piece]) for start in range(0, len(rows), piece)]
    for name in ("values", "surrogate_probabilities", "slopes", "outside"):
        found = np.concatenate([getattr(each, name) for each in pieces])
        np.testing.assert_allclose(found, getattr(whole, name), rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
    parts = [loan_explainer.rules(rows.iloc[start : start + piece]) for start in range(0, len(rows), piece)]
    assert [rule.text for part in parts for rule in part] == [rule.text for rule in rules]
    monkeypatch.setattr(assembly, "BATCH_ROWS", piece)
    monkeypatch.setattr(threads.row_chunks, "__defaults__", (piece,))
    within = loan_explainer(rows)
    np.testing.assert_allclose(within.values, whole.values, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_array_equal(within.novelty.far, whole.novelty.far)


def test_the_stored_explainers_are_of_this_format():
    from illume.data.archive import VERSION

    assert (FILES / f"version{VERSION}.illume").is_file()
    assert illume.load(FILES / f"version{VERSION}.illume").fitted_.reference().n_rows == 90


def test_shapley_values_do_not_depend_on_the_surrogate():
    X, found = np.random.default_rng(0).normal(size=(150, 4)), []
    for n_latents, name in ((2, "pairs"), (3, "joint")):
        options = grouped(n_latents=n_latents, objective=name, training=FAST, queries=2_500)
        with brief_shapley():
            found.append(illume.Explainer(linear_black_box([2, -1, 1, 0.5]), **options).fit(X)(X))
    np.testing.assert_array_equal(found[0].values, found[1].values)
    np.testing.assert_array_equal(found[0].standard_errors, found[1].standard_errors)
