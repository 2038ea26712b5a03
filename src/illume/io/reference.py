"""What the fitted rows look like to arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.typed_json import expect
from illume.errors import FormatError
from illume.explanations.reference import KNOTS, LEVELS, Reference


def dump_reference(reference: Reference, arrays: ArrayWriter) -> None:
    """Store the figures, which are in every file; distances are stored with the rows."""
    arrays.add("reference.knots", np.stack([reference.knots, reference.below, reference.at_most]))
    arrays.add("reference.missing", reference.missing)
    arrays.add("reference.shares", reference.shares)


def read_reference(n_rows: Any, schema: Schema, model: ArrayReader, rows: ArrayReader) -> Reference:
    """Return the figures; without rows there are no distances."""
    if expect(int, n_rows, "reference") < 0:
        raise FormatError(f"reference is {n_rows}, expected a number of rows")
    unknown = Reference.unknown(schema)
    knots = model.take("reference.knots", np.float64, (3, len(schema), KNOTS), finite=False)
    missing = model.take("reference.missing", np.float64, (len(schema),), finite=False)
    shares = model.take("reference.shares", np.float64, (len(unknown.shares),))
    for name, figures in {"knots": knots[1:], "missing": missing, "shares": shares}.items():
        good = np.isnan(figures) | ((figures >= 0) & (figures <= 1))
        model.require(bool(good.all()), f"reference.{name} holds figures that are no shares")
    distances = np.empty(0)
    if "reference.distances" in rows:
        distances = rows.take("reference.distances", np.float64, (None,))
        rows.require(len(distances) in (0, len(LEVELS)), "reference.distances has a wrong length")
    return Reference(n_rows, knots[0], knots[1], knots[2], missing, shares, distances)
