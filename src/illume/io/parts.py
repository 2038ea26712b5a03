"""The rows, neighbours, rules and trust figures of an explainer to arrays, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.typed_json import expect, expect_fields
from illume.errors import FormatError
from illume.explanations.boxes import LeafBoxes
from illume.explanations.fitted import AnsweredRows
from illume.explanations.layout import Layout
from illume.explanations.neighbours import Neighbours
from illume.explanations.rule_model import PrecisionCurve
from illume.explanations.rule_sample import Conditions, Sample
from illume.explanations.tree_rules import TreeRules
from illume.explanations.trust_map import TrustMap
from illume.io.rows import dump_rows, read_rows


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows with answers, and where they stood among the rows given to `fit`."""

    rows: AnsweredRows
    position: IntArray


def dump_training(arrays: ArrayWriter, encoding: Encoding, training: Training) -> None:
    """Store training rows."""
    dump_rows(arrays, "training", encoding, training.rows.X)
    arrays.add("training.probabilities", training.rows.P)
    arrays.add("training.position", training.position.astype(np.int64))


def read_training(arrays: ArrayReader, encoding: Encoding, n_classes: int) -> Training:
    """Return the training rows."""
    X = read_rows(arrays, "training", encoding)
    P = probabilities(arrays, "training.probabilities", (len(X), n_classes))
    position = arrays.positions("training.position", (len(X),), 0, 2**62)
    return Training(AnsweredRows(X, P), position)


def probabilities(arrays: ArrayReader, name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """Return rows of probabilities."""
    P = arrays.take(name, np.float64, shape)
    good = (P >= -1e-6).all() and (np.abs(P.sum(1) - 1) <= 1e-3).all()
    arrays.require(bool(good), f"{name} holds rows that are no probabilities")
    return P


def read_neighbours(training: AnsweredRows, Z: FloatArray, valid: FloatArray, search: str) -> Neighbours:
    """Return the neighbours, ready to be searched."""
    mine = np.where(valid, training.P.argmax(1), -1)
    return Neighbours.of(training.X, Z, training.P, mine, search)


def no_neighbours(n_inputs: int, n_latents: int, n_classes: int) -> Neighbours:
    """Return neighbours without any row."""
    none = np.empty(0, dtype=np.intp)
    X, Z = np.empty((0, n_inputs)), np.empty((0, n_latents))
    return Neighbours(X, Z, np.zeros(0, dtype=bool), (none,) * n_classes, (None,) * n_classes)


def dump_sample(arrays: ArrayWriter, name: str, encoding: Encoding, sample: Sample) -> None:
    """Store answered rows that boxes are tried on."""
    dump_rows(arrays, name, encoding, sample.X)
    arrays.add(f"{name}.decisions", sample.decisions.astype(np.int64))


def read_sample(arrays: ArrayReader, name: str, encoding: Encoding, n_classes: int) -> Sample:
    """Return answered rows; none where the file holds none."""
    if f"{name}.numbers" not in arrays:
        nothing = np.empty((0, encoding.n_inputs)), np.empty(0, dtype=np.int64)
        return Sample(Layout.of(encoding), *nothing)
    X = read_rows(arrays, name, encoding)
    decisions = arrays.positions(f"{name}.decisions", (len(X),), 0, n_classes)
    return Sample(Layout.of(encoding), X, decisions)


def read_bins(sample: Sample) -> Conditions:
    """Return the bins that rules are polished on."""
    return Conditions.of(sample)


def dump_curve(arrays: ArrayWriter, curve: PrecisionCurve) -> None:
    """Store what precision a goal leads to."""
    arrays.add("curve.points", np.stack([curve.targets, curve.precision, curve.coverage]))


def read_curve(arrays: ArrayReader) -> PrecisionCurve:
    """Return what precision a goal leads to."""
    return PrecisionCurve(*np.array(arrays.take("curve.points", np.float64, (3, None), finite=False)))


def read_tree_rules(
    encoder: Any, tree: Any, decisions: IntArray, neighbours: Neighbours, encoding: Encoding
) -> TreeRules:
    """Return the maker of rules."""
    leaves = LeafBoxes.of(tree, neighbours.Z.shape[1])
    return TreeRules(encoder, tree, leaves, decisions, neighbours, Layout.of(encoding))


def dump_trust(arrays: ArrayWriter, trust: TrustMap) -> dict[str, Any]:
    """Store the figures of trust and where they were measured."""
    arrays.add("trust.anchors", trust.anchors)
    arrays.add("trust.figures", np.stack([trust.agreement, trust.error]))
    return {"n_rows": int(trust.n_rows), "n_nearest": int(trust.n_nearest)}


def read_trust(values: Any, arrays: ArrayReader, n_inputs: int) -> TrustMap:
    """Return the figures of trust; without any, nothing is known."""
    if values is None:
        return TrustMap(np.empty((0, n_inputs)), np.empty(0), np.empty(0), 0, 0)
    n_rows, n_nearest = (
        expect(int, each, "trust") for each in expect_fields(values, ("n_rows", "n_nearest"), "trust")
    )
    anchors = arrays.take("trust.anchors", np.float64, (None, n_inputs))
    figures = arrays.take("trust.figures", np.float64, (2, len(anchors)))
    if not 0 <= n_nearest <= len(anchors) or n_rows < 0 or bool(n_rows) != bool(n_nearest):
        raise FormatError(f"trust rests on {n_rows} rows and {n_nearest} of {len(anchors)} anchors")
    return TrustMap(anchors, figures[0], figures[1], n_rows, n_nearest)


def read_encoding(schema: Schema, arrays: ArrayReader, unknown: Any) -> Encoding:
    """Return how features become inputs."""
    if unknown not in ("error", "ignore"):
        raise FormatError(f"unknown is {unknown!r}, expected 'error' or 'ignore'")
    owner = Encoding.owners(schema)
    mean, scale = (arrays.take(f"encoding.{name}", np.float64, (len(owner),)) for name in ("mean", "scale"))
    arrays.require(bool((scale > 0).all()), "encoding.scale must be positive")
    arrays.require(len(owner) > 0, "no column varies")
    return Encoding(schema, owner, mean, scale, unknown)
