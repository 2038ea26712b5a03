"""Shapley interaction values of the network that learned the model."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.threads import row_chunks
from illume.twin.network_arrays import Codes, ModelArrays
from illume.twin.walks import row_keys, row_numbers

PAIRS_AT_ONCE = 2**20  # numbers that are worked on at a time


def interaction_values(
    model: ModelArrays, rows: Codes, background: Codes, features: IntArray, n_samples: int
) -> tuple[FloatArray, FloatArray]:
    """Return Shapley interaction values of all pairs of coded features, (n, k, k, c), and their variances.

    Both are 0 on the diagonal.

    A pair's value is the mean over sets S of other features, of every size as likely, of what both together
    change beyond what each changes alone, with the features of S taken from the row. All features count as
    others, not only the chosen ones. Samples depend on a row's own values, so that a row gets the same values
    alone and in a batch.
    """
    n, k = len(rows), len(features)
    values, squares = np.zeros((2, n, k, k, model.last.shape[1]))
    at_once = max(1, PAIRS_AT_ONCE // max(1, k * model.first.shape[1]))
    keys = row_keys(rows)
    for part in row_chunks(n, at_once):
        for salt in range(n_samples):
            numbers = row_numbers(keys[part], rows.at.shape[1] + 2, salt)
            found = _one_sample(model, rows[part], background, features, numbers)
            values[part] += found
            squares[part] += np.square(found)
    values /= n_samples
    return values, (squares / n_samples - np.square(values)).clip(0) / max(n_samples - 1, 1)


def _one_sample(
    model: ModelArrays, rows: Codes, background: Codes, features: IntArray, numbers: IntArray
) -> FloatArray:
    """Return one estimate for each row: a random set of features from the row, the rest from background.

    The pseudorandom `numbers` (n, m + 2) choose the background row, the size of the set, and its features.
    """
    chosen = background[(numbers[:, 0] % np.uint64(len(background))).astype(np.intp)]
    begin = model.summands(model.table.look_up(chosen)[1])
    change = model.summands(model.table.look_up(rows)[1]) - begin
    taken = (numbers[:, 2:] < numbers[:, 1:2]).T[:, :, None]
    sums = begin.sum(0) + model.first_bias + (change * taken).sum(0)
    mine, inside = change[features], taken[features]
    values = np.zeros((len(rows), len(features), len(features), model.last.shape[1]))
    for i in range(len(features) - 1):
        others = slice(i + 1, None)
        without = sums - mine[i] * inside[i] - mine[others] * inside[others]
        both = (
            model.interaction_part(without + mine[i] + mine[others])
            - model.interaction_part(without + mine[i])
            - model.interaction_part(without + mine[others])
            + model.interaction_part(without)
        ).transpose(1, 0, 2)
        values[:, i, others] = both
        values[:, others, i] = both
    return values
