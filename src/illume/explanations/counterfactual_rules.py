"""The rule behind a counterfactual: what the leaf that decides otherwise demands of the row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded
from illume.data.threads import RowChunks
from illume.explanations.boxes import Boxes, Layout
from illume.explanations.counterfactual_pool import Task
from illume.explanations.fitted import Fitted
from illume.explanations.rules import RuleRequest, choose_boxes, measure_boxes, require_rule_model
from illume.results.rules import Rules
from illume.results.trust import Refinement


def counterfactual_rules(
    fitted: Fitted, task: Task, rows: IntArray, anchors: FloatArray, decisions: IntArray
) -> tuple[Rules, BoolArray, BoolArray, Refinement]:
    """Return a rule per row that covers its anchor, a row of another decision, and not the row itself.

    The leaf of the anchor is pulled back through the row's own map; the box is widened to hold the
    anchor and polished like any rule, for the anchor's decision. Rows that have no anchor get an empty
    rule; beside the rules stands which rows have one, which features' conditions the row violates, and
    how the rows' own maps came to agree with the black box.
    """
    model = require_rule_model(fitted)
    tree, layout = model.rules, model.rules.layout
    n, m = task.X.shape
    boxes, X = Boxes.everything(n, m), task.X.copy()
    wanted = task.decisions.copy()
    X[rows], wanted[rows] = anchors, decisions
    start, refinement = Boxes.everything(n, m), Refinement.empty(n)
    chunks = RowChunks(n, tree.at_once)
    for part in chunks:
        with chunks:
            W, Z, refinement[part] = tree.latents(task.X[part], task.decisions[part])
            _, Z_there, _ = tree.latents(X[part], wanted[part])
            towards = tree.towards(task.X[part], W, Z, tree.tree.apply(Z_there))
            start[part] = towards.containing(X[part], layout)
    finished, was_polished = choose_boxes(model, start[rows], anchors, decisions, RuleRequest())
    _exclude(finished, task.X[rows], anchors, layout)
    boxes[rows] = finished
    encoded = Encoded.plain(X, len(fitted.schema))
    raw = tree(X, wanted)
    P = task.P.copy()
    P[rows] = np.eye(P.shape[1])[decisions]
    rules = measure_boxes(fitted, boxes, raw, encoded, P=P)
    has_rule, polished = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    has_rule[rows], polished[rows] = True, was_polished
    rules = replace(rules, polished=polished)
    violated = _violated(boxes, task.X, layout, len(fitted.schema))
    return rules, has_rule, violated, refinement.locate_neighbours(fitted.split.training)


def _exclude(boxes: Boxes, X: FloatArray, anchors: FloatArray, layout: Layout) -> None:
    """Where a box still covers the row itself, part the two on the feature that differs most."""
    inside = ~_inputs_violated(boxes, X, layout).any(1)
    rows = np.flatnonzero(inside & (anchors != X).any(1))
    step = np.abs(anchors - X)[rows]
    j = step.argmax(1)
    middle = (X[rows, j] + anchors[rows, j]) / 2
    number, rises = ~layout.onehot[j], anchors[rows, j] > X[rows, j]
    up, down = number & rises, number & ~rises
    boxes.low[rows[up], j[up]] = middle[up]
    boxes.high[rows[down], j[down]] = middle[down]
    swapped = rows[~number]
    siblings = layout.owner == layout.owner[j[~number]][:, None]
    boxes.allowed[swapped] &= ~siblings | layout.own(anchors[swapped])


def _inputs_violated(boxes: Boxes, X: FloatArray, layout: Layout) -> BoolArray:
    outside = (boxes.low > X) | (boxes.high < X)
    return np.where(layout.onehot, layout.own(X) & ~boxes.allowed, outside)


def _violated(boxes: Boxes, X: FloatArray, layout: Layout, n_features: int) -> BoolArray:
    """Return on which features rows lie outside of boxes, (n, n_features)."""
    result = np.zeros((len(X), n_features), dtype=bool)
    row, column = np.nonzero(_inputs_violated(boxes, X, layout))
    result[row, layout.owner[column]] = True
    return result
