"""Columns of pandas, polars and Arrow as types, single values and arrays, and back; only listed types."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from illume.errors import FormatError, SaveError
from illume.storage.arrays import TYPES, ArrayReader
from illume.storage.values import items_of, of_type

NUMBERS = frozenset(dtype.name for dtype in TYPES.values())
MASKED = {
    **{f"{sign}{bits}": f"{sign.lower()}{bits}" for sign in ("Int", "UInt") for bits in (8, 16, 32, 64)},
    "Float32": "float32",
    "Float64": "float64",
    "boolean": "bool",
}
MOMENTS = re.compile(r"(datetime64|timedelta64)\[(s|ms|us|ns)\]")

Parts = tuple[Any, list[Any] | None, dict[str, Any]]


class PandasColumns:
    """Series of pandas."""

    def dump(self, column: Any) -> Parts:
        """Return type, single values and arrays."""
        import pandas as pd

        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            inner, values, parts = self.dump(pd.Series(dtype.categories))
            kind = {"categories": inner, "ordered": bool(dtype.ordered), "n": len(dtype.categories)}
            own = {f"of.{name}": array for name, array in parts.items()}
            return kind, values, {"codes": column.cat.codes.to_numpy().astype(np.int64), **own}
        if isinstance(dtype, pd.StringDtype):
            missing = "NA" if dtype.na_value is pd.NA else "nan"
            values = [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
            return {"string": dtype.storage, "missing": missing}, values, {}
        if str(dtype) in MASKED:
            gone = column.isna().to_numpy()
            filled = column.fillna(False if str(dtype) == "boolean" else 0)
            return str(dtype), None, {"values": filled.to_numpy(MASKED[str(dtype)]), "missing": gone}
        if isinstance(dtype, np.dtype) and dtype.name in NUMBERS:
            return dtype.name, None, {"values": column.to_numpy()}
        if isinstance(dtype, np.dtype) and MOMENTS.fullmatch(str(dtype)):
            return str(dtype), None, {"values": column.to_numpy().view(np.int64)}
        if dtype.kind == "O" and isinstance(dtype, np.dtype):
            return "object", column.tolist(), {}
        raise SaveError(f"pandas' type {dtype} is not supported")

    def read(self, kind: Any, values: list[Any] | None, arrays: ArrayReader, prefix: str, n: int) -> Any:
        """Return a series."""
        import pandas as pd

        if isinstance(kind, dict) and "categories" in kind:
            inner, ordered, size = items_of(kind, ("categories", "ordered", "n"), prefix)
            size = of_type(int, size, prefix)
            categories = self.read(inner, values, arrays, f"{prefix}.of", size)
            codes = arrays.positions(f"{prefix}.codes", (n,), -1, size)
            dtype = pd.CategoricalDtype(pd.Index(categories), ordered=of_type(bool, ordered, prefix))
            return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))
        if isinstance(kind, dict):
            storage, missing = items_of(kind, ("string", "missing"), prefix)
            if storage not in ("python", "pyarrow") or missing not in ("NA", "nan"):
                raise FormatError(f"{prefix} is text of kind {kind!r}")
            na = pd.NA if missing == "NA" else np.nan
            return pd.Series(_listed(values, prefix), dtype=pd.StringDtype(storage, na_value=na))
        if kind == "object":
            return pd.Series(_listed(values, prefix), dtype=object)
        if kind in MASKED:
            data = arrays.take(f"{prefix}.values", MASKED[kind], (n,), finite=False)
            gone = arrays.take(f"{prefix}.missing", bool, (n,))
            column = pd.Series(data).astype(kind)
            column[gone] = pd.NA
            return column
        if kind in NUMBERS:
            return pd.Series(arrays.take(f"{prefix}.values", kind, (n,), finite=False))
        if isinstance(kind, str) and MOMENTS.fullmatch(kind):
            return pd.Series(arrays.take(f"{prefix}.values", np.int64, (n,)).view(kind))
        raise FormatError(f"{prefix} is of type {kind!r}, which is not known")

    def frame(self, columns: dict[str, Any]) -> Any:
        """Put series together."""
        import pandas as pd

        return pd.DataFrame(columns)


class PolarsColumns:
    """Series of polars."""

    plain = (
        *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
        *("Float32", "Float64", "Boolean"),
    )
    listed = ("String", "Categorical", "Null")

    def dump(self, column: Any) -> Parts:
        """Return type, single values and arrays."""
        import polars as pl

        name = type(column.dtype).__name__ if not isinstance(column.dtype, type) else column.dtype.__name__
        if name in self.plain:
            filled = column.fill_null(False if name == "Boolean" else 0)
            return name, None, {"values": filled.to_numpy(), "missing": column.is_null().to_numpy()}
        if name in self.listed:
            return name, column.to_list(), {}
        if isinstance(column.dtype, pl.Enum):
            return {"enum": column.dtype.categories.to_list()}, column.to_list(), {}
        raise SaveError(f"polars' type {column.dtype} is not supported")

    def read(self, kind: Any, values: list[Any] | None, arrays: ArrayReader, prefix: str, n: int) -> Any:
        """Return a series."""
        import polars as pl

        if isinstance(kind, dict):
            (categories,) = items_of(kind, ("enum",), prefix)
            return pl.Series(_listed(values, prefix), dtype=pl.Enum(of_type(list, categories, prefix)))
        if kind in self.listed:
            return pl.Series(_listed(values, prefix), dtype=getattr(pl, kind))
        if kind not in self.plain:
            raise FormatError(f"{prefix} is of type {kind!r}, which is not known")
        dtype = "bool" if kind == "Boolean" else kind.lower()
        data = arrays.take(f"{prefix}.values", dtype, (n,), finite=False)
        gone = arrays.take(f"{prefix}.missing", bool, (n,))
        column = pl.Series("", data, dtype=getattr(pl, kind))
        return column.set(pl.Series("", gone), None) if gone.any() else column

    def frame(self, columns: dict[str, Any]) -> Any:
        """Put series together."""
        import polars as pl

        return pl.DataFrame(columns)


class ArrowColumns:
    """Columns of Arrow tables."""

    plain = (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        "float",
        "double",
        "bool",
    )
    listed = ("string", "large_string", "null")

    def dump(self, column: Any) -> Parts:
        """Return type, single values and arrays."""
        import pyarrow as pa

        kind = str(column.type)
        if kind in self.plain:
            filled = column.fill_null(False if kind == "bool" else 0)
            gone = column.is_null().to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else None
            gone = column.is_null().to_numpy() if gone is None else gone
            return kind, None, {"values": np.asarray(filled.to_numpy()), "missing": np.asarray(gone)}
        if kind in self.listed:
            return kind, column.to_pylist(), {}
        if pa.types.is_dictionary(column.type) and str(column.type.value_type) in self.listed:
            inner = {"index": str(column.type.index_type), "value": str(column.type.value_type)}
            return {"dictionary": inner}, column.to_pylist(), {}
        raise SaveError(f"Arrow's type {column.type} is not supported")

    def read(self, kind: Any, values: list[Any] | None, arrays: ArrayReader, prefix: str, n: int) -> Any:
        """Return an array."""
        import pyarrow as pa

        if isinstance(kind, dict):
            (inner,) = items_of(kind, ("dictionary",), prefix)
            index, value = items_of(inner, ("index", "value"), prefix)
            if index not in self.plain or value not in self.listed:
                raise FormatError(f"{prefix} is of type {kind!r}, which is not known")
            texts = pa.array(_listed(values, prefix), type=getattr(pa, value)())
            return texts.cast(pa.dictionary(getattr(pa, index)(), getattr(pa, value)()))
        if kind in self.listed:
            return pa.array(_listed(values, prefix), type=getattr(pa, kind)())
        if kind not in self.plain:
            raise FormatError(f"{prefix} is of type {kind!r}, which is not known")
        dtype = {"float": "float32", "double": "float64"}.get(kind, kind)
        data = arrays.take(f"{prefix}.values", dtype, (n,), finite=False)
        gone = arrays.take(f"{prefix}.missing", bool, (n,))
        return pa.array(data, mask=gone, type=pa.bool_() if kind == "bool" else None)

    def frame(self, columns: dict[str, Any]) -> Any:
        """Put arrays together."""
        import pyarrow as pa

        return pa.table(columns)


def _listed(values: list[Any] | None, prefix: str) -> list[Any]:
    if values is None:
        raise FormatError(f"{prefix} has no values")
    return values
