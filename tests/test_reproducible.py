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
from tests.common import loans
from tests.io.test_golden import FILES

PROGRAM = """
import json, sys
import numpy as np, torch
import illume
from tests.common import grouped, use_local
from tests.io.test_golden import FILES, model, rows
torch.set_num_threads(int(sys.argv[1]))
if sys.argv[2] == "stored":
    explainer = illume.load(FILES / "version6.illume", model=model)
else:
    training = illume.Training(batch_size=32, max_epochs=5)
    settings = grouped(n_latents=2, queries=100, training=training)
    explainer = illume.Explainer(model, **settings).fit(rows())
    use_local(explainer)
explained = explainer(rows())
found = {
    "values": explained.values.tolist(),
    "probabilities": explained.surrogate_probabilities.tolist(),
    "bounds": np.nan_to_num(explainer.rules(rows()).bounds.low).tolist(),
}
print(json.dumps(found))
"""
TOLERANCE = 1e-5


def answers(threads, kind):
    root = Path(__file__).parents[1]
    path = os.pathsep.join([str(root / "src"), str(root)])
    many = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment = {**os.environ, **many, "PYTHONPATH": path}
    words = [sys.executable, "-c", PROGRAM, str(threads), kind]
    answer = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return json.loads(answer.stdout)


@pytest.mark.parametrize("kind", ["stored", pytest.param("fitted", marks=pytest.mark.slow)])
def test_one_thread_and_two_give_the_same_numbers(kind):
    one, two = answers(1, kind), answers(2, kind)
    for figure, wanted in one.items():
        np.testing.assert_allclose(two[figure], wanted, rtol=TOLERANCE, atol=TOLERANCE, err_msg=figure)


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
    monkeypatch.setattr(threads.RowChunks.__init__, "__defaults__", (piece,))
    within = loan_explainer(rows)
    np.testing.assert_allclose(within.values, whole.values, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(within.trust.distance, whole.trust.distance, rtol=1e-3, atol=1e-3)


def test_the_stored_explainers_are_of_this_format():
    from illume.data.archive import VERSION

    assert (FILES / f"version{VERSION}.illume").is_file()
    assert illume.load(FILES / f"version{VERSION}.illume").fitted_.reference.n_rows == 90
