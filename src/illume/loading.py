"""An explainer from a file, with or without the model that it explains."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from illume.data.black_box import BlackBox
from illume.data.sampling import Split, stratified
from illume.errors import BlackBoxError, ModelChangedWarning
from illume.explainer import Explainer
from illume.explanations.fitted import AnsweredFrame, FitRows, Fitted, SurrogateBlackBox, compare_answers
from illume.io import reading
from illume.io.reading import Stored
from illume.io.saving import APART

CHECKED_ROWS = 256


def load(path: str | os.PathLike[str], model: Any = None) -> Explainer:
    """Read an explainer that `Explainer.save` wrote; nothing in the file is run.

    Everything is checked first; a file that is damaged, cut off, of another kind or newer than this version
    of illume raises `FormatError`.

    Parameters
    ----------
    path
        The file.
    model
        The model that was explained. It is asked about some of the stored rows, and a `ModelChangedWarning`
        says if it answers otherwise than it did; a file without rows cannot tell. Without a model, the
        surrogate's own decisions and probabilities stand in for the model's, and results say so;
        counterfactuals, which are checked on the model, are not to be had.
    """
    known = {name: None for name in Explainer(None).get_params(deep=False) if name not in APART}
    stored = reading.load(path, known)
    explainer = Explainer(model, **stored.settings)
    if model is None:
        black_box: BlackBox | SurrogateBlackBox = SurrogateBlackBox(stored.encoding, stored.pair)
    else:
        black_box = BlackBox(model, explainer.data_options.class_names)
        black_box.n_classes = len(stored.class_names)
        _check_model(black_box, stored)
    explainer.fitted_, explainer.stages_ = _fitted(stored, black_box), None
    return explainer


def _fitted(stored: Stored, black_box: BlackBox | SurrogateBlackBox) -> Fitted:
    none = np.empty(0, dtype=np.intp)
    pool = None if stored.pool_frame is None else AnsweredFrame(stored.pool_frame, stored.pool_answers)
    return Fitted(
        black_box=black_box,
        columns=stored.columns,
        backend=stored.backend,
        encoding=stored.encoding,
        class_names=stored.class_names,
        missing=stored.missing,
        split=Split(stored.position, none, none),
        rows=FitRows.only_training(stored.training),
        pair=stored.pair,
        local=stored.pair,
        neighbours=stored.neighbours,
        trust_map=stored.trust_map,
        reference=stored.reference,
        pool=pool,
        shapley=stored.shapley,
        background=stored.background,
        quality=stored.quality,
        history=stored.history,
        trials=stored.trials,
        rule_model=stored.rule_model,
        rule_quality=stored.rule_quality,
        missing_words=stored.missing_words,
    )


def _check_model(black_box: BlackBox, stored: Stored) -> None:
    """Warn if the model does not answer stored rows as it did when the explainer was fitted."""
    if stored.pool_frame is None:
        return
    some = stratified(stored.pool_answers.argmax(1), CHECKED_ROWS)
    known = AnsweredFrame(stored.pool_frame, stored.pool_answers).take(some)
    try:
        change = compare_answers(black_box, known)
    except BlackBoxError as error:  # its rows are those of the file, not the user's
        raise BlackBoxError(
            f"asked about {len(some)} rows of the file, which the model that was explained has answered, "
            f"{error.message}"
        ) from error.__cause__
    finally:
        black_box.n_asked = 0
    if change.n_changed:
        warnings.warn(
            f"this model is not the one that was explained: on {change.n_changed} of {change.n_rows} "
            f"stored rows its probabilities differ, by up to {change.largest:.2g}, and {change.n_decisions} "
            f"are decided otherwise; fit an explainer of the new model",
            ModelChangedWarning,
            stacklevel=3,
        )
