"""Small files cannot take gigabytes: sizes are checked against a limit before anything is made of them."""

import os
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import load, save

import illume
from illume.data.limits import Budget
from illume.errors import FormatError
from tests.io.common import ARRAYS, change_arrays, forged, members_of

IDENTITY = "identity, ridge, a tree of one's own"
TEXT = "text alone, a class never decided, unknown ignored"
# Arrays that may hold what was not measured (NaN), and rows of users with missing values
MAY_BE_NAN = re.compile(
    r"reference\.(knots|below|at_most|missing)|rules\.curve\.(precision|coverage)"
    r"|twin\.model\.errors\.(variance|walk_variance)|rows\.(pool|background)\.frame\.(\d+\.)?values"
)
MEASURE = """
import resource, sys
import illume
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    illume.load(sys.argv[1])
except illume.errors.FormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_every_size_is_counted_before_memory_is_taken(saved_kinds, monkeypatch):
    path, steps, spend = saved_kinds(IDENTITY)[3], [], Budget.spend
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "spend", lambda self, n, what: (spend(self, n, what), steps.append((n, what))))
        illume.load(path)
    used = np.cumsum([n for n, _ in steps])
    for (n, what), total in zip(steps, used, strict=True):
        if n:
            with pytest.raises(FormatError, match=f"{re.escape(what)} would take .* the limit is"):
                illume.load(path, max_bytes=float(total - 1))
    said = "; ".join(what for _, what in steps)
    for words in (
        "reading .* MB; reading manifest.json",
        "rows of .* numbers and categories",
        "rows × .* latents; ",
        "rows × .* inputs",
        "tree: .* nodes × .* latents",
    ):
        assert re.search(words, said), (words, said)
    assert (used > 0).all()
    assert all(one <= other for one, other in pairwise(used))


def test_the_limit_is_stated_and_can_be_raised(small_file, monkeypatch):
    said = r"the limit is 0.1 MB; if you trust the file, pass max_bytes= or set ILLUME_MAX_BYTES"
    with pytest.raises(FormatError, match=said):
        illume.load(small_file, max_bytes=1e5)
    monkeypatch.setenv("ILLUME_MAX_BYTES", "1e5")
    with pytest.raises(FormatError, match=said):
        illume.load(small_file)
    illume.load(small_file, max_bytes=1e9)
    monkeypatch.setenv("ILLUME_MAX_BYTES", "plenty")
    with pytest.raises(ValueError, match="ILLUME_MAX_BYTES is 'plenty', expected a number of bytes"):
        illume.load(small_file)


def many_categories(path, n_categories, n_rows):
    """Return a small file, whose hashes are right, of many rows with many categories."""

    def change(manifest):
        features = manifest["schema"]["features"]
        (feature,) = (each for each in features if each["name"] == "education")
        feature["categories"] = [f"{i:x}" for i in range(n_categories)]

    def widen(content):
        arrays = load(content)
        owner = arrays["encoding.owner"]
        at = np.flatnonzero(np.bincount(owner) == 3)[0]  # the feature that gets more categories
        counts = np.where(np.arange(owner.max() + 1) == at, n_categories, np.bincount(owner))
        arrays["encoding.owner"] = np.repeat(np.arange(len(counts)), counts)
        for name in ("encoding.mean", "encoding.scale"):
            arrays[name] = np.full(int(counts.sum()), 0.5)
        coef = arrays["latent.coef"]  # stored transposed
        arrays["latent.coef"] = np.full((int(counts.sum()), *coef.shape[1:]), 0.5)
        for name in [name for name in arrays if name.startswith("rows.training.")]:
            arrays[name] = np.resize(arrays[name], (n_rows, *arrays[name].shape[1:]))
        arrays["reference.shares"] = np.full(len(arrays["reference.shares"]) - 3 + n_categories, 0.5)
        return save(arrays)

    return forged(path, change, (ARRAYS, widen))


def test_a_file_of_many_rows_and_categories_takes_little_memory(saved_kinds, tmp_path):
    content = many_categories(saved_kinds(IDENTITY)[3], 20_000, 20_000)
    assert len(content) < 5e6
    path = tmp_path / "bomb.illume"
    path.write_bytes(content)
    command = [sys.executable, "-c", MEASURE, str(path)]
    said, grown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.search(r"20,000 rows of 20,00\d numbers and categories would take about \d+\.\d+ GB", said)
    assert int(grown) < 200  # MB


def test_texts_that_are_made_wide_are_counted(saved_kinds, tmp_path):
    def widen(manifest):
        manifest["rows"]["pool"]["frame"]["columns"] |= {"type": "U", "size": 65_536}

    path = tmp_path / "wide.illume"
    path.write_bytes(forged(saved_kinds(TEXT)[3], widen))
    with pytest.raises(FormatError, match=r"pool.frame: \d+ by 2 texts of 65536 letters would take about"):
        illume.load(path, max_bytes=8e6)


def test_json_is_counted_by_the_values_in_it(small_file, tmp_path):
    path = tmp_path / "bomb.illume"
    path.write_bytes(forged(small_file, lambda manifest: manifest.update(more=[[]] * 1_000_000)))
    with pytest.raises(FormatError, match=r"reading manifest.json would take about 0.1\d GB"):
        illume.load(path, max_bytes=1e8)


@pytest.mark.parametrize("size", [3 * 2**30, 6 * 2**30])
def test_a_sparse_file_is_not_read(small_file, tmp_path, size):
    path = tmp_path / "sparse.illume"
    path.write_bytes(small_file.read_bytes())
    os.truncate(path, size)
    with pytest.raises(FormatError, match=r"reading .* MB would take about \d+\.\d+ GB"):
        illume.load(path)
    os.truncate(path, 10**8)
    with pytest.raises(FormatError, match="damaged or cut off"):
        illume.load(path)


def test_bytes_outside_of_the_members_are_refused(small_file, refused):
    content = small_file.read_bytes()
    for more in (b"\0", b"PK", b"a script" * 1_000):
        refused(content + more, f"{len(more)} bytes before, between or after the members")


def float_arrays(path):
    for name, array in load(members_of(path)[0][ARRAYS]).items():
        if array.dtype.kind == "f" and array.size:
            yield name


@pytest.mark.parametrize(
    "kind", [IDENTITY, "meta, three classes, pandas", "Shapley values, two classes, NumPy, measured errors"]
)
def test_no_array_may_hold_infinity_or_nan_unless_it_is_meant(saved_kinds, refused, kind):
    def put(value):
        def change(array):
            array = np.array(array)
            array.flat[array.size // 2] = value
            return array

        return change

    path = saved_kinds(kind)[3]
    arrays = list(float_arrays(path))
    assert len(arrays) > 15
    for name in arrays:
        endless, missing = (change_arrays(name, put(value)) for value in (np.inf, np.nan))
        refused(forged(path, change_member=endless), "infinity|holds inf")
        if not MAY_BE_NAN.fullmatch(name):
            refused(forged(path, change_member=missing), "NaN|no variance|nan")
