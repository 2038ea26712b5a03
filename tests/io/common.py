"""Compare results, and whole explainers, bit by bit."""

import dataclasses
import io
import json
import zipfile

import numpy as np
import pandas as pd
from safetensors.numpy import load, save

from illume.data.answers import is_missing
from illume.data.frames import NarwhalsFrame

ARRAYS = "arrays.safetensors"


def differences(one, other, where="result"):
    """Yield where two values differ: types, shapes, single bits."""
    if isinstance(one, NarwhalsFrame):
        yield from _frame_differences(one.native, other.native, where)
    elif dataclasses.is_dataclass(one):
        # what is looked up only when it is asked for is a kind of what a file holds
        assert isinstance(one, type(other)) or isinstance(other, type(one)), where
        for field in dataclasses.fields(one):
            pair = (getattr(each, field.name) for each in (one, other))
            yield from differences(*pair, f"{where}.{field.name}")
    elif isinstance(one, np.ndarray):
        yield from _array_differences(one, other, where)
    elif isinstance(one, tuple | list):
        yield from [where] if len(one) != len(other) else []
        for i, pair in enumerate(zip(one, other, strict=False)):
            yield from differences(*pair, f"{where}[{i}]")
    elif not _equal(one, other):
        yield where


def _equal(one, other):
    if isinstance(one, pd.Index):
        return one.equals(other)
    return type(one) is type(other) and ((is_missing(one) and is_missing(other)) or one == other)


def _array_differences(one, other, where):
    if one.dtype != other.dtype or one.shape != other.shape:
        yield f"{where}: {one.dtype} {one.shape}, {other.dtype} {other.shape}"
    elif one.dtype == object:
        yield from differences(one.ravel().tolist(), other.ravel().tolist(), where)
    elif np.ascontiguousarray(one).tobytes() != np.ascontiguousarray(other).tobytes():
        yield where


def _frame_differences(one, other, where):
    types = [frame.schema if hasattr(frame, "schema") else frame.dtypes.tolist() for frame in (one, other)]
    if type(one) is not type(other) or types[0] != types[1] or not one.equals(other):
        yield where


def same(one, other):
    found = list(differences(one, other))
    assert not found, found
    return True


def members_of(path):
    """Return the members of a zip, and its comment."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}, archive.comment


def zipped(members, comment=b"", compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
        archive.comment = comment
    return buffer.getvalue()


def forged(path, change_manifest=None, change_member=None):
    """Return a file whose content was changed and whose hashes are right all the same."""
    from illume.data import archive

    members, _ = members_of(path)
    manifest = json.loads(members.pop("manifest.json"))
    if change_member is not None:
        name, change = change_member
        members[name] = change(members[name])
    if change_manifest is not None:
        change_manifest(manifest)
    for name in ("members", "format"):
        manifest.pop(name, None)
    return archive.pack(manifest, members)


def change_arrays(names, change):
    """Return the member of a file with arrays, and how to change some of them."""

    def apply(content):
        arrays = load(content)
        return save(arrays | {name: change(arrays[name]) for name in names.split()})

    return ARRAYS, apply
