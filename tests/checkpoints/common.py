"""A small fit that is stopped at a given epoch, and what must be the same in two explainers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from benchmarks.crashes import fit_hash

from illume import Checkpoints, Explainer, Objective, Training
from illume.data.locks import lock
from illume.encoders.training import Trainer
from tests.common import grouped

SMALL = Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_co=0.0, lambda_y=0.0, width=8)
BRIEF = Training(batch_size=32, learning_rate=5e-3, max_epochs=8, patience=4, decay=True, sparsity_epochs=3)
ROWS = np.random.default_rng(3).normal(size=(80, 3))


class Killed(BaseException):
    """What stands for a signal that cannot be caught."""


class Model:
    """A black box that counts the rows that it was asked about."""

    def __init__(self, slope=4.0):
        self.slope, self.n_asked = slope, 0

    def __call__(self, rows):
        self.n_asked += len(rows)
        return 1 / (1 + np.exp(-self.slope * (rows[:, 0] * rows[:, 1] + 0.3 * rows[:, 2])))


def explainer(folder=None, model=None, every=0.0, keep=False, **settings):
    where = None if folder is None else Checkpoints(folder, every=every, keep=keep)
    usual = {"n_latents": 2, "queries": 60, "training": BRIEF, "objective": SMALL, "verbose": False}
    usual["contributions"] = "pullback"
    return Explainer(model or Model(), **grouped(checkpoint_dir=where, **usual | settings))


def kill_at(monkeypatch, epoch, error=Killed):
    """Stop the process, so to speak, at the beginning of an epoch, counted over all trainings."""
    original, seen = Trainer.train_epoch, []

    def train(self):
        seen.append(1)
        if len(seen) > epoch:
            raise error
        return original(self)

    monkeypatch.setattr(Trainer, "train_epoch", train)
    return seen


def kill_fit(folder, epoch=2, **settings):
    """Kill a fit at an epoch; return the contents of its checkpoints."""
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, epoch)
        with pytest.raises(Killed):
            explainer(folder, **settings).fit(ROWS)
    return contents(folder)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same(one, other):
    """Say whether two explainers are the same to the last bit, times of day apart."""
    return fit_hash(one) == fit_hash(other)


class HeldError(Exception):
    """Raised for a lock that somebody else holds."""


def refusal(path):
    """Return how another thread that wants a lock is refused, None if it gets it."""

    def acquire():
        try:
            with lock(path, HeldError):
                return None
        except HeldError as error:
            return str(error)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(acquire).result()
