"""Fit Shapley values: ask the model about mixed rows, then train."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.progress import tqdm
from illume.data.schema import Schema, require_columns
from illume.errors import SchemaError
from illume.explanations.fitted import AnsweredFrame, AnsweredRows
from illume.fit.prepare import Prepared, naming_queries
from illume.fit.settings import Settings
from illume.results.quality import ContributionQuality
from illume.twin.fit_shapley import Answers, LearnedScores, Material, ask_model, learn_scores, learn_values
from illume.twin.refiner import KEPT_ROWS
from illume.twin.shapley_model import ShapleyModel
from illume.twin.training_run import TrainingProgress

BAR = "{l_bar}{bar}| {elapsed}<{remaining}"
MIXED_VALUES = 25_000_000  # of all mixed rows that the encoder learns from


@dataclass(frozen=True, eq=False)
class ShapleyData:
    """The input of the training of Shapley values, and the background rows that a fitted explainer keeps.

    `mixed` rows, encoded, are for the encoder.
    """

    encoding: Encoding
    material: Material
    answers: Answers
    background: AnsweredFrame
    mixed: AnsweredRows


@dataclass(frozen=True, eq=False)
class TrainedShapley:
    """Shapley values, their quality, whether training was interrupted, and the background rows to keep."""

    model: ShapleyModel
    quality: ContributionQuality
    interrupted: bool
    background: AnsweredFrame


def ask_for_shapley(prepared: Prepared, background: Any, seed: int, n_queries: int) -> ShapleyData:
    """Ask the model all that training Shapley values needs."""
    rng = np.random.default_rng([seed, 1])
    encoding, split = prepared.encoding, prepared.split
    rows = _background_rows(prepared, background)
    encoded = encoding.transform(rows.frame.select(encoding.schema.names))
    material = Material(prepared.frame, prepared.encoded, prepared.P, split, rows.frame, encoded, rows.P)
    with naming_queries():
        answers = ask_model(encoding, prepared.outputs, material, prepared.black_box, n_queries, rng=rng)
    kept = np.sort(rng.permutation(len(rows.frame))[:KEPT_ROWS])
    mixed = _mixed_rows(encoding, material, answers) if background is None else AnsweredRows.empty()
    return ShapleyData(encoding, material, answers, rows.take(kept), mixed)


def _mixed_rows(encoding: Encoding, material: Material, answers: Answers) -> AnsweredRows:
    """Encode mixed rows with their answers, as many as memory allows."""
    n = min(len(answers.P), MIXED_VALUES // encoding.n_inputs)
    some = answers.mixtures[:n]
    mine, others = material.encoded.X[some.row], material.background_encoded.X[some.background]
    return AnsweredRows(np.where(some.from_row[:, encoding.owner], mine, others), answers.P[:n])


@contextmanager
def _shown(running: TrainingProgress, settings: Settings, name: str) -> Iterator[TrainingProgress]:
    """Show how far a training is."""
    disable = None if settings.verbose is None else not settings.verbose
    with tqdm(total=100, desc=f"training, {name}", bar_format=BAR, disable=disable) as bar:
        running.progress = lambda share: bar.update(100 * share)
        yield running


def train_scores(
    data: ShapleyData, settings: Settings, running: TrainingProgress, **how: Any
) -> LearnedScores:
    """Train the network that stands for the model."""
    with _shown(running, settings, "the model's scores"):
        return learn_scores(
            data.encoding, data.material, data.answers, settings.budget, running=running, **how
        )


def train_values(
    learned: LearnedScores, data: ShapleyData, settings: Settings, running: TrainingProgress, **how: Any
) -> TrainedShapley:
    """Train Shapley values."""
    given = (learned, data.encoding, data.material, data.answers, settings.budget)
    with _shown(running, settings, "Shapley values"):
        model, quality = learn_values(*given, running=running, **how)
    return TrainedShapley(model, quality, running.interrupted, data.background)


def ignored_features(schema: Schema, model: ShapleyModel) -> tuple[str, ...]:
    """Return the features that vary but have no effect on the model's answers."""
    used = set(model.coding.features.tolist())
    return tuple(
        feature.name for j, feature in enumerate(schema.features) if j not in used and not feature.constant
    )


def _background_rows(prepared: Prepared, background: Any) -> AnsweredFrame:
    if background is None:
        return AnsweredFrame(prepared.frame, prepared.P).take(prepared.split.training)
    frame = require_columns(as_frame(background), prepared.frame.names)
    if not len(frame):
        raise SchemaError("background has no rows; give at least one, or leave it out")
    return AnsweredFrame(frame, prepared.black_box(frame))
