"""The container of saved files: a zip of uncompressed, hashed members, written atomically.

`manifest.json` holds the size and SHA-256 of every other member, and the comment of the zip holds the SHA-256
of the manifest, so every byte that is read is covered. Members are never compressed, so that a file cannot
unpack to more than its own size, and no byte of the file is outside of the members.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from illume.data.limits import Budget
from illume.errors import FormatError, SaveError

FORMAT = "illume"
VERSION = 10
MANIFEST = "manifest.json"
FIELDS = ("format", "version", "members")  # of the manifest, beside those of the content
MAX_MEMBERS = 16
# Bytes of a zip: for each member, at its end, and more for each if it is large
HEADERS, END, ZIP64_HEADERS = 30 + 46, 22, 128
EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock, so that equal explainers give equal files


@dataclass(frozen=True)
class Archive:
    """A manifest, as JSON values, the other members, by name, and how much memory may still be used."""

    manifest: dict[str, Any]
    members: dict[str, bytes]
    budget: Budget = field(default_factory=Budget)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which replaces it if the block succeeds."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(8)}.tmp{target.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # Windows opens no folders, and some network file systems cannot sync them
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically: afterwards there is the new file or the old one."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise SaveError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise SaveError(f"the folder {target.parent} does not exist; make it first")
    try:
        with atomic_path(target) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise SaveError(
            f"{target} could not be written: {error.strerror or error}; what was there before is unchanged"
        ) from error


def read(path: str | os.PathLike[str], max_bytes: float | None = None) -> Archive:
    """Read a file and check all hashes; raise `FormatError` if anything is wrong, or is too large."""
    name, budget = Path(path).name, Budget(max_bytes)
    with Path(path).open("rb") as file:
        try:
            return _unpack(file, budget)
        except FormatError as error:
            raise FormatError(f"{name}: {error}") from error
        except Exception as error:  # zipfile raises errors of many kinds
            raise FormatError(f"{name}: the file is damaged or cut off ({error})") from error


def pack(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """Return the content of a file; sizes and hashes are added to the manifest."""
    hashes = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in members.items()
    }
    head = format_json({"format": FORMAT, "version": VERSION, **manifest, "members": hashes})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST: head, **members}.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
        archive.comment = _seal(head)
    return buffer.getvalue()


def parse_json(content: bytes, what: str, budget: Budget | None = None) -> Any:
    """Return JSON values; raise `FormatError` on duplicate names, or if they would take too much memory."""
    if budget is not None:
        budget.spend_json(content, what)
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{what} is not valid JSON ({error})") from error


def format_json(values: Any) -> bytes:
    """Return values as JSON, the same bytes for the same values."""
    return json.dumps(values, indent=1, allow_nan=False, sort_keys=True).encode("utf-8")


def library_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those libraries that are installed.

    >>> list(library_versions(["numpy", "no-such-library"]))
    ['numpy']
    """
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _seal(head: bytes) -> bytes:
    return f"{FORMAT} {VERSION} sha256:{hashlib.sha256(head).hexdigest()}".encode("ascii")


def _unpack(file: IO[bytes], budget: Budget) -> Archive:
    start, size = file.read(4), os.fstat(file.fileno()).st_size
    if start != b"PK\x03\x04":
        raise FormatError(f"expected an illume file, which is a zip; found one that starts with {start!r}")
    budget.spend(2 * size, f"reading {size / 1e6:,.1f} MB")  # the members, and arrays of them
    with zipfile.ZipFile(file) as archive:
        infos = _list_members(archive, size)
        _require_nothing_else(archive, size)
        if MANIFEST not in infos:
            raise FormatError(f"this is a zip, but not an illume file: it has no {MANIFEST}")
        head = archive.read(infos[MANIFEST])
        manifest = parse_json(head, MANIFEST, budget)
        _require_version(manifest)
        seal = _seal(head)
        if len(archive.comment) < len(seal):
            raise FormatError("the file is damaged or cut off: the hash of the manifest is missing")
        if archive.comment != seal:
            raise FormatError(f"{MANIFEST} was changed: its hash is not the one at the end of the file")
        hashes = manifest.get("members")
        if not isinstance(hashes, dict):
            raise FormatError(f"{MANIFEST} does not list the members")
        if set(infos) != {MANIFEST, *hashes}:
            raise FormatError(
                f"the members are not those of the manifest: {sorted(set(infos) ^ {MANIFEST, *hashes})}"
            )
        members = {name: _read_member(archive, infos[name], entry) for name, entry in hashes.items()}
    return Archive(manifest, members, budget)


def _list_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; refuse names, kinds and sizes that illume never writes."""
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise FormatError(f"the file has {len(infos)} members, more than {MAX_MEMBERS}")
    if len({info.filename for info in infos}) < len(infos):
        raise FormatError("two members have the same name")
    for info in infos:
        plain = info.filename.replace(".", "").replace("_", "")
        if not (plain.isascii() and plain.isalnum()) or info.filename.startswith("."):
            raise FormatError(f"a member is called {info.filename!r}, which is no plain name")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise FormatError(f"{info.filename} is compressed, which illume files never are")
        if info.flag_bits & 0x1:
            raise FormatError(f"{info.filename} is encrypted, which illume files never are")
    if sum(info.file_size for info in infos) > size:
        raise FormatError("the members claim to be larger than the file")
    return {info.filename: info for info in infos}


def _require_nothing_else(archive: zipfile.ZipFile, size: int) -> None:
    infos = archive.infolist()
    known = sum(info.file_size + 2 * len(info.filename) + HEADERS for info in infos)
    rest = size - known - END - len(archive.comment)
    if not 0 <= rest <= (ZIP64_HEADERS * (len(infos) + 1) if size >= zipfile.ZIP64_LIMIT else 0):
        raise FormatError(f"{abs(rest)} bytes before, between or after the members are not illume's")


def _require_version(manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FormatError(f"this is not an illume file: its {MANIFEST} does not say so")
    found = manifest.get("version")
    if found == VERSION and type(found) is int:
        return
    newer = type(found) is int and found > VERSION
    advice = "update illume to read it" if newer else "fit and save the explainer again with this version"
    raise FormatError(
        f"written by another version of illume (format {found!r}; this version reads {VERSION}); {advice}"
    )


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: Any) -> bytes:
    if not isinstance(entry, dict) or set(entry) != {"sha256", "size"}:
        raise FormatError(f"{MANIFEST} does not give the hash and size of {info.filename!r}")
    if entry["size"] != info.file_size:
        raise FormatError(f"{info.filename} has {info.file_size} bytes, expected {entry['size']}")
    data = archive.read(info)
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise FormatError(f"{info.filename} was changed: its hash is not the one in {MANIFEST}")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name appears twice")
    return found
