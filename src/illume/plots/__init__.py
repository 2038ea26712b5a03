"""Pictures of results: each takes a result and an `ax`, draws, and returns the `ax`."""

from illume.plots.bar import bar
from illume.plots.beeswarm import beeswarm
from illume.plots.history import history
from illume.plots.waterfall import waterfall

__all__ = ["bar", "beeswarm", "history", "waterfall"]
