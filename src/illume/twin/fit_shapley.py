"""Fitting Shapley values: ask the model about mixed rows, then train, then measure on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.data.outputs import Outputs
from illume.data.sampling import Split, evenly_spaced
from illume.data.scales import Scale
from illume.errors import FewQueriesWarning, warn
from illume.results.quality import ContributionQuality
from illume.twin.network_arrays import Codes, Coding, ModelArrays, ValueArrays
from illume.twin.shapley_model import ErrorModel, ShapleyModel
from illume.twin.tabulated import Grid, tabulate
from illume.twin.training_run import QUERIES_PER_FEATURE, Effort, TrainingProgress
from illume.twin.value_errors import NetworkRows, WalkEstimates, fit_errors, measure_quality
from illume.twin.walks import MixedFrames, Mixtures, Walks, network_values, probes, row_keys, walk_changes

Ask = Callable[[Frame], FloatArray]

PROBE_SHARE = 0.04  # of the queries
WALK_SHARE, MOST_SHARE = 0.08, 0.15  # of the queries, for validation rows and for report rows
ENOUGH_ROWS = 20  # that are walked twice, if that takes no more than the larger share
FEWEST_PROBES, MOST_PROBES = 64, 512
MANY_FEATURES, FEW_PROBES = 64, 8  # of so many features, each is tried a few times alone, and then together
GROUP_ROWS, GROUP_SHARE = 512, 0.15  # in which features are tried together; and of the queries
MOST_WALKS, MOST_ROWS, FEWEST_ROWS = 8, 200, 8
VALIDATION_SHARE, MOST_VALIDATION = 0.05, 20_000
NO_EFFECT = 1e-9
BACKGROUND_ROWS = 5_000
NETWORK_WALKS = 64
KEPT_ANSWERS = 50_000  # to mixed rows, for the encoder


@dataclass(frozen=True, eq=False)
class Material:
    """All rows of a fit with the model's answers, and the background rows with theirs."""

    frame: Frame
    encoded: Encoded
    P: FloatArray
    split: Split
    background: Frame
    background_encoded: Encoded
    background_answers: FloatArray


@dataclass(frozen=True, eq=False)
class HeldOutWalks:
    """Walks of held-out rows and the scores at their points, step by step."""

    rows: IntArray
    walks: tuple[Walks, ...]
    mixtures: tuple[Mixtures, ...]
    points: tuple[FloatArray, ...] = ()

    @property
    def n_points(self) -> int:
        """How many rows the model is asked about."""
        return sum(len(each) for each in self.mixtures)


@dataclass(frozen=True, eq=False)
class Answers:
    """What the model answered: everything that training and measuring need, before either begins.

    `scores` are those of all mixed rows, `P` the plain answers to the first of them. Where few different rows
    are possible, `table` has all of them with their scores, and there is nothing else.
    """

    used: BoolArray
    mixtures: Mixtures
    scores: FloatArray
    P: FloatArray
    validation: HeldOutWalks
    report: HeldOutWalks
    scale: Scale
    n_asked: int
    table: tuple[Grid, FloatArray] | None = None


