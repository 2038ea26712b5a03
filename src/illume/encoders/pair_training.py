"""Training on pairs of rows: a fixed number of steps, and a weight that makes slopes as steady as asked."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from illume._typing import FloatArray
from illume.data.progress import tqdm
from illume.encoders.batches import RowTensors, find_device
from illume.encoders.forward import SoftBins
from illume.encoders.losses import OneHot, input_distances, input_penalty, nearest, neighbour_spread
from illume.encoders.networks import EncodedBatch, EncoderModel, linear, linear_directions
from illume.encoders.options import PAIRS, PairObjective, Training
from illume.encoders.pair_losses import missed_change, neighbours, score_error, steadiness
from illume.encoders.pairs import Asked, Pairs, make_pairs, pair_neighbours
from illume.encoders.targets import Targets
from illume.encoders.training import DIVERGED, INTERRUPTED, NOTHING, finish, memory_errors
from illume.encoders.training_data import TargetRows
from illume.results.diagnostics import Epoch, History

if TYPE_CHECKING:
    from illume.encoders.estimators import TrainedEncoder

WARM_UP = 0.1  # share of steps in which the learning rate rises
FEWEST_STEPS = 20  # of its schedule
WEIGHT_DECAY = 1e-4
LONGEST = 1.0  # of a gradient
BIN_START = 4.0  # factor on the initial weights of bins, which are small numbers
N_EPOCHS = 20  # parts of a training, after each of which it is validated
STEADIED = 256  # rows of a batch among which neighbours are found
STEADIED_VALIDATION = 400
EVERY, GAIN = 25, 2.0  # steps after which the weight of steadiness changes, and by how much
START, LEAST, MOST = 0.1, 1e-3, 3.0  # that weight
NEIGHBOURS = 20


@dataclass(frozen=True, eq=False)
class PairData:
    """Pairs with standardised scores, validation rows (X, P) with standardised answers, and options."""

    pairs: Pairs
    validation: tuple[FloatArray, FloatArray]
    targets: Targets
    objective: PairObjective
    training: Training
    bins: SoftBins
    seed: int

    @classmethod
    def read(
        cls, encoder: TrainedEncoder, rows: TargetRows, asked: Asked | None, bins: SoftBins, seed: int
    ) -> PairData:
        """Have made-up rows answered; without anything to ask, pair rows with their neighbours."""
        targets, training, rng = rows.targets, encoder.training or PAIRS, np.random.default_rng(seed)
        most = training.batch_size * training.n_steps(len(rows.X))  # more would never be looked at
        if asked is None:
            pairs = pair_neighbours(rows.X, targets.scores(rows.P), most, rng)
        elif len(asked.imputed) > len(rows.X):
            raise ValueError("made-up rows take validation rows of their own; pass validation")
        else:
            onehot = np.isin(np.arange(rows.X.shape[1]), list(encoder.onehot))
            asked = replace(asked, n_pairs=min(asked.n_pairs, most))
            pairs = make_pairs(rows.X[: len(asked.imputed)], asked, onehot, rng)
            here, there = (targets.standardise_scores(S) for S in (pairs.here, pairs.there))
            pairs = replace(pairs, here=here, there=there)
        objective = cast(PairObjective, encoder.objective)
        return cls(pairs, rows.validation, targets, objective, training, bins, seed)


class PairTrainer:
    """Trains maps, levels and a head on pairs."""

    def __init__(self, encoder: TrainedEncoder, data: PairData) -> None:
        self.encoder, self.data, self.targets = encoder, data, data.targets
        self.device = find_device(encoder.device)
        pairs, n_inputs = data.pairs, data.pairs.X.shape[1]
        self.rows = RowTensors.from_arrays(pairs.X, pairs.here, self.device)
        self.steps = RowTensors.from_arrays(pairs.D, pairs.there, self.device)
        self.scale = max(float(np.std(np.concatenate([pairs.here, pairs.there]))), 1e-6)
        mask = torch.zeros(n_inputs, dtype=torch.bool)
        mask[list(encoder.onehot)] = True
        self.onehot = OneHot(mask.to(self.device), len(set(encoder.onehot)))
        self.generator = torch.Generator().manual_seed(data.seed)
        self.model = self._build().to(self.device)
        self.n_steps = data.training.n_steps(len(pairs))
        rate = data.training.learning_rate
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=rate, weight_decay=WEIGHT_DECAY, fused=True
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, rate, max(self.n_steps, FEWEST_STEPS), pct_start=WARM_UP
        )
        self.weight = START
        self._read_validation()

    def _build(self) -> EncoderModel:
        encoder, data = self.encoder, self.data
        maps = encoder.build_network(data.pairs.X.shape[1], data.objective, self.generator, data.bins)
        if maps.rank != 0:
            first = maps.layers.get_parameter("0.weight")
            with torch.no_grad():
                first[:, first.shape[1] - len(data.bins) :] *= BIN_START
        if maps.rank:
            maps.start_at(torch.from_numpy(linear_directions(data.pairs.X.astype(float), data.pairs.here)))
        return EncoderModel(maps, linear(encoder.n_latents, self.targets.n_logits, self.generator))

    def _read_validation(self) -> None:
        X, P = self.data.validation
        order = torch.randperm(len(X), generator=self.generator)[: self.data.training.validation_rows].numpy()
        self.validation = RowTensors.from_arrays(X[order], P[order], self.device)
        self.validation_scores = torch.from_numpy(self.targets.scores(P[order]).astype(np.float32))
        some = RowTensors(self.validation.X[:STEADIED_VALIDATION], self.validation.P[:STEADIED_VALIDATION])
        self.near = neighbours(
            input_distances(some.X, self.onehot), self.targets.decisions(some.P), NEIGHBOURS
        )
        own = torch.arange(len(some), device=self.device)
        self.judged, self.has_near = some, bool((self.near[:, 0] != own).any())

    def fit(self) -> None:
        """Take all steps, unless the loss becomes NaN."""
        epochs: list[Epoch] = []
        start, every = time.perf_counter(), max(1, -(-self.n_steps // N_EPOCHS))
        losses: list[Tensor] = []
        ended, interrupted, best = "", False, {k: v.clone() for k, v in self.model.state_dict().items()}
        with self._progress() as bar, memory_errors(self.data.training.batch_size):
            try:
                for i in range(1, self.n_steps + 1):
                    losses.append(self._step())
                    bar.update()
                    if i % EVERY == 0:
                        self._steady()
                    if i % every == 0 or i == self.n_steps:
                        loss, terms = float(torch.stack(losses).mean()), self._validate()
                        number, seconds = len(epochs) + 1, time.perf_counter() - start
                        total = terms["g"] + terms["l"]
                        epochs.append(Epoch(number, self.rows.X.shape[1], loss, total, terms, seconds))
                        bar.set_postfix(loss=f"{loss:.4f}", validation=f"{total:.4f}")
                        losses = []
                        if not math.isfinite(loss + total):
                            ended = NOTHING if number == 1 else DIVERGED
                            self.model.load_state_dict(best)
                            break
                        best = {k: v.clone() for k, v in self.model.state_dict().items()}
            except KeyboardInterrupt:
                interrupted = True
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                if name.startswith("head."):
                    parameter.mul_(self.scale)
        diverged, done = bool(ended), len(epochs) - bool(ended)
        ended = INTERRUPTED if interrupted else ended or f"all {self.n_steps} steps done"
        history = History(tuple(epochs), done, ended, interrupted, diverged=diverged)
        n, bins = self.rows.X.shape[1], self.data.bins
        finish(self.encoder, self.model, self.targets, history, n_inputs=n, bins=bins)

    def _step(self) -> Tensor:
        """Take one step on a batch; return the loss before it."""
        size = (self.data.training.batch_size,)
        index = torch.randint(len(self.rows), size, generator=self.generator).to(self.device)
        loss = self._loss(index)
        self.optimizer.zero_grad(set_to_none=True)
        (loss + input_penalty(self.model)).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), LONGEST)
        self.optimizer.step()
        self.schedule.step()
        return loss.detach()

    def _loss(self, index: Tensor) -> Tensor:
        """Return the loss of some pairs, each seen from both of its rows."""
        objective, targets, n = self.data.objective, self.targets, len(index)
        x, d = self.rows.X[index], self.steps.X[index]
        here, there = self.rows.P[index], self.steps.P[index]
        S, D = torch.cat([here, there]), torch.cat([d, -d])
        encoded = self._encode(torch.cat([x, x + d]))
        coef = targets.explained(self.head.weight) * self.scale
        found = encoded.Z @ coef.mT + targets.explained(self.head.bias[:, None])[:, 0] * self.scale
        P = targets.answers(S)
        loss = score_error(found, S, self.scale)
        if targets.task == "classification":
            loss = loss + targets.mimicry(found, P)
        along = encoded.along(D) @ coef.mT
        if objective.lambda_d:
            change = torch.cat([there - here, here - there])
            loss = loss + objective.lambda_d * missed_change(along, change, self.scale)
        if objective.lambda_st:
            own = torch.cat([found[n:] - found[:n], found[:n] - found[n:]])
            loss = loss + objective.lambda_st * missed_change(along, own, self.scale)
        if objective.steadiness:
            some = slice(0, min(STEADIED, n))
            near = nearest(input_distances(x[some], self.onehot), targets.decisions(P[:n][some]))
            slopes = encoded.slopes_of(coef[targets.leading(P[:n])], some)
            loss = loss + self.weight * neighbour_spread(slopes, near)
        return loss

    def _encode(self, X: Tensor) -> EncodedBatch:
        return EncodedBatch(self.model.maps, X, X[:0], X.shape[1], whole=False)

    @torch.no_grad()
    def _steady(self) -> None:
        """Weigh steadiness more where slopes of validation rows are less steady than asked for."""
        wanted = self.data.objective.steadiness
        if wanted and self.has_near:
            off = wanted - self._measure_steadiness()
            if math.isfinite(off):
                self.weight = min(max(self.weight * math.exp(GAIN * off), LEAST), MOST)

    @property
    def head(self) -> nn.Linear:
        """The head, which pairs always train."""
        return cast(nn.Linear, self.model.head)

    @torch.no_grad()
    def _measure_steadiness(self) -> float:
        coef = self.targets.explained(self.head.weight)
        leading, encoded = self.targets.leading(self.judged.P), self._encode(self.judged.X)
        return steadiness(encoded.slopes_of(coef[leading], slice(0, len(self.judged))), self.near)

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        """Return the errors on validation rows, and how steady slopes are there, by their names."""
        found = self.head(self._encode(self.validation.X).Z) * self.scale
        scores = self.validation_scores.to(self.device)
        centred = self.targets.explained(found.mT).mT if found.shape[1] > 1 else found
        terms = {
            "l": float(score_error(centred, scores, self.scale)),
            "g": float(self.targets.mimicry(found, self.validation.P)),
        }
        return terms | ({"steadiness": self._measure_steadiness()} if self.has_near else {})

    def _progress(self) -> tqdm:
        verbose = self.encoder.verbose
        disable = None if verbose is None else not verbose
        name = f"training, {self.encoder.n_latents} latents"
        return tqdm(desc=name, unit="step", total=self.n_steps, disable=disable)
