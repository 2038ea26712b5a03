"""Change saved files at random and load them: a file is rejected, or it loads as what was saved."""

from __future__ import annotations

import io
import json
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import illume
from benchmarks.crashes import saved_bytes
from illume.data import archive
from illume.data.later import Later
from illume.errors import FormatError

EVENTS = (
    *("exec", "compile", "import", "marshal.loads", "pickle.find_class", "code.__new__"),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "subprocess.Popen"),
    *("ctypes.dlopen", "socket.connect", "shutil.rmtree"),
)
JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**70, 1e308, "nan", "x" * 99),
    *([], {}, [[]], {"text": "y"}, {"float": "inf"}),
)
WARM_UP = 100  # forged files, so that everything is imported before events count
Rng = np.random.Generator


@dataclass
class Watch:
    """Counts audit events of Python, such as imports and processes, during a load."""

    on: bool = False
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, event: str, args: Any) -> None:
        if self.on and event in EVENTS:
            self.seen[event] += 1


@dataclass
class Outcome:
    """The results of loading files with one kind of change."""

    refused: int = 0
    same: int = 0
    wrong: int = 0
    crashes: Counter[str] = field(default_factory=Counter)


def mutated_files(n: int = 10_000) -> int:
    """Load n changed files and n / 5 forged ones, whose hashes are valid again, and print the results.

    Changed files must be rejected or load as the original; forged ones may load, but nothing else may happen.
    """
    outcomes, events = load_mutated(n, forgeries=n // 5)
    print(f"{'':<16} {'refused':>8} {'same':>6} {'wrong':>6} {'crashed':>8}")
    for kind, outcome in outcomes.items():
        crashed = sum(outcome.crashes.values())
        print(f"{kind:<16} {outcome.refused:>8} {outcome.same:>6} {outcome.wrong:>6} {crashed:>8}")
        for error, count in outcome.crashes.most_common(5):
            print(f"    {count} × {error}")
    print(f"code run, processes, files touched while loading: {dict(events) or 'none'}")
    return int(bool(events) or any(o.wrong or o.crashes for o in outcomes.values()))


def load_mutated(n: int, seed: int = 0, forgeries: int = 0) -> tuple[dict[str, Outcome], Counter[str]]:
    """Load changed and forged files; return the results by kind of change, and audit events."""
    rng, files, watch = np.random.default_rng(seed), valid_files(), Watch()
    outcomes = {name: Outcome() for name in (*MUTATIONS, "forged")}
    sys.addaudithook(watch)
    with tempfile.TemporaryDirectory() as name:
        folder, other_rng = Path(name), np.random.default_rng(seed + 1)
        for i in range(WARM_UP):
            content = files[i] if i < len(files) else forge(other_rng, files[i % len(files)])
            load_one(content, None, folder, Watch(), Outcome())
        for i in range(n + forgeries):
            one, other = (files[j] for j in rng.permutation(len(files))[:2])
            kind = list(MUTATIONS)[i % len(MUTATIONS)] if i < n else "forged"
            content = MUTATIONS[kind](rng, one, other) if i < n else forge(rng, one)
            load_one(content, one if i < n else None, folder, watch, outcomes[kind])
    return outcomes, watch.seen


def load_one(content: bytes, original: bytes | None, folder: Path, watch: Watch, outcome: Outcome) -> None:
    """Load one file and compare it with the original, if given."""
    path = folder / "mutated.illume"
    path.write_bytes(content)
    watch.on = True
    try:
        explainer = illume.load(path)
    except FormatError:
        outcome.refused += 1
        return
    except BaseException as error:
        watch.on = False
        outcome.crashes[f"{type(error).__name__}: {error}"[:120]] += 1
        return
    finally:
        watch.on = False
    rows = "all" if len(explainer.fitted_.rows.training) else "none"
    if original is None or saved_bytes(explainer, rows) == original:
        outcome.same += 1
    else:
        outcome.wrong += 1


def valid_files() -> list[bytes]:
    """Return small files: numbers only, text and missing values, and of models that were read."""
    import pandas as pd

    rng = np.random.default_rng(0)
    objective = illume.Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_y=0.0, width=4)
    training = illume.Training(batch_size=32, max_epochs=2)
    small = illume.SurrogateOptions(n_latents=2, training=training, objective=objective)
    options = {"queries": 20, "surrogate_options": small, "verbose": False}
    X = rng.normal(size=(40, 3))
    plain = illume.Explainer(lambda rows: 1 / (1 + np.exp(-3 * rows[:, 0] * rows[:, 1])), **options).fit(X)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["u", "v", "w"], 60)})
    frame.loc[::9, "a"] = np.nan

    def three_classes(rows: Any) -> Any:
        a = np.nan_to_num(rows["a"].to_numpy())
        weights = np.exp(np.stack([a, (rows["b"] == "u") * 1.0, np.zeros(len(a))], axis=1))
        return weights / weights.sum(1, keepdims=True)

    mixed = illume.Explainer(three_classes, **options).fit(frame)
    for explainer in (plain, mixed):
        fitted = explainer.fit_rules().fitted_
        # the trained encoder, even if it is not the better one
        latent, rules = fitted.latents(), fitted.rules
        near = latent.local.neighbours(fitted.rows.training, fitted.outputs.strata, "exact")
        latents = Later.known(replace(latent, pair=latent.local, neighbours=near))
        explainer.fitted_ = replace(fitted, latents=latents, rules=rules)
    return [saved_bytes(plain, "all"), saved_bytes(mixed, "all"), *exact_files()]


