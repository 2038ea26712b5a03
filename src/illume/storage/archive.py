"""The container: a zip of uncompressed members, hashed, written at once or not at all.

`manifest.json` holds the size and the SHA-256 of every other member, and the comment of the zip holds the
SHA-256 of the manifest: every byte that is read is covered. Members are never compressed, so that a file
cannot unpack to more than its own size.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from illume.errors import FormatError, SaveError

FORMAT = "illume"
VERSION = 4  # earlier ones were never released
MANIFEST = "manifest.json"
MAX_MEMBERS = 16
MAX_MANIFEST = 64 * 2**20
EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock, so that equal explainers give equal files


@dataclass(frozen=True)
class Archive:
    """A manifest, as JSON values, and the other members, by name."""

    manifest: dict[str, Any]
    members: dict[str, bytes]


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file: it is there as a whole, or what was there before is."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise SaveError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise SaveError(f"the folder {target.parent} does not exist; make it first")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            _write_through(temporary, content)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise SaveError(
            f"{target} could not be written: {error.strerror or error}; what was there before is unchanged"
        ) from error


def read(path: str | os.PathLike[str]) -> Archive:
    """Read a file and check all of it; whatever is wrong is a `FormatError`."""
    content = Path(path).read_bytes()
    name = Path(path).name
    try:
        return _checked(content)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise FormatError(f"{name}: the file is damaged or cut off ({error})") from error
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise FormatError(f"{name}: the file is damaged ({type(error).__name__}: {error})") from error


def parsed(content: bytes, what: str) -> Any:
    """Return JSON values; a name that stands twice is refused."""
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{what} is not valid JSON ({error})") from error


def printed(values: Any) -> bytes:
    """Return values as JSON, always the same bytes for the same values."""
    return json.dumps(values, indent=1, allow_nan=False, sort_keys=True).encode("utf-8")


def zipped(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """Return a whole file; sizes and hashes are added to the manifest."""
    listed = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in members.items()
    }
    head = printed({"format": FORMAT, "version": VERSION, **manifest, "members": listed})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST: head, **members}.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
        archive.comment = _seal(head, VERSION)
    return buffer.getvalue()


def _seal(head: bytes, version: int) -> bytes:
    return f"{FORMAT} {version} sha256:{hashlib.sha256(head).hexdigest()}".encode("ascii")


def _write_through(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    except OSError:  # some network file systems cannot; the file itself is there
        pass
    finally:
        os.close(handle)


def _checked(content: bytes) -> Archive:
    if not content.startswith(b"PK\x03\x04"):
        start = content[:4]
        raise FormatError(f"this is no file of illume, which is a zip; it starts with {start!r}")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = _listed(archive, len(content))
        if MANIFEST not in infos:
            raise FormatError(f"this is a zip, but no file of illume: it has no {MANIFEST}")
        if infos[MANIFEST].file_size > MAX_MANIFEST:
            raise FormatError(f"{MANIFEST} has {infos[MANIFEST].file_size} bytes, more than {MAX_MANIFEST}")
        head = archive.read(infos[MANIFEST])
        manifest = parsed(head, MANIFEST)
        seal = _seal(head, _version(manifest))
        if len(archive.comment) < len(seal):
            raise FormatError("the file is damaged or cut off: the hash of the manifest is missing")
        if archive.comment != seal:
            raise FormatError(f"{MANIFEST} was changed: its hash is not the one at the end of the file")
        wanted = _wanted(manifest)
        if set(infos) != {MANIFEST, *wanted}:
            odd = sorted(set(infos) ^ {MANIFEST, *wanted})
            raise FormatError(f"the members are not those of the manifest: {odd}")
        members = {name: _member(archive, infos[name], wanted[name]) for name in wanted}
    return Archive(manifest, members)


def _listed(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; refuse names, kinds and sizes that no file of illume has."""
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise FormatError(f"the file has {len(infos)} members, more than {MAX_MEMBERS}")
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        raise FormatError("two members have the same name")
    for info in infos:
        plain = info.filename.replace(".", "").replace("_", "")
        if not (plain.isascii() and plain.isalnum()) or info.filename.startswith("."):
            raise FormatError(f"a member is called {info.filename!r}, which is no plain name")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise FormatError(f"{info.filename} is compressed, which files of illume never are")
        if info.flag_bits & 0x1:
            raise FormatError(f"{info.filename} is encrypted, which files of illume never are")
    if sum(info.file_size for info in infos) > size:
        raise FormatError("the members claim to be larger than the file")
    return {info.filename: info for info in infos}


def _version(manifest: Any) -> int:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FormatError(f"this is no file of illume: its {MANIFEST} does not say so")
    version = manifest.get("version")
    if type(version) is not int or version < VERSION:
        raise FormatError(f"the format version is {version!r}, expected {VERSION}; fit and save again")
    if version > VERSION:
        raise FormatError(
            f"the file has format version {version}, and this illume reads up to {VERSION}; update illume"
        )
    return version


def _wanted(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    wanted = manifest.get("members")
    if not isinstance(wanted, dict):
        raise FormatError(f"{MANIFEST} does not list the members")
    for name, entry in wanted.items():
        if not isinstance(entry, dict) or set(entry) != {"sha256", "size"}:
            raise FormatError(f"{MANIFEST} does not say the hash and size of {name!r}")
    return wanted


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: dict[str, Any]) -> bytes:
    if entry["size"] != info.file_size:
        raise FormatError(f"{info.filename} has {info.file_size} bytes, expected {entry['size']}")
    data = archive.read(info)
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise FormatError(f"{info.filename} was changed: its hash is not the one in {MANIFEST}")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found
