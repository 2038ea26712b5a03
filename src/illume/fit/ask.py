"""Ask a fitted explainer another question, another positive class or threshold, without a new training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from illume.data.outputs import Outputs
from illume.errors import LeftOutError
from illume.explanations.fitted import Fitted
from illume.fit.measure import surrogate_figures


def ask(fitted: Fitted, positive_class: Any, threshold: float | None) -> Fitted:
    """Return the same for another question; if decisions change, what depends on them is measured anew.

    Nothing that is trained depends on the question, so that the result is that of a fit with it. It is always
    made from the original, whatever was asked in between, and the question of the original gives just that.
    The tree of the rules is grown again when it is needed.
    """
    outputs = fitted.outputs.ask(positive_class, threshold)
    original = fitted.original or fitted
    for known in (fitted, original):
        if outputs.strata == known.outputs.strata:
            return _turn(known, outputs)
    return replace(_measure_again(_turn(original, outputs)), original=original)


def _turn(fitted: Fitted, outputs: Outputs) -> Fitted:
    """Return the same for another positive class."""
    if outputs == fitted.outputs:
        return fitted
    rules = fitted.rule_quality
    return replace(
        fitted,
        outputs=outputs,
        rows=replace(fitted.rows, outputs=outputs),
        quality=replace(fitted.quality, outputs=outputs),
        rule_quality=None if rules is None else replace(rules, outputs=outputs),
    )


def _measure_again(fitted: Fitted) -> Fitted:
    """Measure what depends on decisions, and leave the tree of the rules out."""
    outputs, training, answers = fitted.outputs, fitted.rows.training, fitted.report_answers
    if answers is None:
        raise LeftOutError(
            "other decisions, by another threshold or positive class, change quality, trust and rules, which "
            "are measured on rows, and the explainer was saved with rows='none'; set both before saving, or "
            "save with rows"
        )
    neighbours, surrogate, model = fitted.neighbours, fitted.pair.surrogate, fitted.rule_model
    return replace(
        fitted,
        quality=replace(fitted.quality, **surrogate_figures(answers, outputs)),
        trust_map=fitted.trust_map.measure(answers.P, answers.Q, outputs),
        neighbours=neighbours.ask(outputs.strata, (training.P, surrogate.answers(neighbours.Z))),
        rule_model=None,
        rule_quality=None,
        rule_encoder=model.rules.encoder if model and model.source == "local" else None,
    )