def exact_files() -> list[bytes]:
    """Return files of models that were read: trees with and without rows, and a linear model."""
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(1).normal(size=(60, 3))
    trees = GradientBoostingRegressor(n_estimators=3, max_depth=3, random_state=0)
    forest = illume.Explainer(trees.fit(X, X[:, 0] * X[:, 1]), verbose=False).fit(X)
    linear = LogisticRegression().fit(X, X[:, 0] + X[:, 1] > 0)
    line = illume.Explainer(linear, verbose=False).fit(X)
    return [saved_bytes(forest, "all"), saved_bytes(forest, "none"), saved_bytes(line, "none")]


def flip_bits(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Flip one to eight bits, half of the time in the manifest and the headers."""
    data = bytearray(one)
    outside = np.ones(len(data), dtype=bool)
    with zipfile.ZipFile(io.BytesIO(one)) as found:
        for info in found.infolist():
            if info.filename != archive.MANIFEST:
                start = info.header_offset + 30 + len(info.filename)
                outside[start : start + info.file_size] = False
    for _ in range(rng.integers(1, 9)):
        at = int(rng.integers(len(data)))
        if rng.random() < 0.5:
            at = int(rng.choice(np.flatnonzero(outside)))
        data[at] ^= 1 << int(rng.integers(8))
    return bytes(data)


def cut_off(rng: Rng, one: bytes, other: bytes) -> bytes:
    at = int(rng.integers(1, len(one)))
    return one[:at] if rng.random() < 0.8 else one[at:]


def lengthen(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Insert noise or a part of the other file before, behind or into a file."""
    noise = rng.random() < 0.5
    more = rng.bytes(int(rng.integers(1, 200))) if noise else other[: int(rng.integers(1, len(other)))]
    at = int(rng.choice([0, len(one), int(rng.integers(len(one)))]))
    return one[:at] + more + one[at:]


def overwrite(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Replace a part by a part of the other file, by noise or by zeros."""
    size = int(rng.integers(1, min(len(one), len(other)) // 4))
    there, here = int(rng.integers(len(other) - size)), int(rng.integers(len(one) - size))
    patch = (other[there : there + size], rng.bytes(size), bytes(size))[int(rng.integers(3))]
    return one[:here] + patch + one[here + size :]


def splice(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Take members from the other file, leave one out, or double one; perhaps take the other's comment."""
    (mine, seal), (theirs, other_seal) = _members(one), _members(other)
    names, how = list(mine), rng.random()
    if how < 0.6:
        taken = rng.permutation(names)[: int(rng.integers(1, len(names)))]
        content = [(name, (theirs if name in taken else mine).get(name, b"")) for name in names]
    elif how < 0.8:
        gone = rng.choice(names)
        content = [(name, mine[name]) for name in names if name != gone]
    else:
        twice = str(rng.choice(names))
        extra = twice if rng.random() < 0.5 else f"../{twice}"
        content = [*mine.items(), (extra, theirs.get(twice, b""))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names that occur twice
        for name, data in content:
            made.writestr(zipfile.ZipInfo(name, archive.EPOCH), data)
        made.comment = seal if rng.random() < 0.7 else other_seal
    return buffer.getvalue()


MUTATIONS: dict[str, Callable[[Rng, bytes, bytes], bytes]] = {
    "bits flipped": flip_bits,
    "cut off": cut_off,
    "lengthened": lengthen,
    "overwritten": overwrite,
    "members spliced": splice,
}


def forge(rng: Rng, one: bytes) -> bytes:
    """Change the manifest or an array, and make all hashes valid again."""
    members, _ = _members(one)
    manifest = json.loads(members.pop(archive.MANIFEST))
    if rng.random() < 0.6:
        _change_value(rng, manifest)
    else:
        name = str(rng.choice(list(members)))
        data = bytearray(members[name])
        for _ in range(rng.integers(1, 9)):
            end = min(len(data), int(rng.choice([600, len(data)])))
            data[int(rng.integers(end))] = int(rng.integers(256))
        members[name] = bytes(data)
    manifest.pop("members", None)
    return archive.pack(manifest, members)


def _change_value(rng: Rng, value: Any) -> None:
    """Replace or remove a random value in a tree of JSON values."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[int(rng.integers(len(keys)))]
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.1:
            break
        value = inner
    if isinstance(value, dict) and rng.random() < 0.1:
        del value[key]
    else:
        value[key] = JUNK[int(rng.integers(len(JUNK)))]


def _members(content: bytes) -> tuple[dict[str, bytes], bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}, found.comment
