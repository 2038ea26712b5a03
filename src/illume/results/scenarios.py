"""Scenarios that were kept in an explorer, read back from its JSON as a frame like the fitted one."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from illume.data import archive
from illume.data.frames import Frame
from illume.data.limits import Budget
from illume.data.match_dtypes import FrameBuilder
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.stored_frames import LIBRARIES, dump_frame, read_frame
from illume.data.typed_json import expect, expect_fields
from illume.errors import FormatError, SaveError, import_extra

FORMAT, VERSION = "illume scenarios", 1
NAME, ROW = "scenario", "scenario_row"


def describe_table(builder: FrameBuilder) -> dict[str, Any]:
    """Return how frames of scenarios are made: their library and columns, and types that can be stored."""
    table = {"library": builder.backend, "columns": list(builder.names), "types": None}
    if builder.example is None:
        return table
    arrays = ArrayWriter()
    try:
        described = dump_frame(builder.example.slice(0, 0), arrays)
    except SaveError:  # types are found from the values then
        return table
    content = base64.b64encode(arrays.to_bytes()).decode("ascii")
    return table | {"types": {"frame": described, "arrays": content, "transposed": arrays.transposed}}


def load_scenarios(path: str | os.PathLike[str], *, max_bytes: float | None = None) -> Any:
    """Read the scenarios that an explorer's page saved as JSON: a frame with a row for each.

    It has the fitted columns with their types, so that it can be explained as it is, and after these
    `scenario`, the name; `scenario_row`, the label of the row it came from; and for each output `twin_…`
    and `model_…`, the answers, missing where the model was not asked. It is a frame of the library that the
    explainer was fitted with, pandas for NumPy. A damaged file, or another one, raises `FormatError`.
    """
    budget = Budget(max_bytes)
    try:
        budget.spend(os.stat(path).st_size, f"reading {Path(path).name}")
        return read_scenarios(Path(path).read_bytes(), budget)
    except FormatError as error:
        raise FormatError(f"{Path(path).name}: {error}") from error


def read_scenarios(content: bytes, budget: Budget | None = None) -> Any:
    """Read scenarios from JSON, as `load_scenarios` does."""
    budget = Budget() if budget is None else budget
    found = archive.parse_json(content, "the file", budget)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FormatError("these are no scenarios; expected the JSON that an explorer's page saves")
    if found.get("version") != VERSION:
        raise FormatError(
            f"the scenarios have format version {found.get('version')!r}, this illume reads {VERSION}; save "
            "them again with a page that this illume made"
        )
    names = ("format", "version", "table", "outputs", "scenarios")
    _, _, table, outputs, scenarios = expect_fields(found, names, "the file")
    builder = _read_table(table, budget)
    outputs = [expect(str, name, "outputs") for name in expect(list, outputs, "outputs")]
    listed = expect(list, scenarios, "scenarios")
    if not listed:
        raise FormatError("the file holds no scenarios")
    parts = [_read_scenario(each, len(builder.names), len(outputs), i) for i, each in enumerate(listed)]
    labels, rows, values, twin, model = zip(*parts, strict=True)
    try:
        columns = dict(zip(builder.names, map(list, zip(*values, strict=True)), strict=True))
        frame = builder.frame(columns).native
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"the values do not fit the columns ({error})") from error
    own = {NAME: list(labels), ROW: list(rows)}
    for who, answers in (("twin", twin), ("model", model)):
        own |= {f"{who}_{name}": [each[i] for each in answers] for i, name in enumerate(outputs)}
    return _append(frame, own)


def _read_table(table: Any, budget: Budget) -> FrameBuilder:
    library, columns, types = expect_fields(table, ("library", "columns", "types"), "table")
    names = tuple(expect(str, name, "table.columns") for name in expect(list, columns, "table.columns"))
    if library is not None and library not in LIBRARIES:
        raise FormatError(f"table.library is {library!r}, expected one of {LIBRARIES} or null")
    if not names or len(set(names)) < len(names):
        raise FormatError("table.columns names no column, or one twice")
    if library is None:
        library, types = "pandas", None
    import_extra(library, library)
    return FrameBuilder(names, library, None if types is None else _read_types(types, names, budget))


def _read_types(types: Any, names: Sequence[str], budget: Budget) -> Frame:
    frame, arrays, transposed = expect_fields(types, ("frame", "arrays", "transposed"), "table.types")
    try:
        content = base64.b64decode(expect(str, arrays, "table.types.arrays"), validate=True)
    except binascii.Error as error:
        raise FormatError(f"table.types.arrays is no base64 ({error})") from error
    listed = [expect(str, name, "table.types") for name in expect(list, transposed, "table.types")]
    reader = ArrayReader.from_bytes(content, listed, "table.types", budget)
    example = read_frame(frame, reader, names)
    reader.finish()
    return example


def _read_scenario(value: Any, n_columns: int, n_outputs: int, i: int) -> tuple[Any, ...]:
    """Return the name, the row's label, the values, and the twin's and the model's answers."""
    where = f"scenario {i + 1}"
    name, row, values, *answers = expect_fields(value, ("name", "row", "values", "twin", "model"), where)
    values = expect(list, values, f"{where}: values")
    if len(values) != n_columns:
        raise FormatError(f"{where} has {len(values)} values, expected {n_columns}, one for each column")
    for each in values:
        if not (each is None or isinstance(each, (bool, int, float, str))):
            raise FormatError(f"{where} holds {each!r:.60}, expected text, a number, true, false or null")
    return (
        expect(str, name, f"{where}: name"),
        expect(str, row, f"{where}: row"),
        values,
        *(_read_answers(each, n_outputs, where) for each in answers),
    )


def _read_answers(answers: Any, n_outputs: int, where: str) -> list[float | None]:
    if answers is None:
        return [None] * n_outputs
    numbers = expect(list, answers, f"{where}: answers")
    if len(numbers) != n_outputs or not all(type(each) in (int, float) for each in numbers):
        raise FormatError(f"{where} has the answers {numbers!r:.60}, expected {n_outputs} numbers")
    return [float(each) for each in numbers]


def _append(frame: Any, columns: dict[str, list[Any]]) -> Any:
    """Add columns after the fitted ones; a name that is taken gets an underscore."""
    view = nw.from_native(frame, eager_only=True)
    for name, values in columns.items():
        while name in view.columns:
            name += "_"
        dtype = nw.Float64 if any(isinstance(each, float) for each in values) or None in values else nw.String
        series = nw.new_series(name, values, dtype, backend=view.implementation)
        view = view.with_columns(series)
    return view.to_native()
