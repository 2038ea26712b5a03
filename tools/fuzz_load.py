"""Fuzz `illume.load` with changed files, guided by coverage; run by `make fuzz-load`.

Plain changes do not get past the hashes. So the bytes that atheris makes are put into one part of a valid
file, and all hashes are made anew: whatever is then refused must be refused as a `FormatError`.
"""

import hashlib
import io
import json
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["illume"]):
    import illume
    from illume import explainer
    from illume.data import archive

from benchmarks.mutated_files import valid_files

FOLDER = Path(tempfile.mkdtemp())


def pack_bytes(head, members):
    """Return a file with this manifest, as bytes, and these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, data in {archive.MANIFEST: head, **members}.items():
            made.writestr(zipfile.ZipInfo(name, archive.EPOCH), data)
        made.comment = f"illume {archive.VERSION} sha256:{hashlib.sha256(head).hexdigest()}".encode()
    return buffer.getvalue()


def splice(source, data):
    """Replace a stretch of bytes by made-up ones."""
    start = source.ConsumeIntInRange(0, len(data))
    stop = source.ConsumeIntInRange(start, min(len(data), start + 64))
    return data[:start] + source.ConsumeBytes(source.ConsumeIntInRange(0, 64)) + data[stop:]


def change_file(source, files):
    """Return a changed file: as it is, or with the hashes made right again."""
    content = files[source.ConsumeIntInRange(0, len(files) - 1)]
    if source.ConsumeIntInRange(0, 7) == 0:
        return splice(source, content)
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        members = {name: found.read(name) for name in found.namelist()}
    name = sorted(members)[source.ConsumeIntInRange(0, len(members) - 1)]
    members[name] = splice(source, members[name])
    head = members.pop(archive.MANIFEST)
    if name == archive.MANIFEST:
        return pack_bytes(head, members)
    return archive.pack(
        {k: v for k, v in json.loads(head).items() if k not in ("members", "format")}, members
    )


def main():
    """Fuzz until the time named by libFuzzer's own options is over."""
    files = valid_files()
    warnings.simplefilter("error")
    path = FOLDER / "any.illume"

    @atheris.instrument_func
    def load_changed(data):
        path.write_bytes(change_file(atheris.FuzzedDataProvider(data), files))
        try:
            explainer.load(path)
        except illume.errors.FormatError:
            return

    atheris.Setup(sys.argv, load_changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
