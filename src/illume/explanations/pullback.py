"""Additive attributions: the linear surrogate's slopes times the centred inputs."""

from __future__ import annotations

from illume._typing import FloatArray


def contributions(slopes: FloatArray, X: FloatArray) -> FloatArray:
    r"""Return :math:`\phi_{icj} = \psi_{icj} x_{ij}`: (n, c, m) and (n, m) to (n, c, m).

    With the intercept they add up to the surrogate's log-odds, since
    :math:`\psi x = \beta W x = \beta z`.

    >>> import numpy as np
    >>> contributions(np.array([[[3.0, -1.0]]]), np.array([[2.0, 5.0]]))
    array([[[ 6., -5.]]])
    """
    return slopes * X[:, None, :]
