"""Whether options of explanations go with what a model answers, before any row is explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from illume.data.outputs import Outputs
from illume.errors import OptionError, Setting
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.rules import RuleRequest

PRECISION, INTERVAL = Setting("precision"), Setting("interval")
ADVICE = {
    PRECISION.name: (
        *(PRECISION, " is for rules that end in a decision; these end in an interval: use ", INTERVAL),
        *(", or give a ", Setting("threshold")),
    ),
    INTERVAL.name: (
        *(INTERVAL, " is for rules that end in numbers; these end in a decision: use ", PRECISION),
    ),
}


def check_options(outputs: Outputs, kind: str, options: Mapping[str, Any]) -> None:
    """Raise `OptionError` if the given options of rules or counterfactuals do not go with a model's answers.

    >>> from illume.data.class_outputs import Classes
    >>> check_options(Classes(("no", "yes")), "rules", {"interval": 0.8})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    illume.errors.OptionError: interval is for rules that end in numbers; these end in a ...
    """
    if kind == "rules":
        request = RuleRequest(**options)
        question = outputs.question(request.output, request.threshold)
        unused = "precision" if question.intervals else "interval"
        if unused in options:
            raise OptionError(*ADVICE[unused])
    elif kind == "counterfactuals":
        CounterfactualRequest(**options).goal(outputs, np.empty((0, len(outputs))))


def check_request(outputs: Outputs, request: RuleRequest) -> None:
    """Raise `OptionError` if options of rules that are not the default do not go with a model's answers."""
    names = ("precision", "interval", "threshold", "output")
    options = {name: getattr(request, name) for name in names}
    given = {name: value for name, value in options.items() if value != getattr(type(request), name)}
    check_options(outputs, "rules", given)
