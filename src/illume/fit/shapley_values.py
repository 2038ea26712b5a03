"""Shapley values as a part of a fit: questions first, then training beside that of the encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from illume._typing import FloatArray
from illume.data.black_box import BlackBox
from illume.data.checkpoints import Slot, Stages, checkpoint_slot
from illume.data.encoding import Encoding
from illume.data.frames import Frame, as_frame
from illume.data.schema import Schema, require_columns
from illume.data.stored_arrays import ArrayWriter
from illume.encoders.ranks import ranks
from illume.errors import BlackBoxError, SchemaError
from illume.fit.answers import asked_once
from illume.fit.prepare import Prepared
from illume.results.effort import Effort
from illume.results.quality import ContributionQuality
from illume.shapley.fit_shapley import Answers, Material, ask_model, fit_shapley
from illume.shapley.shapley_model import ShapleyModel
from illume.shapley.training_run import Running

BAR = "{l_bar}{bar}| {elapsed}<{remaining}"
KEPT_ROWS = 1_000  # background rows that refining asks the model with


@dataclass(frozen=True, eq=False)
class Background:
    """Rows that values are compared with: as they came, and the model's answers."""

    frame: Frame
    P: FloatArray


@dataclass(frozen=True, eq=False)
class PreparedShapley:
    """All that training needs, and the background rows that a fitted explainer keeps."""

    encoding: Encoding
    material: Material
    answers: Answers
    kept: Background


def prepare_shapley(prepared: Prepared, background: Any, seed: int, stages: Stages | None) -> PreparedShapley:
    """Ask the model all that it will be asked for Shapley values."""
    rng = np.random.default_rng([seed, 1])
    encoding, split = prepared.encoding, prepared.split
    rows = _background(prepared, background)
    features = rows.frame.select(encoding.schema.names)
    material = Material(
        prepared.frame, prepared.encoded, prepared.P, split, rows.frame, encoding.transform(features), rows.P
    )
    ask = _Remembered(prepared.black_box, checkpoint_slot(stages, "mixed rows"))
    n_queries = prepared.n_queries - len(prepared.material.queries)
    answers = ranks().from_first(lambda: ask_model(encoding, material, ask, n_queries, rng))
    ask.write()
    kept = np.sort(rng.permutation(len(rows.frame))[:KEPT_ROWS])
    return PreparedShapley(encoding, material, answers, Background(rows.frame.take(kept), rows.P[kept]))


def _background(prepared: Prepared, background: Any) -> Background:
    if background is None:
        training = prepared.split.training
        return Background(prepared.frame.take(training), prepared.P[training])
    frame = require_columns(as_frame(background), prepared.frame.names)
    if not len(frame):
        raise SchemaError("background has no rows; give at least one, or leave it out")
    return Background(frame, asked_once(prepared.black_box, frame, None, checked=False))


class _Remembered:
    """Asks the model about made-up rows; answers that a checkpoint holds are not asked for again."""

    def __init__(self, black_box: BlackBox, slot: Slot | None) -> None:
        self.black_box, self.slot = black_box, slot
        stage = None if slot is None else slot.load()
        self.known = None if stage is None else stage.arrays.take("answers", np.float64, (None, None))
        self.n_asked = 0 if stage is None else int(stage.values["n_asked"])
        self.used, self.answers = 0, list[FloatArray]()

    def __call__(self, frame: Frame) -> FloatArray:
        """Return the model's answers."""
        if self.known is not None:
            P = self.known[self.used : self.used + len(frame)]
            self.used += len(frame)
            return P
        try:
            P = self.black_box(frame)
        except BlackBoxError as error:
            message = f"on made-up rows, which queries=0 does without, {error.message}"
            raise BlackBoxError(message, error.rows, error.more) from error.__cause__
        if self.slot is not None:
            self.answers.append(P)
        return P

    def write(self) -> None:
        """Keep the answers for a fit that is started again."""
        if self.known is not None:
            self.black_box.n_asked = self.n_asked
        elif self.slot is not None:
            arrays = ArrayWriter()
            arrays.add("answers", np.concatenate(self.answers))
            self.slot.save({"n_asked": self.black_box.n_asked}, arrays)


@dataclass(frozen=True, eq=False)
class LearnedShapley:
    """Shapley values, how true they are, and whether their training was interrupted."""

    model: ShapleyModel
    quality: ContributionQuality
    interrupted: bool


def learn_shapley(
    prepared: PreparedShapley, effort: Effort, *, seed: int, device: str, verbose: bool | None
) -> LearnedShapley:
    """Train Shapley values; where several processes fit together, the first one does it for all."""

    def learn() -> LearnedShapley:
        disable = None if verbose is None else not verbose
        look = {"total": 100, "bar_format": BAR, "disable": disable}
        with tqdm(desc="training, Shapley values", **look) as bar:
            running = Running(lambda share: bar.update(100 * share))
            found = fit_shapley(
                prepared.encoding,
                prepared.material,
                prepared.answers,
                effort,
                seed=seed,
                device=device,
                running=running,
            )
        return LearnedShapley(found.model, found.quality, running.interrupted)

    return ranks().from_first(learn)


def ignored_features(schema: Schema, model: ShapleyModel) -> tuple[str, ...]:
    """Return the features that vary, but have no effect on the model's answers."""
    used = set(model.coding.features.tolist())
    return tuple(
        feature.name for j, feature in enumerate(schema.features) if j not in used and not feature.constant
    )
