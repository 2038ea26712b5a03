"""Change saved files at random and load them: what is not refused must be what was saved.

`python -m benchmarks.mutated_files 10000` prints a table. Bits are flipped (half of the time in the manifest
and the headers, which are a small part of a file), files are cut off and lengthened, stretches are
overwritten, and members are taken out, doubled and spliced in from another valid file. Forged files are
counted apart: their content was changed and all hashes made anew, so that they may load, but must not do
anything else.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import illume
from illume.data import archive
from illume.data.typed_json import dump
from illume.fit.trials import Setting, Trial
from illume.io import saving
from illume.metrics.fidelity import Fidelity
from illume.results.quality import Sampling

EVENTS = (
    *("exec", "compile", "import", "marshal.loads", "pickle.find_class", "code.__new__"),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "subprocess.Popen"),
    *("ctypes.dlopen", "socket.connect", "shutil.rmtree"),
)

Rng = np.random.Generator


@dataclass
class Watch:
    """Counts what a load does beside reading."""

    on: bool = False
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, event: str, args: Any) -> None:
        """Count an event of Python's audit while a load is going on."""
        if self.on and event in EVENTS:
            self.seen[event] += 1


def flipped(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Flip one to eight bits, half of the time outside of the arrays."""
    data = bytearray(one)
    arrays = _spans(one)
    for _ in range(rng.integers(1, 9)):
        at = int(rng.integers(len(data)))
        if rng.random() < 0.5:
            outside = np.setdiff1d(
                np.arange(len(data)), np.concatenate([np.arange(*span) for span in arrays])
            )
            at = int(rng.choice(outside))
        data[at] ^= 1 << int(rng.integers(8))
    return bytes(data)


def cut(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Cut a file off, at its end or its beginning."""
    at = int(rng.integers(1, len(one)))
    return one[:at] if rng.random() < 0.8 else one[at:]


def lengthened(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Put bytes before, behind or into a file."""
    more = (
        rng.bytes(int(rng.integers(1, 200)))
        if rng.random() < 0.5
        else other[: int(rng.integers(1, len(other)))]
    )
    at = int(rng.choice([0, len(one), int(rng.integers(len(one)))]))
    return one[:at] + more + one[at:]


def overwritten(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Put a stretch of the other file, of noise or of zeros over a stretch of the one."""
    size = int(rng.integers(1, min(len(one), len(other)) // 4))
    there, here = int(rng.integers(len(other) - size)), int(rng.integers(len(one) - size))
    patch = (other[there : there + size], rng.bytes(size), bytes(size))[int(rng.integers(3))]
    return one[:here] + patch + one[here + size :]


def spliced(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Take members from the other file, leave one out or have one twice; the comment may be the other's."""
    (mine, seal), (theirs, other_seal) = _members(one), _members(other)
    names = list(mine)
    how = rng.random()
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
    return _zipped(content, seal if rng.random() < 0.7 else other_seal)


MUTATIONS: dict[str, Callable[[Rng, bytes, bytes], bytes]] = {
    "bits flipped": flipped,
    "cut off": cut,
    "lengthened": lengthened,
    "overwritten": overwritten,
    "members spliced": spliced,
}


def forged(rng: Rng, one: bytes, other: bytes) -> bytes:
    """Change the manifest or an array, and make all hashes right again."""
    members, _ = _members(one)
    manifest = json.loads(members.pop("manifest.json"))
    if rng.random() < 0.6:
        _change(rng, manifest)
    else:
        name = str(rng.choice(list(members)))
        data = bytearray(members[name])
        for _ in range(rng.integers(1, 9)):
            data[int(rng.integers(min(len(data), int(rng.choice([600, len(data)])))))] = int(
                rng.integers(256)
            )
        members[name] = bytes(data)
    manifest.pop("members", None)
    return archive.pack(manifest, members)


def _change(rng: Rng, value: Any) -> None:
    """Put something else in a random place of a tree of JSON values."""
    junk: list[Any] = [
        None,
        True,
        -1,
        0,
        2**70,
        1e308,
        "nan",
        "x" * 99,
        [],
        {},
        [[]],
        {"text": "y"},
        {"float": "inf"},
    ]
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
        value[key] = junk[int(rng.integers(len(junk)))]


@dataclass
class Outcome:
    """How loads of one kind of mutated files went."""

    refused: int = 0
    same: int = 0
    wrong: int = 0
    crashes: Counter[str] = field(default_factory=Counter)


def tried(content: bytes, original: bytes | None, folder: Path, watch: Watch, outcome: Outcome) -> None:
    """Load one file; with an original, what is loaded must be that one."""
    path = folder / "mutated.illume"
    path.write_bytes(content)
    watch.on = True
    try:
        explainer = illume.load(path)
    except illume.errors.FormatError:
        watch.on = False
        outcome.refused += 1
        return
    except BaseException as error:
        watch.on = False
        outcome.crashes[f"{type(error).__name__}: {error}"[:120]] += 1
        return
    watch.on = False
    again = saving.content(explainer, "all" if len(explainer.neighbours_.X) else "none") if original else b""
    if original is None or again == original:
        outcome.same += 1
    else:
        outcome.wrong += 1


def valid_files() -> list[bytes]:
    """Return small files: numbers alone, text and missing values, and one without rows."""
    import pandas as pd

    rng = np.random.default_rng(0)
    training = illume.Training(batch_size=32, max_epochs=2)
    options = {"n_latents": 2, "queries": 20, "training": training, "verbose": False}
    options["objective"] = illume.Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_y=0.0, width=4)
    X = rng.normal(size=(40, 3))
    plain = illume.Explainer(lambda rows: 1 / (1 + np.exp(-3 * rows[:, 0] * rows[:, 1])), **options).fit(X)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["u", "v", "w"], 60)})
    frame.loc[::9, "a"] = np.nan

    def three(rows: Any) -> Any:
        a = np.nan_to_num(rows["a"].to_numpy())
        weights = np.exp(np.stack([a, (rows["b"] == "u") * 1.0, np.zeros(len(a))], axis=1))
        return weights / weights.sum(1, keepdims=True)

    mixed = illume.Explainer(three, **options).fit(frame)
    for explainer in (plain, mixed):
        explainer.fit_rules()
        explainer.pair_ = explainer.local_  # the trained encoder, even if it is not the better one
        explainer.neighbours_ = explainer.pair_.neighbours(explainer.material_.training, "exact")
    return [saving.content(plain, "all"), saving.content(mixed, "all"), saving.content(plain, "none")]


def run(n: int, seed: int = 0, forgeries: int = 0) -> tuple[dict[str, Outcome], Counter[str]]:
    """Load n mutated files, and so many forged ones; return what became of them, and odd events."""
    rng, files = np.random.default_rng(seed), valid_files()
    outcomes = {name: Outcome() for name in (*MUTATIONS, "forged")}
    watch = Watch()
    sys.addaudithook(watch)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # What follows reads the types' own annotations, once.
        dump(Trial, Trial(Setting(2), Fidelity(1.0, 1.0, 1)))
        dump(Sampling, Sampling(2, 1, 0))
        for content in files:  # what is imported on first use is imported now
            tried(content, content, folder, Watch(), Outcome())
            tried(b"PK\x03\x04", None, folder, Watch(), Outcome())
        for i in range(n + forgeries):
            one, other = (files[j] for j in rng.permutation(len(files))[:2])
            kind = list(MUTATIONS)[i % len(MUTATIONS)] if i < n else "forged"
            content = MUTATIONS[kind](rng, one, other) if i < n else forged(rng, one, other)
            tried(content, one if i < n else None, folder, watch, outcomes[kind])
    watch.on = False
    return outcomes, watch.seen


def _members(content: bytes) -> tuple[dict[str, bytes], bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}, found.comment


def _spans(content: bytes) -> list[tuple[int, int]]:
    """Return where the members other than the manifest stand."""
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return [
            (
                info.header_offset + 30 + len(info.filename),
                info.header_offset + 30 + len(info.filename) + info.file_size,
            )
            for info in found.infolist()
            if info.filename != archive.MANIFEST
        ]


def _zipped(members: list[tuple[str, bytes]], comment: bytes) -> bytes:
    import warnings

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names that stand twice
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name, archive.EPOCH), data)
        made.comment = comment
    return buffer.getvalue()


def main(n: int) -> int:
    """Print what became of n mutated files and n / 5 forged ones; 0 if nothing went wrong."""
    outcomes, events = run(n, forgeries=n // 5)
    print(f"{'':<16} {'refused':>8} {'same':>6} {'wrong':>6} {'crashed':>8}")
    for kind, outcome in outcomes.items():
        crashed = sum(outcome.crashes.values())
        print(f"{kind:<16} {outcome.refused:>8} {outcome.same:>6} {outcome.wrong:>6} {crashed:>8}")
        for error, count in outcome.crashes.most_common(5):
            print(f"    {count} × {error}")
    print(f"code run, processes, files touched while loading: {dict(events) or 'none'}")
    return int(bool(events) or any(o.wrong or o.crashes for o in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
