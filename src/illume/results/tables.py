"""Results as frames and as plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Origin
from illume.results.numbers import plain

if TYPE_CHECKING:
    from illume.results.attribution import Attribution
    from illume.results.attributions import Attributions


def frame(attributions: Attributions, layout: str) -> Any:
    """Lay a batch out in a frame, `wide` or `long`."""
    if layout == "wide":
        return attributions.origin.frame(_wide(attributions))
    if layout == "long":
        return Origin(attributions.origin.backend).frame(_long(attributions))
    raise ValueError(f"layout must be 'wide' or 'long', found {layout!r}")


def decided(attributions: Attributions, array: FloatArray) -> FloatArray:
    """Take the decided class from the last axis of (n, …, c) where there is a class axis."""
    if attributions.values.ndim == 2:
        return array
    rows = np.arange(len(attributions))
    return np.moveaxis(array, -1, 1)[rows, attributions.decisions]


def apart(columns: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Rename columns until no name is taken by a feature.

    >>> apart({"decision": 1, "rest": 2}, ["rest", "rest_"])
    {'decision': 1, 'rest__': 2}
    """
    names, renamed = set(taken), {}
    for name, column in columns.items():
        free = name
        while free in names:
            free += "_"
        renamed[free] = column
        names.add(free)
    return renamed


def _wide(attributions: Attributions) -> dict[str, Any]:
    rows = np.arange(len(attributions))
    decisions = attributions.decisions
    names = np.array(attributions.class_names, dtype=object)
    about = {
        "decision": names[decisions].tolist(),
        "probability": attributions.probabilities[rows, decisions],
        "surrogate_probability": attributions.surrogate_probabilities[rows, decisions],
        "agreed": attributions.agreed,
        "status": attributions.refinement.status.tolist(),
        "outside": attributions.outside,
        "trust_agreement": attributions.trust.agreement,
        "trust_error": attributions.trust.error,
        "trust_contribution_error": attributions.trust.contribution_error,
        "base_value": np.ascontiguousarray(decided(attributions, attributions.base_values)),
        "offset": np.ascontiguousarray(decided(attributions, attributions.offset)),
    }
    values = decided(attributions, attributions.values)
    # `top` left features out; of results of format version 1, all that is known is what these sum to
    if len(attributions.feature_names) < len(attributions.novelty.names) or attributions.rest.any():
        about["rest"] = np.ascontiguousarray(decided(attributions, attributions.rest))
    columns = apart(about, attributions.feature_names)
    for j, name in enumerate(attributions.feature_names):
        columns[name] = np.ascontiguousarray(values[:, j])
    return columns


def _long(attributions: Attributions) -> dict[str, Any]:
    n, n_features = attributions.values.shape[:2]
    outputs = attributions.output_names
    repeat = n_features * len(outputs)
    index = attributions.origin.index
    row = np.arange(n) if index is None else np.asarray(index)
    return {
        "row": np.repeat(row, repeat),
        "feature": [name for name in attributions.feature_names for _ in outputs] * n,
        "output": list(outputs) * (n * n_features),
        "value": [str(v) for v in np.repeat(attributions.data.ravel(), len(outputs))],
        "contribution": attributions.values.ravel(),
        "standard_error": attributions.standard_errors.ravel().astype(np.float64),
    }


def batch_dict(attributions: Attributions) -> dict[str, Any]:
    """Return the arrays of a batch as lists, with the names of their axes."""
    return {
        "scale": attributions.scale,
        "kind": attributions.kind,
        "feature_names": list(attributions.feature_names),
        "input_names": list(attributions.input_names),
        "output_names": list(attributions.output_names),
        "class_names": list(attributions.class_names),
        "values": attributions.values.tolist(),
        "standard_errors": _known(attributions.standard_errors),
        "base_values": attributions.base_values.tolist(),
        "offset": attributions.offset.tolist(),
        "rest": attributions.rest.tolist(),
        "slopes": attributions.slopes.tolist(),
        "slopes_per_unit": attributions.slopes_per_unit.tolist(),
        "data": [[plain(value) for value in row] for row in attributions.data.tolist()],
        "imputed": attributions.imputed.tolist(),
        "probabilities": attributions.probabilities.tolist(),
        "surrogate_probabilities": attributions.surrogate_probabilities.tolist(),
        "decisions": [attributions.class_names[c] for c in attributions.decisions],
        "agreed": attributions.agreed.tolist(),
        "stand_in": attributions.stand_in,
        "outside": attributions.outside.tolist(),
        "refinement": {
            "status": attributions.refinement.status.tolist(),
            "gamma_w": attributions.refinement.gamma_w.tolist(),
            "gamma_x": attributions.refinement.gamma_x.tolist(),
            "neighbour": attributions.refinement.neighbour.tolist(),
        },
        "trust": {
            "agreement": _known(attributions.trust.agreement),
            "error": _known(attributions.trust.error),
            "contribution_error": _known(attributions.trust.contribution_error),
            "n_rows": attributions.trust.n_rows.tolist(),
        },
    }


def _known(array: FloatArray) -> Any:
    """Return an array as lists, with None for what is not known."""
    known = np.isfinite(array)
    if known.all():
        return array.tolist()
    values = array.astype(object)
    values[~known] = None
    return values.tolist()


def row_dict(attribution: Attribution) -> dict[str, Any]:
    """Return one row's attribution with a line per feature."""
    i = attribution.output
    values = attribution.contributions()
    return {
        "decision": attribution.decision,
        "probability": attribution.probability,
        "surrogate_probability": attribution.surrogate_probability,
        "agreed": attribution.agreed,
        "stand_in": attribution.batch.stand_in,
        "status": attribution.status,
        "outside": attribution.outside,
        "outside_reasons": list(attribution.outside_reasons),
        "scale": attribution.batch.scale,
        "kind": attribution.batch.kind,
        "output": attribution.output_name,
        "base_value": float(np.ravel(attribution.base_value)[i]),
        "offset": float(np.ravel(attribution.batch.offset[0])[i]),
        "score": float(np.ravel(attribution.score)[i]),
        "features": [
            {
                "name": name,
                "value": plain(data),
                "contribution": float(number),
                "standard_error": plain(float(error)),
                "imputed": bool(filled),
            }
            for name, data, number, error, filled in zip(
                attribution.feature_names,
                attribution.data.tolist(),
                values,
                attribution.errors(),
                attribution.batch.imputed[0],
                strict=True,
            )
        ],
        "trust": {
            "agreement": plain(float(attribution.trust.agreement)),
            "error": plain(float(attribution.trust.error)),
            "contribution_error": plain(float(attribution.trust.contribution_error)),
            "n_rows": int(attribution.trust.n_rows),
        },
    }
