"""Results as tables and as records whose columns and keys are the same for every piece of a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from illume.data.schema import Schema


class Kind(StrEnum):
    """What to explain by."""

    ATTRIBUTIONS = "attributions"
    RULES = "rules"
    COUNTERFACTUALS = "counterfactuals"


@dataclass(frozen=True, eq=False)
class Layout:
    """How results become tables.

    Parameters
    ----------
    long
        A line per row and feature (condition, change) instead of one per row (example).
    kept
        Columns of the explained rows to copy, a pandas frame with all rows.
    """

    kind: Kind
    long: bool
    kept: Any
    schema: Schema


def laid_out(piece: Any, layout: Layout) -> Any:
    """Return a pandas frame of a piece, with the rows' positions in its first column."""
    table = piece.to_frame("long" if layout.long else "wide")
    if not layout.long:
        table = WIDE[layout.kind](table, piece, layout.schema)
    position = table.iloc[:, 0].to_numpy()
    for number, name in enumerate(layout.kept.columns):
        values = layout.kept[name].iloc[position].to_numpy()
        table.insert(1 + number, _free(name, table.columns), values)
    return table.reset_index(drop=True)


def lines(piece: Any, layout: Layout) -> list[dict[str, Any]]:
    """Return plain values of a piece, a record per row."""
    kept = layout.kept
    records = []
    for position, result in zip(piece.origin.index.tolist(), piece, strict=True):
        record: dict[str, Any] = {"row": position}
        if len(kept.columns):
            record["kept"] = kept.iloc[position].to_dict()
        records.append(record | result.to_dict())
    return records


def _attributions(table: Any, piece: Any, schema: Schema) -> Any:
    """Say of which class the log-odds are."""
    outputs = piece.output_names
    named = outputs * len(piece) if len(outputs) == 1 else [outputs[c] for c in piece.decisions]
    base = table.columns.get_loc(_free("base_value", schema.names))
    table.insert(base, _free("output", table.columns), list(named))
    return _numbered(table, piece)


def _rules(table: Any, piece: Any, schema: Schema) -> Any:
    return _numbered(table, piece)


def _numbered(table: Any, piece: Any) -> Any:
    """Begin with the row's position, and whether its decision is a guess, for want of the model."""
    table.insert(0, _free("stand_in", table.columns), piece.stand_in)
    table.insert(0, _free("row", table.columns), table.index)
    return table


def _counterfactuals(table: Any, piece: Any, schema: Schema) -> Any:
    """Give every feature a column of one type; what does not change is empty."""
    import pandas as pd

    from illume.results.text import format_value

    about = [name for name in table.columns if name not in schema.names]
    columns = {name: table[name] for name in about}
    for j, feature in enumerate(schema.features):
        pairs = zip(piece.after[:, j], piece.changed[:, j], strict=True)
        if feature.numeric:
            values = [value if changed else None for value, changed in pairs]
            columns[feature.name] = pd.Series(values, dtype="float64")
        else:
            texts = [format_value(value) if changed else None for value, changed in pairs]
            columns[feature.name] = pd.Series(texts, dtype="str")
    return pd.DataFrame(columns)


WIDE = {
    Kind.ATTRIBUTIONS: _attributions,
    Kind.RULES: _rules,
    Kind.COUNTERFACTUALS: _counterfactuals,
}


def _free(name: str, taken: Any) -> str:
    """Return the name, with underscores until it is not taken.

    >>> _free("row", ["row", "age"])
    'row_'
    """
    while name in taken:
        name += "_"
    return name
