"""`save`, for all results."""

from __future__ import annotations

import os


class SavesResult:
    """Adds `save` to results."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of the result to a `.json` or `.parquet` file, which `illume.load_result` reads.

        Both hold the same: per row, every array of the result under its name (`values`, `trust.agreement`,
        …); names, units and all that rows share in a head, which says the format's version. In Parquet, a
        line is a row, an array of several numbers per row is a list, and the head is the JSON text under
        `illume` in the metadata of the schema. Values of rows that are not all numbers are JSON texts.
        """
        from illume.results.files import save

        save(self, path)
