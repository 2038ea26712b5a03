"""Pairwise Shapley interaction values of the network that learned the model."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.shapley.codes import Codes
from illume.shapley.network_arrays import ModelArrays
from illume.shapley.walks import row_keys, row_numbers

AT_ONCE = 2**20  # numbers that are worked on at a time


def interaction_values(
    model: ModelArrays, rows: Codes, background: Codes, features: IntArray, n_samples: int
) -> FloatArray:
    """Return Shapley interaction values of all pairs of some coded features, (n, k, k, c); 0 on the diagonal.

    A pair's value is the mean over sets S of other features, of every size as likely, of what both together
    change beyond what each changes alone, with the features of S taken from the row. All features count as
    others, not only the chosen ones. Samples depend on a row's own values, so that a row gets the same values
    alone and in a batch.
    """
    n, k = len(rows), len(features)
    values = np.zeros((n, k, k, model.last.shape[1]))
    at_once = max(1, AT_ONCE // max(1, k * model.first.shape[1]))
    keys = row_keys(rows)
    for start in range(0, n, at_once):
        part = slice(start, min(start + at_once, n))
        for salt in range(n_samples):
            numbers = row_numbers(keys[part], rows.at.shape[1] + 2, salt)
            values[part] += _one_sample(model, rows[part], background, features, numbers)
    return values / n_samples


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
            model.interacting(without + mine[i] + mine[others])
            - model.interacting(without + mine[i])
            - model.interacting(without + mine[others])
            + model.interacting(without)
        ).transpose(1, 0, 2)
        values[:, i, others] = both
        values[:, others, i] = both
    return values
