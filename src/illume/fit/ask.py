"""Ask a fitted explainer another question, another positive class or threshold, without a new training."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from illume.data.outputs import Outputs
from illume.errors import LeftOutError, Setting
from illume.explanations.fitted import Fitted, GrownRules
from illume.fit.latent import ask_latent
from illume.fit.measure import twin_figures


def ask(fitted: Fitted, positive_class: object, threshold: float | None) -> Fitted:
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
    answers = original.report_answers
    if answers is None:
        raise LeftOutError(
            "other decisions, by another threshold or positive class, change quality and rules, which are "
            "measured on rows, and the explainer was saved with ",
            Setting("rows", "none"),
            "; set both before saving, or save with rows",
        )
    found = _turn(original, outputs)
    return replace(
        found,
        facts=replace(found.facts, **twin_figures(answers, outputs)),
        latents=original.latents.then(partial(ask_latent, outputs, original.rows.training.P)),
        rules=None,  # type: ignore[arg-type]  # they are grown when they are asked for
        original=original,
    )


def _turn(fitted: Fitted, outputs: Outputs) -> Fitted:
    """Return the same for another positive class."""
    if outputs == fitted.outputs:
        return fitted
    return replace(
        fitted,
        outputs=outputs,
        rows=replace(fitted.rows, outputs=outputs),
        facts=replace(fitted.facts, outputs=outputs),
        rules=fitted.rules.then(partial(_turn_rules, outputs)),
    )


def _turn_rules(outputs: Outputs, rules: GrownRules) -> GrownRules:
    return rules if rules.quality is None else replace(rules, quality=replace(rules.quality, outputs=outputs))
