"""Hypothesis strategies for frames as they come, and worse; and black boxes that answer any of them."""

import os
import zlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from illume.data.column_values import Storage
from illume.data.frames import as_frame

NAMES = (
    *("a", "A", "a ", " a", "á", "a\u0301", "", " ", "0", "1", "1.0", "x0", "x1", "nan", "None", "row"),
    *("decision", "probability", "agreed", "rest", "offset", "index", "feature", "value", "base_value"),
    *("a = b", "<b>bold</b>", "</script>", "'", '"', "\\", "%s", "{0}", "${x}", "`", "line\nbreak", "tab\t"),
    *("é" * 40, "名前", "Привет", "שם", "😀", "\u200b", "\ufeff", "a,b", "a;b", "#", "-", "_", "__class__"),
    *("q" * 300, "A.B", "a/b", "NULL", "select", "constructor", "__proto__"),
)
WORDS = (
    *("", " ", "a", "A", "á", "a\u0301", "nan", "None"),
    *("0", "1", "1.0", "(missing)", "(other)", "<i>", "😀", "\n"),
)
N_ROWS = (10, 11, 14, 20, 33)
# For each property; by default as many as fit in the default run.
EXAMPLES = int(os.environ.get("ILLUME_FUZZ_EXAMPLES", "0"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)


def examples(default):
    """Return the settings of a property that the default run tries so often."""
    return settings(
        max_examples=EXAMPLES or default,
        deadline=None,
        derandomize=not EXAMPLES,
        database=None,
        phases=PHASES,
        print_blob=bool(EXAMPLES),
        suppress_health_check=list(HealthCheck),
    )


def _scaled(exponent):
    return lambda rng, n: rng.normal(size=n) * 10.0**exponent


def _objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    return column


COLUMNS = {
    "normal": _scaled(0),
    "1e300": _scaled(300),
    "1e-300": _scaled(-300),
    "1e150": _scaled(150),
    "any magnitude": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n),
    "ends": lambda rng, n: rng.choice([1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0, 1.0, 2.2e-308], n),
    "close": lambda rng, n: 1e9 + rng.integers(0, 4, n) * 1e-7,
    "ties": lambda rng, n: rng.choice([0.0, 0.1, 0.1 + 1e-17, 3.0], n),
    "constant": lambda rng, n: np.full(n, 7.5),
    "nearly constant": lambda rng, n: np.append(np.zeros(n - 1), 1e-5),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "small integers": lambda rng, n: rng.integers(-3, 4, n),
    "large integers": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "unsigned": lambda rng, n: rng.integers(0, 2**64 - 1, n, dtype=np.uint64),
    "booleans": lambda rng, n: rng.random(n) < 0.5,
    "one boolean": lambda rng, n: np.ones(n, dtype=bool),
    "text": lambda rng, n: _objects(rng.choice(["low", "middle", "high"], n).tolist()),
    "odd text": lambda rng, n: _objects(rng.choice(WORDS, n).tolist()),
    "one text": lambda rng, n: _objects(["same"] * n),
    "a name for every row": lambda rng, n: _objects([f"row {i}" for i in range(n)]),
    "codes and text": lambda rng, n: _objects([["a", 1, 2.5, True][i] for i in rng.integers(0, 4, n)]),
    "nothing": lambda rng, n: np.full(n, np.nan),
    "nullable integers": lambda rng, n: pd.array(rng.integers(0, 5, n), dtype="Int64"),
    "nullable booleans": lambda rng, n: pd.array(rng.random(n) < 0.5, dtype="boolean"),
    "strings": lambda rng, n: pd.array(rng.choice(["u", "v"], n).tolist(), dtype="string"),
    "categories": lambda rng, n: pd.Categorical(rng.choice(["s", "m", "l"], n), ["l", "m", "s", "never"]),
    "number categories": lambda rng, n: pd.Categorical(rng.choice([1, 2, 3], n)),
}
WHOLE = frozenset({"small integers", "large integers", "unsigned", "booleans", "one boolean"})


def column(kind, seed, n, missing=0.0):
    """Return a column of some kind; a share of it is missing where the kind can have that."""
    rng = np.random.default_rng(seed)
    made = COLUMNS[kind](rng, n)
    gone = rng.random(n) < missing
    if not gone.any() or kind in WHOLE:
        return made
    if isinstance(made, np.ndarray) and made.dtype != object:
        return np.where(gone, np.nan, made)
    if isinstance(made, np.ndarray):
        return _objects([None if lost else value for value, lost in zip(made, gone, strict=True)])
    return pd.Series(made).mask(gone).array


@st.composite
def frames(draw, kinds=tuple(COLUMNS), n_rows=N_ROWS, most=8, wide=200):
    """Draw a pandas frame: mostly a few columns, at times up to 200."""
    n = draw(st.sampled_from(n_rows))
    m = draw(st.integers(1, most))
    missing = st.sampled_from((0.0, 0.0, 0.2, 0.9))
    columns = [(draw(st.sampled_from(kinds)), draw(st.integers(0, 99)), draw(missing)) for _ in range(m)]
    names = draw(st.lists(st.sampled_from(NAMES), min_size=m, max_size=m, unique=True))
    if wide and draw(st.integers(0, 24)) == 24:
        more = draw(st.integers(20, wide)) - m
        kind = draw(st.sampled_from(kinds))
        columns += [(kind, seed, 0.0) for seed in range(more)]
        names += [f"column {i}" for i in range(more)]
    made = {name: column(*spec[:2], n, spec[2]) for name, spec in zip(names, columns, strict=True)}
    return pd.DataFrame(made)


@dataclass(frozen=True)
class Model:
    """A black box of any frame, library and order of rows: each column adds to the classes' log-odds."""

    seed: int
    n_classes: int = 2
    steepness: float = 4.0
    lean: float = 0.0

    def __call__(self, rows):
        frame = as_frame(rows)
        logits = np.zeros((len(frame), self.n_classes))
        logits[:, 0] += self.lean
        for name in sorted(frame.names):
            weights = np.random.default_rng([self.seed, zlib.crc32(name.encode())]).normal(
                size=self.n_classes
            )
            logits += self.steepness * np.outer(_signal(frame, name), weights)
        weights = np.exp(logits - logits.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)


def _signal(frame, name):
    """Return a column as numbers between -1 and 1, whatever it holds."""
    native = frame.select([name]).native
    mixed = hasattr(native, "iloc") and native.iloc[:, 0].dtype == object  # whatever these few rows hold
    if not mixed and frame.storage(name) is not Storage.LABEL:
        numbers = frame.numbers(name)
        size = np.log10(np.maximum(np.abs(numbers), 1e-300))
        return np.nan_to_num(np.sign(numbers) * np.tanh(np.exp(np.clip(size, -5, 5) / 3)), nan=0.3)
    # A column of nothing has no type in some libraries, so that what is missing counts the same in all types.
    values = frame.labels(name)
    return np.array(
        [0.3 if value is None else zlib.crc32(repr(value).encode()) / 2**31 - 1 for value in values]
    )


models = st.builds(
    Model,
    seed=st.integers(0, 50),
    n_classes=st.integers(2, 4),
    steepness=st.sampled_from((0.5, 4.0, 50.0)),
    lean=st.sampled_from((0.0, 0.0, 0.0, 100.0)),
)
