"""Result files that were changed, damaged or made to take memory are refused."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import illume
from illume.errors import FormatError
from illume.results.result_tables import write_table
from tests.io.common import differences

MEASURE = """
import resource, sys
import illume, pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    illume.load_result(sys.argv[1])
except illume.errors.FormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.fixture(scope="module")
def results(loan_explainer, loan_frame):
    X = loan_frame.head(12)
    return loan_explainer(X), loan_explainer.rules(X), loan_explainer.counterfactuals(X.head(4))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_after_a_flipped_bit_a_result_is_refused_or_what_it_was(results, tmp_path, which, suffix):
    path, rng, refused = tmp_path / f"a.{suffix}", np.random.default_rng(which), 0
    results[which].save(path)
    content, n = path.read_bytes(), 100
    for _ in range(n):
        changed = bytearray(content)
        changed[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(changed))
        try:
            found = illume.load_result(path)
        except FormatError:
            refused += 1
            continue
        assert not list(differences(found, results[which]))
    assert refused > n / 2


def edit(path, *where, to):
    """Change one value of a JSON file."""
    found = inner = json.loads(path.read_text(encoding="utf-8"))
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = to(inner[where[-1]])
    path.write_text(json.dumps(found), encoding="utf-8")


@pytest.mark.parametrize(
    ("which", "where", "to", "said"),
    [
        (0, ("rows", "values", "values", 3), lambda x: x + 1e-9, "changed or damaged .*; save it again"),
        (0, ("plain", "labels.features", 0), lambda name: f"{name}2", "changed or damaged"),
        (0, ("sha256",), lambda _: "0", "changed or damaged"),
        (0, ("rows", "predictions", "values", 0), lambda _: 5.0, "predictions .* no answers of a model"),
        (0, ("rows", "surrogate_predictions", "values", 0), lambda _: -0.5, "no answers of a model"),
        (0, ("rows", "trust.share", "values", 0), lambda _: -5.0, "share holds -5, expected 0 to 1"),
        (0, ("rows", "trust.contribution_error", "values", 0), lambda _: -1.0, "expected 0 or more"),
        (0, ("rows", "standard_errors", "values", 0), lambda _: -1.0, "standard_errors holds -1"),
        (0, ("rows", "values", "values", 0), lambda _: "inf", "values holds infinity"),
        (0, ("rows", "refinement.gamma_w", "values", 0), lambda _: 2.0, "gamma_w holds 2, expected 0 to 1"),
        (1, ("rows", "decisions", "values", 0), lambda _: 7, "decisions must be from 0 to 1"),
        (1, ("rows", "n_correct", "values", 0), lambda _: 10**6, "n_correct, n_covered and n_rows"),
        (2, ("rows", "rules.n_covered", "values", 0), lambda _: -3, "n_covered holds -3"),
        (2, ("examples", "row", "values", 0), lambda _: 9, "rows of examples must"),
        (2, ("examples", "example_predictions", "values", 0), lambda _: 5.0, "no answers of a model"),
    ],
)
def test_a_number_changed_by_hand_is_refused(results, tmp_path, which, where, to, said):  # noqa: PLR0917
    path = tmp_path / "a.json"
    results[which].save(path)
    illume.load_result(path)
    edit(path, *where, to=to)
    with pytest.raises(FormatError, match=said):
        illume.load_result(path)


def test_a_small_parquet_file_takes_little_memory(results, tmp_path):
    path = tmp_path / "a.parquet"
    results[0].save(path)
    head = pq.read_metadata(path).metadata[b"illume"]
    path.write_bytes(write_table(pa.table({"values": np.zeros(20_000_000)}), head))
    assert path.stat().st_size < 1e6
    command = [sys.executable, "-c", MEASURE, str(path)]
    limited = {**os.environ, "ILLUME_MAX_BYTES": "3e8"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=limited)
    said, grown = done.stdout.splitlines()
    assert "its 20,000,000 rows of 1 columns would take about 0.80 GB of memory" in said
    assert "and the limit is 0.30 GB" in said
    assert int(grown) < 100  # MB


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_the_limit_can_be_raised(results, tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    results[0].save(path)
    with pytest.raises(FormatError, match=r"would take .* pass max_bytes= or set ILLUME_MAX_BYTES"):
        illume.load_result(path, max_bytes=2_000)
    illume.load_result(path, max_bytes=1e8)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_sparse_file_is_not_read(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    path.touch()
    os.truncate(path, 6 * 2**30)
    with pytest.raises(FormatError, match=r"reading a.\w+ would take about 6.44 GB"):
        illume.load_result(path)
