"""A fitted explainer's parts, put together for each kind of explanation."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import IntArray
from illume.assembly.attributions import AttributionAssembly
from illume.assembly.counterfactuals import CounterfactualAssembly
from illume.assembly.interactions import interactions as interactions_of
from illume.assembly.latents import LatentAssembly
from illume.assembly.rules import RuleAssembly
from illume.assembly.stand_in import stands_in
from illume.data.frames import Frame
from illume.errors import BlackBoxError, LeftOutError
from illume.explanations.counterfactual_pool import Pool
from illume.explanations.layout import Layout
from illume.explanations.rule_sample import spread
from illume.explanations.trust_map import Familiar
from illume.fit.pairs import Answered
from illume.results.attributions import Attributions
from illume.results.interactions import Interactions
from illume.shapley.refiner import Refiner

POOL_ROWS = 2_048  # training rows that counterfactuals take values from
REFERENCE_ROWS = 20_000  # training rows that tell how plausible a counterfactual is


def pool_rows(training: Answered) -> IntArray:
    """Return which training rows counterfactuals take values from; rare decisions have some, too."""
    decisions = training.P.argmax(1)
    return spread(decisions, POOL_ROWS, least=POOL_ROWS // (2 * training.P.shape[1]))


def attribution_assembly(explainer: Any, refine: int = 0) -> AttributionAssembly:
    """Return what attributes decisions; what refines takes time to make, and is left out where not wanted."""
    return AttributionAssembly(
        explainer.encoding_,
        explainer.pair_,
        explainer.neighbours_,
        explainer.split_.training,
        explainer.trust_map_,
        familiar(explainer),
        explainer.class_names_,
        explainer.shapley_,
        refiner(explainer) if refine else None,
        explainer.quality_.fell_back,
    )


def refiner(explainer: Any) -> Refiner | None:
    """Return what refines Shapley values; None where there are none, or no background rows."""
    model, kept = explainer.shapley_, explainer.background_
    if model is None or kept is None:
        return None
    encoded = explainer.encoding_.transform(kept.frame.select(explainer.schema_.names))
    codes = model.coding.codes(encoded.X, encoded.imputed)
    return Refiner(model, kept.frame, codes, model.log_odds(kept.P), explainer.schema_.names)


def interactions(
    explainer: Any, frame: Frame, attributions: Attributions, max_features: int, n_samples: int
) -> Interactions:
    """Return the interactions of a frame's rows."""
    found = refiner(explainer)
    encoded = explainer.encoding_.transform(frame.select(explainer.schema_.names))
    if found is None:  # refused before
        raise LeftOutError("there are no background rows")
    model, background = explainer.shapley_, found.background_codes
    sizes = {"max_features": max_features, "n_samples": n_samples}
    return interactions_of(model, encoded, background, attributions, **sizes)


def require_interactions(explainer: Any, max_features: Any, n_samples: Any) -> None:
    """Raise unless there are Shapley values with background rows, and both numbers make sense."""
    for name, value, least in (("max_features", max_features, 2), ("n_samples", n_samples, 1)):
        if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= least):
            raise ValueError(f"{name} must be an integer, {least} or more, found {value!r}")
    if explainer.shapley_ is None:
        raise ValueError("only Shapley values have interactions; fit with contributions='shapley'")
    if explainer.background_ is None:
        raise LeftOutError(
            "interactions compare rows with background rows, and the explainer was saved with rows='none'; "
            "save it with rows to have them"
        )


def require_refinable(explainer: Any, refine: Any) -> None:
    """Raise unless the model can be asked so often for each row."""
    if isinstance(refine, bool) or not (isinstance(refine, Integral) and int(refine) >= 0):
        raise ValueError(f"refine must be an integer, 0 or more, found {refine!r}")
    if not refine:
        return
    if explainer.shapley_ is None:
        raise ValueError("only Shapley values can be refined; fit with contributions='shapley' and queries")
    if stands_in(explainer.black_box_):
        raise BlackBoxError(
            "refining asks the model, and the explainer was loaded without it; use illume.load(path, model=…)"
        )


def familiar(explainer: Any) -> Familiar:
    """Return what tells rows that are like the fitted ones."""
    limit = explainer.reference_.limit
    return Familiar(explainer.schema_.names, explainer.missing_, explainer.trust_map_, limit)


def latent_assembly(explainer: Any) -> LatentAssembly:
    """Return what shows where rows stand."""
    return LatentAssembly(
        explainer.encoding_, explainer.pair_, explainer.class_names_, explainer.neighbours_.Z
    )


def rule_assembly(explainer: Any) -> RuleAssembly:
    """Return what makes rules."""
    return RuleAssembly(
        explainer.encoding_,
        explainer.rule_model_,
        explainer.class_names_,
        explainer.columns_,
        explainer.missing_,
        explainer.split_.training,
        familiar(explainer),
    )


def counterfactual_assembly(explainer: Any) -> CounterfactualAssembly:
    """Return what finds counterfactuals."""
    training: Answered = explainer.material_.training
    encoded = explainer.encoding_.transform(explainer.pool_frame_.select(explainer.schema_.names))
    decisions = training.P.argmax(1)
    present = ~encoded.imputed
    for j, feature in enumerate(explainer.schema_.features):
        if None in feature.categories:  # to go missing is no change to propose
            values = explainer.pool_frame_.labels(feature.name)
            present[:, j] &= np.array([value is not None for value in values], dtype=bool)
    decided = explainer.pool_answers_.argmax(1)
    pool = Pool.of(Layout.of(explainer.encoding_), encoded.X, decided, present)
    return CounterfactualAssembly(
        rule_assembly(explainer),
        explainer.pair_,
        pool,
        explainer.pool_frame_,
        training.X[spread(decisions, REFERENCE_ROWS)],
    )


def require_examples(explainer: Any) -> None:
    """Refuse counterfactuals without the black box that checks them, or rows to take values from."""
    if explainer.pool_frame_ is None:
        raise LeftOutError(
            "counterfactuals take values from training rows, and the explainer was saved with rows='none'; "
            "save it with rows to have them"
        )
    if stands_in(explainer.black_box_):
        raise BlackBoxError(
            "counterfactuals are checked on the model, and the explainer was loaded without it; "
            "use illume.load(path, model=…)"
        )


def require_for_rules(explainer: Any) -> None:
    """Refuse to grow a tree without the rows of the fit, which no file holds."""
    if not len(explainer.material_.validation):
        raise LeftOutError(
            "the explainer was saved with rules=False, and growing their tree takes all rows of the fit; "
            "save it with rules=True to have rules and counterfactuals"
        )
