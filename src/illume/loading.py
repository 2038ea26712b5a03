"""An explainer from a file, with or without the model that it explains."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from illume.assembly.stand_in import StandIn
from illume.data.black_box import BlackBox
from illume.data.sampling import Split
from illume.errors import BlackBoxError, ModelChangedWarning
from illume.explainer import Explainer
from illume.explanations.rule_sample import spread
from illume.fit.pairs import Answered, Material
from illume.io import reading
from illume.io.reading import Stored
from illume.io.saving import APART

CHECKED_ROWS = 256
TOLERANCE = 1e-6


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
    explainer: Any = Explainer(model, **stored.settings)
    _set(explainer, stored)
    if model is None:
        explainer.black_box_ = StandIn(stored.encoding, stored.pair)
    else:
        explainer.black_box_ = BlackBox(model, explainer.class_names)
        explainer.black_box_.n_classes = len(stored.class_names)
        _check_model(explainer.black_box_, stored)
    loaded: Explainer = explainer
    return loaded


def _set(explainer: Any, stored: Stored) -> None:
    """Fill in what `fit` would have learned."""
    none = np.empty(0, dtype=np.intp)
    explainer.schema_, explainer.columns_, explainer.backend_ = stored.schema, stored.columns, stored.backend
    explainer.class_names_ = stored.class_names
    explainer.split_ = Split(stored.position, none, none)
    explainer.encoding_, explainer.missing_ = stored.encoding, stored.missing
    explainer.material_ = Material(stored.training, *(Answered.none() for _ in range(3)))
    explainer.pair_ = stored.pair
    explainer.trials_, explainer.history_ = stored.trials, stored.history
    explainer.neighbours_, explainer.trust_map_ = stored.neighbours, stored.trust_map
    explainer.pool_frame_, explainer.pool_answers_ = stored.pool_frame, stored.pool_answers
    explainer.shapley_, explainer.background_ = stored.shapley, stored.background
    explainer.quality_, explainer.reference_ = stored.quality, stored.reference
    explainer.n_features_in_ = len(stored.schema)
    if stored.missing_words is not None:
        explainer.missing_words_ = stored.missing_words
    if stored.rule_model is not None:
        explainer.rule_model_, explainer.rule_quality_ = stored.rule_model, stored.rule_quality


def _check_model(black_box: BlackBox, stored: Stored) -> None:
    """Warn if the model does not answer stored rows as it did when the explainer was fitted."""
    if stored.pool_frame is None:
        return
    some = spread(stored.pool_answers.argmax(1), CHECKED_ROWS)
    try:
        was, now = stored.pool_answers[some], black_box(stored.pool_frame.take(some))
    except BlackBoxError as error:  # its rows are those of the file, not the user's
        raise BlackBoxError(
            f"asked about {len(some)} rows of the file, which the model that was explained has answered, "
            f"{error.message}"
        ) from error.__cause__
    finally:
        black_box.n_asked = 0
    off = np.abs(now - was).max(1)
    if (off > TOLERANCE).any():
        decided = int((now.argmax(1) != was.argmax(1)).sum())
        warnings.warn(
            f"this model is not the one that was explained: on {int((off > TOLERANCE).sum())} of {len(some)} "
            f"stored rows its probabilities differ, by up to {off.max():.2g}, and {decided} are decided "
            f"otherwise; fit an explainer of the new model",
            ModelChangedWarning,
            stacklevel=3,
        )