def ask_model(
    encoding: Encoding,
    outputs: Outputs,
    material: Material,
    ask: Ask,
    n_queries: int,
    *,
    rng: np.random.Generator,
) -> Answers:
    """Put mixed rows to the model: to find features without effect, to learn from, and to measure with."""
    names = encoding.schema.names
    frames = MixedFrames.from_names(material.frame, material.background, names)
    f = len(names)
    live = np.zeros(f, dtype=bool)
    live[np.unique(encoding.owner)] = True
    training, n_background = material.split.training, len(material.background)
    used, n_probes = _find_used(encoding, outputs, material, ask, n_queries, live=live, rng=rng)
    table = _ask_all(encoding, outputs, material, ask, used)
    if table is not None:
        return replace(table, n_asked=n_probes + table.n_asked)
    features = np.flatnonzero(used)
    walks_for = _queries_for_walks(n_queries, len(features))
    validation, report = (
        _draw_held_out(rows, f, features, n_background, n_points=walks_for, rng=rng)
        for rows in _new_rows(encoding, material, used)
    )
    m = len(features)
    if m > 1 and walks_for // (4 * (m - 1)) < FEWEST_ROWS:
        warn(
            f"there are too few queries to measure how far contributions of {m} features are off: standard "
            f"errors are NaN, and refine has no effect; fit with at least {QUERIES_PER_FEATURE * m} queries",
            FewQueriesWarning,
        )
    left = max(n_queries - n_probes - validation.n_points - report.n_points, n_queries // 2)
    mixtures = Mixtures.draw(training, n_background, features, f, n=left, rng=rng)
    every = Mixtures.concatenate([mixtures, *validation.mixtures, *report.mixtures])
    P = frames.answers(every, ask)
    scale = outputs.fit_scale(np.concatenate([material.P, material.background_answers, P]))
    scores = scale(P)
    ends = np.cumsum([len(mixtures), *(len(each) for each in validation.mixtures + report.mixtures)])
    parts = np.split(scores, ends[:-1])
    n = len(validation.mixtures)
    return Answers(
        used=used,
        mixtures=mixtures,
        scores=parts[0],
        P=P[: min(len(mixtures), KEPT_ANSWERS)].copy(),
        validation=replace(validation, points=tuple(parts[1 : 1 + n])),
        report=replace(report, points=tuple(parts[1 + n :])),
        scale=scale,
        n_asked=n_probes + len(every),
    )


def _ask_all(
    encoding: Encoding, outputs: Outputs, material: Material, ask: Ask, used: BoolArray
) -> Answers | None:
    """Return the answers to all possible rows; None if these are many, or not all that decides."""
    coding = Coding.fit(encoding, material.encoded.X[material.split.training], used)
    rows = coding.codes(material.encoded.X, material.encoded.imputed)
    background = coding.codes(material.background_encoded.X, material.background_encoded.imputed)
    grid = Grid.find(rows)
    if grid is None or (grid.place(background) < 0).any():
        return None
    mixed = MixedFrames.from_names(material.frame, material.frame, encoding.schema.names)
    P = ask(mixed.made_of(coding.features, grid.sources))
    if (np.abs(P[grid.place(rows)] - material.P) / outputs.unit).max() > NO_EFFECT:
        return None  # other columns decide, too
    scale = outputs.fit_scale(np.concatenate([material.P, material.background_answers, P]))
    nobody = np.empty(0, dtype=np.intp)
    mixtures = Mixtures(nobody, nobody, np.empty((0, len(used)), dtype=bool))
    none = HeldOutWalks(nobody, (), ())
    return Answers(
        used=used,
        mixtures=mixtures,
        scores=scale(P)[:0],
        P=P[:0],
        validation=none,
        report=none,
        scale=scale,
        n_asked=len(grid),
        table=(grid, scale(P)),
    )


def _find_used(
    encoding: Encoding,
    outputs: Outputs,
    material: Material,
    ask: Ask,
    n_queries: int,
    *,
    live: BoolArray,
    rng: np.random.Generator,
) -> tuple[BoolArray, int]:
    """Return which features have any effect on the model's answers, (f,), and how often it was asked."""
    n = int(min(MOST_PROBES, PROBE_SHARE * n_queries / max(live.sum(), 1)))
    many = n < FEWEST_PROBES and live.sum() >= MANY_FEATURES
    if n < FEWEST_PROBES and not many:
        return live, 0
    n = FEW_PROBES if many else n
    coding = Coding.fit(encoding, material.encoded.X[material.split.training], live)
    codes = coding.codes(material.encoded.X, material.encoded.imputed)
    told_apart = np.zeros((len(codes), len(live)))
    told_apart[:, coding.features] = codes.at + codes.part
    asked = probes(told_apart, material.split.training, n, rng)
    mixer = MixedFrames.from_names(material.frame, material.frame, encoding.schema.names)

    def moves(mixtures: Mixtures) -> BoolArray:
        """Return which mixed rows are answered otherwise than the rows that they are made of."""
        P = mixer.answers(mixtures, ask)
        return np.asarray((np.abs(P - material.P[mixtures.row]) / outputs.unit).max(1) > NO_EFFECT)

    changed = (~asked.from_row).argmax(1)
    used = np.asarray(live & (np.bincount(changed[moves(asked)], minlength=len(live)) > 0))
    n_asked = len(asked)
    if many:
        most = int(GROUP_SHARE * n_queries)
        found, more = _try_together(moves, live & ~used, material.split.training, most, rng)
        used, n_asked = used | found, n_asked + more
    return (used if used.any() else live), n_asked


def _try_together(
    moves: Callable[[Mixtures], BoolArray],
    unmoved: BoolArray,
    rows: IntArray,
    most: int,
    rng: np.random.Generator,
) -> tuple[BoolArray, int]:
    """Return which features are used of those that moved no answer alone, (f,), and how often that asks.

    All of them are changed together in many rows. Where that moves an answer, they are divided into halves;
    those that are left when no more may be asked count as used.
    """
    used, n_asked = np.zeros(len(unmoved), dtype=bool), 0
    todo = [np.flatnonzero(unmoved)] if unmoved.any() else []
    while todo and n_asked + GROUP_ROWS <= most:
        group = todo.pop()
        from_row = np.ones((GROUP_ROWS, len(unmoved)), dtype=bool)
        from_row[:, group] = False
        mixed = Mixtures(rng.choice(rows, GROUP_ROWS), rng.choice(rows, GROUP_ROWS), from_row)
        n_asked += GROUP_ROWS
        if not moves(mixed).any():
            continue
        if len(group) == 1:
            used[group] = True
        else:
            todo += np.array_split(group, 2)
    for group in todo:
        used[group] = True
    return used, n_asked


def _queries_for_walks(n_queries: int, m: int) -> int:
    """Return how many queries go to walks of validation rows, and again of report rows.

    >>> _queries_for_walks(50_000, 20), _queries_for_walks(10_000, 20), _queries_for_walks(2_000, 20)
    (4000, 1500, 300)
    """
    enough = 2 * ENOUGH_ROWS * 2 * max(m - 1, 1)
    return int(max(WALK_SHARE * n_queries, min(MOST_SHARE * n_queries, enough)))


def _new_rows(encoding: Encoding, material: Material, used: BoolArray) -> tuple[IntArray, IntArray]:
    """Return validation and report rows without copies of training rows, which measure nothing."""
    split = material.split
    coding = Coding.fit(encoding, material.encoded.X[split.training], used)
    keys = row_keys(coding.codes(material.encoded.X, material.encoded.imputed))
    known = keys[split.training]
    validation, report = (rows[~np.isin(keys[rows], known)] for rows in (split.validation, split.report))
    return validation, report


def _draw_held_out(
    rows: IntArray, f: int, used: IntArray, n_background: int, *, n_points: int, rng: np.random.Generator
) -> HeldOutWalks:
    """Draw walks of held-out rows: several for each, of as many rows as there are questions for."""
    m = len(used)
    a_walk = max(1, 2 * (m - 1))
    n_rows = min(len(rows), MOST_ROWS, n_points // (2 * a_walk))
    if n_rows < FEWEST_ROWS or m < 2:
        return HeldOutWalks(np.empty(0, dtype=np.intp), (), ())
    chosen = np.sort(rng.choice(rows, n_rows, replace=False))
    n_walks = min(MOST_WALKS, n_points // (n_rows * a_walk))
    walks = tuple(Walks.draw(n_rows, m, n_background, rng) for _ in range(n_walks))
    points = tuple(Mixtures.along_walks(chosen, walk, range(1, m), used, f) for walk in walks)
    return HeldOutWalks(chosen, walks, points)


@dataclass(frozen=True, eq=False)
class LearnedScores:
    """What stands for the model's scores, its R² on mixed rows, and coded rows and background rows.

    `values` are those of a game small enough for a table.
    """

    coding: Coding
    rows: Codes
    background: Codes
    network: ModelArrays
    fidelity: float = 1.0
    values: ValueArrays | None = None


def learn_scores(
    encoding: Encoding,
    material: Material,
    answers: Answers,
    effort: Effort,
    *,
    seed: int,
    device: str,
    running: TrainingProgress,
) -> LearnedScores:
    """Train the network that stands for the model; the model is not asked any more."""
    coding = Coding.fit(encoding, material.encoded.X[material.split.training], answers.used)
    rows = coding.codes(material.encoded.X, material.encoded.imputed)
    background = coding.codes(material.background_encoded.X, material.background_encoded.imputed)
    if answers.table is not None:
        grid, table = answers.table
        network, values = tabulate(coding, grid, table, grid.place(background), rows)
        return LearnedScores(coding, rows, background, network, values=values)
    from illume.twin.train_networks import train_model_network

    codes = answers.mixtures.codes(rows, background, coding.features)
    n_validation = min(MOST_VALIDATION, max(1, int(VALIDATION_SHARE * len(codes))))
    held_out = (codes[:n_validation], answers.scores[:n_validation])
    learned = (codes[n_validation:], answers.scores[n_validation:])
    sizes = effort.sizes(coding.n_features, len(codes))
    trained = train_model_network(coding, learned, held_out, sizes, seed=seed, device=device, running=running)
    return LearnedScores(coding, rows, background, trained, _fidelity(trained(held_out[0]), held_out[1]))


def learn_values(
    learned: LearnedScores,
    encoding: Encoding,
    material: Material,
    answers: Answers,
    effort: Effort,
    *,
    seed: int,
    device: str,
    running: TrainingProgress,
) -> tuple[ShapleyModel, ContributionQuality]:
    """Train the network of Shapley values and measure these on held-out rows."""
    coding, rows, background = learned.coding, learned.rows, learned.background
    m, c = coding.n_features, answers.scores.shape[1]
    background_scores = answers.scale(material.background_answers)
    unmeasured = partial(
        ShapleyModel,
        scale=answers.scale,
        coding=coding,
        network=learned.network,
        base=background_scores.mean(0),
        n_features=len(encoding.schema),
    )
    exact = ContributionQuality.exact(len(material.split.report), answers.n_asked)
    if learned.values is not None and answers.table is not None:
        exact = replace(exact, n_asked=len(answers.table[0]))
        return unmeasured(values=learned.values, errors=ErrorModel.none(m, c)), exact
    from illume.twin.train_networks import train_value_network

    rng = np.random.default_rng(seed)
    some = background[np.sort(rng.permutation(len(background))[:BACKGROUND_ROWS])]
    training = rows[material.split.training]
    sizes = effort.sizes(m, len(answers.mixtures))
    values = train_value_network(
        coding, learned.network, training, some, sizes, seed=seed + 1, device=device, running=running
    )
    if m == 1:  # its value is the row's score less the mean one
        return unmeasured(values=values, errors=ErrorModel.none(1, c)), replace(
            exact, fidelity=learned.fidelity
        )
    model = unmeasured(values=values, errors=ErrorModel.unknown(m, c))
    scores = answers.scale(material.P)
    names = tuple(encoding.schema.names[j] for j in coding.features)
    held_out_values = _HeldOutValues(model, rows, background, scores, background_scores, names, rng)
    others = _new_rows(encoding, material, answers.used)[0]
    others = others[evenly_spaced(len(others), MOST_ROWS)]
    if len(answers.validation.rows):
        model = replace(model, errors=held_out_values.errors(answers.validation, others))
    quality = replace(held_out_values, model=model).quality(answers.report, learned.fidelity)
    return model, quality


def _fidelity(found: FloatArray, wanted: FloatArray) -> float:
    spread = np.square(wanted - wanted.mean(0)).sum()
    return float(1 - np.square(found - wanted).sum() / max(spread, 1e-12))


@dataclass(frozen=True, eq=False)
class _HeldOutValues:
    """Rows and background rows, coded and with the model's scores."""

    model: ShapleyModel
    rows: Codes
    background: Codes
    scores: FloatArray
    background_scores: FloatArray
    names: tuple[str, ...]
    rng: np.random.Generator

    def errors(self, held_out: HeldOutWalks, others: IntArray) -> ErrorModel:
        """Return how far values of validation rows are off."""
        found = network_values(
            self.model.network, self.rows[others], self.background, self._walks(len(others))
        )
        known = NetworkRows(*self._start(others), *found)
        return fit_errors(*self._start(held_out.rows), self.reference(held_out), known)

    def _start(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return values before anything is shared out, and what that will be."""
        values = self.model.values(self.rows[rows]).astype(np.float64)
        return values, self.scores[rows] - self.model.base - values.sum(1)

    def _walks(self, n: int) -> Iterator[Walks]:
        n_background, m = self.background.at.shape
        return (Walks.draw(n, m, n_background, self.rng) for _ in range(NETWORK_WALKS))

    def quality(self, held_out: HeldOutWalks, fidelity: float) -> ContributionQuality:
        """Return how true values of report rows are."""
        codes, scores = self.rows[held_out.rows], self.scores[held_out.rows]
        values, remainder = self.model.start(codes, scores)
        errors = self.model.errors.errors(values, remainder)
        reference = self.reference(held_out) if len(codes) else WalkEstimates.of_nothing(values)
        found = measure_quality(
            values, errors, reference, n_asked=held_out.n_points, fidelity=fidelity, names=self.names
        )
        return found.in_units(float(self.model.scale.unit[0])) if len(self.model.scale.unit) == 1 else found

    def reference(self, held_out: HeldOutWalks) -> WalkEstimates:
        """Return unbiased estimates of the model's Shapley values."""
        rows, walks = self.rows[held_out.rows], self._walks(len(held_out.rows))
        found = network_values(self.model.network, rows, self.background, walks)
        end = self.scores[held_out.rows] - self.model.network(self.rows[held_out.rows])
        start = self.background_scores - self.model.network(self.background)
        each = []
        for walk, points, mixtures in zip(held_out.walks, held_out.points, held_out.mixtures, strict=True):
            mixed = mixtures.codes(self.rows, self.background, self.model.coding.features)
            changes = walk_changes(points - self.model.network(mixed), start[walk.background], end)
            each.append(np.take_along_axis(changes, walk.order.argsort(1)[:, :, None], axis=1))
        return WalkEstimates.from_walks(np.stack(each), found)
