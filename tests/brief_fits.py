"""A model of three numbers, and fits to it that take a moment."""

import numpy as np

from illume import Explainer, Objective, Training
from tests.common import grouped

SMALL = Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_co=0.0, lambda_y=0.0, width=8)
BRIEF = Training(batch_size=32, learning_rate=5e-3, max_epochs=8, patience=4, decay=True, sparsity_epochs=3)
ROWS = np.random.default_rng(3).normal(size=(80, 3))


def bent(rows):
    return 1 / (1 + np.exp(-4.0 * (rows[:, 0] * rows[:, 1] + 0.3 * rows[:, 2])))


def explainer(**settings):
    usual = {"n_latents": 2, "queries": 60, "training": BRIEF, "objective": SMALL, "verbose": False}
    usual["contributions"] = "pullback"
    return Explainer(bent, **grouped(**usual | settings))
