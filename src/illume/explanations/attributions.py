"""Additive attributions: the linear surrogate's weights, pulled back through each row's map."""

from __future__ import annotations

from illume._typing import FloatArray


def slopes(W: FloatArray, coef: FloatArray) -> FloatArray:
    r"""Return :math:`\psi_{icj} = \sum_r \beta_{cr} W_{irj}`: (n, k, m) and (c, k) to (n, c, m).

    The definition; encoders compute the same without keeping W (`pull_back`).

    >>> import numpy as np
    >>> slopes(np.eye(2)[None], np.array([[3.0, -1.0]]))
    array([[[ 3., -1.]]])
    """
    return coef @ W


def contributions(slopes: FloatArray, X: FloatArray) -> FloatArray:
    r"""Return :math:`\phi_{icj} = \psi_{icj} x_{ij}`: (n, c, m) and (n, m) to (n, c, m).

    With the intercept they add up to the surrogate's log-odds, since
    :math:`\beta z = \beta W x`.
    """
    return slopes * X[:, None, :]
