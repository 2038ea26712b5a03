"""Refinement under a linear surrogate: all that counts of latents there are their log-odds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.regions import LinearRegions
from illume.explanations.stepping import Line, Steps, StepSearch
from illume.results.predictions import decisions_of
from illume.surrogates.base import probabilities_of
from illume.surrogates.logistic import FittedWeights


class RefinedScores(NamedTuple):
    """How far rows go towards their neighbours, what their inputs add by that, and whether they agree now."""

    steps: Steps
    offset: FloatArray
    agrees: BoolArray


def refined_scores(
    mine: FloatArray, carried: FloatArray, near: FloatArray, wanted: IntArray
) -> RefinedScores:
    r"""Return the smallest steps of the grid at which the surrogate decides as wanted.

    The log-odds (n, d) are the rows' own :math:`\beta z_i + \beta_0`, those of the rows under the
    neighbours' maps :math:`\beta W_{nn} x_i + \beta_0`, and the neighbours' own; on the way they are
    :math:`s_i + \gamma_W (s_{carried} - s_i) + \gamma_x (s_{nn} - s_{carried})`.

    >>> refined_scores(*(np.array([[score]]) for score in (-1.0, -1.0, 1.0)), np.array([1])).steps
    Steps(gamma_w=array([0.]), gamma_x=array([0.53366992]))
    """
    d = mine.shape[1]
    line = Line(mine, carried - mine, near - carried, near)
    steps = StepSearch(_decide, LinearRegions(FittedWeights(np.eye(d), np.zeros(d))))(line, wanted)
    offset = steps.gamma_x[:, None] * line.b
    return RefinedScores(steps, offset, _decide(line.at(steps)) == wanted)


def _decide(scores: FloatArray) -> IntArray:
    return decisions_of(probabilities_of(scores))
