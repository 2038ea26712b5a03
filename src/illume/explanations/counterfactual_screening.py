"""Which of very many features are worth trying one by one, for each row."""

from __future__ import annotations

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.threads import row_chunks
from illume.explanations.counterfactual_pool import Pool, Task
from illume.explanations.fitted import Fitted
from illume.explanations.rule_sample import separation

CELLS = 2**24  # of slopes that are computed at once


def worth_trying(fitted: Fitted, pool: Pool, task: Task, most: int) -> BoolArray:
    """Return which features to try alone for each row, (n, n_features): all of them, or about `most`.

    Half of these are the features that tell the decisions of training rows apart best, half those with the
    largest slopes of the surrogate at the row. So the number of questions does not grow with the features.
    """
    free = np.asarray(task.limits.permitted.any(0))
    worth = np.broadcast_to(free, (len(task.X), len(free)))
    if free.sum() <= most:
        return worth
    decisions = task.goal.question.decide(pool.P)
    apart = separation(pool.X[: len(pool.P)], decisions)
    everywhere = _largest(_by_feature(fitted, apart[None])[0], free, most // 2)
    worth = np.broadcast_to(everywhere, worth.shape).copy()
    pair, n_outputs = fitted.pair, len(fitted.outputs)
    todo = np.flatnonzero(~task.goal.reached)
    for part in row_chunks(len(todo), max(1, CELLS // (task.X.shape[1] * n_outputs))):
        rows = todo[part]
        slopes = pair.encoder.pull_back(task.X[rows], pair.surrogate.coef_).slopes
        effect = _by_feature(fitted, np.abs(task.goal.direction(slopes, rows)))
        worth[rows] |= _largest(effect, free & ~everywhere, most // 2)
    return worth


def _by_feature(fitted: Fitted, per_input: FloatArray) -> FloatArray:
    return fitted.encoding.gather(per_input)


def _largest(score: FloatArray, free: BoolArray, n: int) -> BoolArray:
    """Mark the n largest scores of each row (…, n_features) among free features."""
    score = np.where(free, score, -np.inf)
    n = min(n, score.shape[-1])
    marked = np.zeros(score.shape, dtype=bool)
    np.put_along_axis(marked, np.argpartition(-score, n - 1, axis=-1)[..., :n], True, axis=-1)
    return marked & free
