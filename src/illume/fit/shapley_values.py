"""Fit Shapley values: ask the model about mixed rows, then train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame, as_frame
from illume.data.progress import tqdm
from illume.data.schema import Schema, require_columns
from illume.data.threads import row_chunks
from illume.errors import SchemaError, rows_after
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
PARTS, FEWEST_AT_ONCE = 64, 64  # in which made-up rows are asked, and how many rows a part has at least


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


def ask_for_shapley(prepared: Prepared, settings: Settings, seed: int) -> ShapleyData:
    """Ask the model all that training Shapley values needs."""
    rng = np.random.default_rng([seed, 1])
    encoding, split, n_queries = prepared.encoding, prepared.split, prepared.n_queries
    rows = _background_rows(prepared, settings.background)
    encoded = encoding.transform(rows.frame.select(encoding.schema.names))
    material = Material(prepared.frame, prepared.encoded, prepared.P, split, rows.frame, encoded, rows.P)
    with naming_queries(), _asking(prepared, settings) as asked:
        answers = ask_model(encoding, prepared.outputs, material, asked, n_queries, rng=rng)
    kept = np.sort(rng.permutation(len(rows.frame))[:KEPT_ROWS])
    mixed = _mixed_rows(encoding, material, answers) if settings.background is None else AnsweredRows.empty()
    return ShapleyData(encoding, material, answers, rows.take(kept), mixed)


def _mixed_rows(encoding: Encoding, material: Material, answers: Answers) -> AnsweredRows:
    """Encode mixed rows with their answers, as many as memory allows."""
    n = min(len(answers.P), MIXED_VALUES // encoding.n_inputs)
    some = answers.mixtures[:n]
    mine, others = material.encoded.X[some.row], material.background_encoded.X[some.background]
    return AnsweredRows(np.where(some.from_row[:, encoding.owner], mine, others), answers.P[:n])


@contextmanager
def _asking(prepared: Prepared, settings: Settings) -> Iterator[Callable[[Frame], FloatArray]]:
    """Yield what asks the model in parts, and shows how far that is.

    Parts never depend on the clock: the answers of some models depend on their size in the last digit.
    """
    at_once = max(FEWEST_AT_ONCE, prepared.n_queries // PARTS)
    disable = None if settings.verbose is None else not settings.verbose
    with tqdm(total=prepared.n_queries, desc="asking the model", unit="row", disable=disable) as bar:

        def ask(frame: Frame) -> FloatArray:
            answers = []
            for part in row_chunks(max(len(frame), 1), at_once):
                with rows_after(part.start):
                    answers.append(prepared.black_box(frame.slice(part.start, min(part.stop, len(frame)))))
                bar.update(len(answers[-1]))
            return np.concatenate(answers)

        yield ask


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
