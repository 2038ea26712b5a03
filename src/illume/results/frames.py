"""Results as data frames and dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.data.column_values import is_missing
from illume.data.frames import Origin
from illume.data.schema import MISSING, Other
from illume.results.predictions import Labels
from illume.results.text import plain_value

if TYPE_CHECKING:
    from illume.results.attributions import Attribution, Attributions


UNKNOWN = "(unknown)"


@dataclass(frozen=True, eq=False)
class Column:
    """Values of a feature, (n,): numbers, NaN where missing, or positions in `categories`."""

    name: str
    values: FloatArray
    categories: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether the feature is a number."""
        return not self.categories


def column(data: np.ndarray[Any, Any], labels: Labels, j: int) -> Column:
    """Read feature j of rows (n, n_features); a missing category is a category of its own."""
    name, raw = labels.features[j], data[:, j]
    known = labels.categories(j)
    if known is None:
        try:
            return Column(name, raw.astype(np.float64))
        except (TypeError, ValueError):  # a constant column has no inputs that would tell its kind
            known = ()
    texts = [MISSING if is_missing(value) else str(value) for value in raw.tolist()]
    elsewhere = str(Other.OTHER) if str(Other.OTHER) in known else UNKNOWN
    if known:
        texts = [text if text in known or text == MISSING else elsewhere for text in texts]
    categories = (*known, *sorted(set(texts) - set(known)))
    place = {text: float(i) for i, text in enumerate(categories)}
    return Column(name, np.array([place[text] for text in texts]), categories)


def frame(attributions: Attributions, layout: str) -> Any:
    """Lay a batch out in a frame, `wide` or `long`."""
    if layout == "wide":
        return attributions.origin.frame(_wide(attributions))
    if layout == "long":
        return Origin(attributions.origin.backend).frame(_long(attributions))
    raise ValueError(f"layout must be 'wide' or 'long', found {layout!r}")


def decided_class(attributions: Attributions, array: FloatArray) -> FloatArray:
    """Take the decided class from the last axis of (n, …, c) where there is a class axis."""
    if attributions.values.ndim == 2:
        return array
    rows = np.arange(len(attributions))
    return np.moveaxis(array, -1, 1)[rows, attributions.decisions]


def rename_taken(columns: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Rename columns until no name is taken by a feature.

    >>> rename_taken({"decision": 1, "rest": 2}, ["rest", "rest_"])
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
        "base_value": np.ascontiguousarray(decided_class(attributions, attributions.base_values)),
        "offset": np.ascontiguousarray(decided_class(attributions, attributions.offset)),
    }
    values = decided_class(attributions, attributions.values)
    # `top` left features out; of results of format version 1, all that is known is what these sum to
    if len(attributions.feature_names) < len(attributions.novelty.names) or attributions.rest.any():
        about["rest"] = np.ascontiguousarray(decided_class(attributions, attributions.rest))
    columns = rename_taken(about, attributions.feature_names)
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
        "data": [[plain_value(value) for value in row] for row in attributions.data.tolist()],
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
                "value": plain_value(data),
                "contribution": float(number),
                "standard_error": plain_value(float(error)),
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
            "agreement": plain_value(float(attribution.trust.agreement)),
            "error": plain_value(float(attribution.trust.error)),
            "contribution_error": plain_value(float(attribution.trust.contribution_error)),
            "n_rows": int(attribution.trust.n_rows),
        },
    }
