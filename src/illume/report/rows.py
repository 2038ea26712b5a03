"""What the page knows of each row: decisions, contributions, trust, its place on the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume.data.schema import Schema
from illume.report.columns import Column, column
from illume.report.explained import Explained
from illume.report.packing import Packed, pack, pack_codes, pack_rounded
from illume.report.thresholds import low_trust
from illume.results.attributions import Attributions
from illume.results.text import owner
from illume.results.trust import AGREED, NOT_FAITHFUL, REFINED

STATUSES = (AGREED, REFINED, NOT_FAITHFUL)
MOST_IN_SINGLE = 1_000_000  # contributions; more of them are rounded to two bytes each


@dataclass(frozen=True)
class RowData:
    """All rows, packed by column.

    Parameters
    ----------
    labels
        What the rows are called, or None where they are called by their position.
    contributions, importance
        Per output, per feature.
    base, offset, refined
        Per output; per refined row, by its position, the offsets; neighbour and how far it was moved.
    imputed
        Per row with filled values, by its position, the features.
    outside
        Per row outside of what the explainer was fitted on, by its position, why.
    probability, surrogate_probability
        Of the class that the black box decided.
    kind, whose
        `shapley` or `pullback`, and whose log-odds contributions add up to.
    errors, contribution_error
        Standard errors of contributions, like these, and the typical one of each row; None where not known.
    """

    n: int
    classes: tuple[str, ...]
    outputs: tuple[str, ...]
    labels: tuple[str, ...] | None
    columns: tuple[Column, ...]
    decision: Packed
    surrogate_decision: Packed
    probability: Packed
    surrogate_probability: Packed
    status: Packed
    low: Packed
    trust_agreement: Packed
    trust_error: Packed
    trust_rows: int
    base: tuple[float, ...]
    offset: dict[int, tuple[float, ...]]
    refined: dict[int, tuple[int, float, float]]
    imputed: dict[int, tuple[int, ...]]
    outside: dict[int, str]
    contributions: tuple[tuple[Packed, ...], ...]
    importance: tuple[tuple[float, ...], ...]
    x: Packed
    y: Packed
    kind: str
    whose: str
    errors: tuple[tuple[Packed, ...], ...] | None
    contribution_error: Packed | None


def row_data(explained: Explained, schema: Schema) -> RowData:
    """Pack all that is shown of the rows, rules and counterfactuals apart."""
    attributions = explained.attributions
    rows, decisions = np.arange(len(attributions)), attributions.decisions
    n_classes, trust = len(attributions.class_names), attributions.trust
    status = np.array([STATUSES.index(name) for name in attributions.refinement.status])
    plane = explained.latents.plane
    return RowData(
        n=len(attributions),
        classes=attributions.class_names,
        outputs=attributions.output_names,
        labels=_labels(explained),
        columns=tuple(column(f, attributions.data[:, j]) for j, f in enumerate(schema.features)),
        decision=pack_codes(decisions, n_classes),
        surrogate_decision=pack_codes(attributions.surrogate_decisions, n_classes),
        probability=pack(attributions.probabilities[rows, decisions], "f4"),
        surrogate_probability=pack(attributions.surrogate_probabilities[rows, decisions], "f4"),
        status=pack(status, "u1"),
        low=pack(low_trust(attributions), "u1"),
        trust_agreement=pack(trust.agreement, "f4"),
        trust_error=pack(trust.error, "f4"),
        trust_rows=int(trust.n_rows.max(initial=0)),
        base=tuple(map(float, np.ravel(attributions.base_values[:1]))),
        offset=_offsets(attributions),
        refined=_refined(attributions),
        imputed={
            int(i): tuple(map(int, np.flatnonzero(attributions.imputed[i])))
            for i in np.flatnonzero(attributions.imputed.any(1))
        },
        outside={int(i): attributions.novelty.note(int(i)) for i in np.flatnonzero(attributions.outside)},
        contributions=_contributions(_by_output(attributions.values)),
        importance=tuple(tuple(map(float, row)) for row in _by_output(attributions.importance[None])[:, 0]),
        x=pack(plane[:, 0], "f4"),
        y=pack(plane[:, 1], "f4"),
        kind=attributions.kind,
        whose=owner(attributions),
        errors=_errors(attributions),
        contribution_error=pack(trust.contribution_error, "f4") if _known(attributions) else None,
    )


def _known(attributions: Attributions) -> bool:
    return bool(np.isfinite(attributions.trust.contribution_error).all())


def _errors(attributions: Attributions) -> tuple[tuple[Packed, ...], ...] | None:
    if not _known(attributions):
        return None
    errors = _by_output(attributions.standard_errors)
    return tuple(tuple(pack_rounded(of_feature) for of_feature in output.T) for output in errors)


def _by_output(values: Any) -> Any:
    """Put outputs first: (n, m) or (n, m, c) to (c', n, m)."""
    return values[None] if values.ndim == 2 else np.moveaxis(values, -1, 0)


def _contributions(values: Any) -> tuple[tuple[Packed, ...], ...]:
    small = values.size <= MOST_IN_SINGLE
    return tuple(
        tuple(pack(of_feature, "f4") if small else pack_rounded(of_feature) for of_feature in output.T)
        for output in values
    )


def _labels(explained: Explained) -> tuple[str, ...] | None:
    index = explained.attributions.origin.index
    labels = explained.positions if index is None else index
    texts = tuple(str(label) for label in labels)
    return None if texts == tuple(map(str, range(len(texts)))) else texts


def _offsets(attributions: Attributions) -> dict[int, tuple[float, ...]]:
    offset = attributions.offset.reshape(len(attributions), -1)
    return {int(i): tuple(map(float, offset[i])) for i in np.flatnonzero(offset.any(1))}


def _refined(attributions: Attributions) -> dict[int, tuple[int, float, float]]:
    refinement = attributions.refinement
    return {
        int(i): (
            int(refinement.neighbour[i]),
            round(float(refinement.gamma_w[i]), 4),
            round(float(refinement.gamma_x[i]), 4),
        )
        for i in np.flatnonzero(refinement.refined)
    }
