"""Which look each kind of answer has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from illume.data.class_outputs import Classes
from illume.data.number_outputs import Numbers
from illume.data.outputs import Outputs
from illume.plots.captions import class_labels
from illume.plots.class_look import ClassLook
from illume.plots.look import Look
from illume.plots.number_look import NumberLook

LOOKS: dict[type[Outputs], type[Look]] = {Classes: ClassLook, Numbers: NumberLook}


def look_of(result: Any) -> Look:
    """Return how the answers of a result look."""
    outputs = getattr(result, "batch", result).outputs
    return LOOKS[type(outputs)](replace(outputs, names=tuple(class_labels(outputs.names))))
