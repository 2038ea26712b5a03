"""Trials of a fit: the settings that it tries, and how each does."""

from __future__ import annotations

from dataclasses import dataclass

from illume.metrics.fidelity import Fidelity


@dataclass(frozen=True)
class Setting:
    """What trials choose: the number of latents, and how much the alignment of explanations counts."""

    n_latents: int
    alignment: float = 1.0


@dataclass(frozen=True)
class Trial:
    """The fidelity of a short training on validation rows."""

    setting: Setting
    fidelity: Fidelity
