"""Additive attributions: the linear surrogate's weights, pulled back through each row's map."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray


def slopes(W: FloatArray, coef: FloatArray) -> FloatArray:
    r"""Return :math:`\psi_{ijc} = \sum_r \beta_{cr} W_{irj}`: (n, k, m) and (c, k) to (n, m, c).

    >>> slopes(np.eye(2)[None], np.array([[3.0, -1.0]]))[0, :, 0]
    array([ 3., -1.])
    """
    if len(W) and W.strides[0] == 0:  # one map for all rows
        return np.broadcast_to((coef @ W[0]).T, (len(W), W.shape[2], len(coef)))
    return np.swapaxes(coef @ W, 1, 2)


def contributions(slopes: FloatArray, X: FloatArray) -> FloatArray:
    r"""Return :math:`\phi_{ijc} = \psi_{ijc} x_{ij}`: (n, m, c) and (n, m) to (n, m, c).

    With the intercept they add up to the surrogate's log-odds, since
    :math:`\beta z = \beta W x`.
    """
    return slopes * X[:, :, None]
