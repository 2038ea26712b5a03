"""The training loop: mini-batches, Adam, early stopping on validation rows, a sparsity schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from tqdm.auto import tqdm

from illume.data.checkpoints import Slot
from illume.encoders.batches import Ahead, Model, Rows
from illume.encoders.distances import Columns
from illume.encoders.objective import Batch, Between, loss_terms, total
from illume.encoders.options import Objective, Training
from illume.encoders.ranks import ranks
from illume.encoders.sparsity import SparsitySchedule
from illume.encoders.standing import (
    DENSE,
    DIVERGED,
    FINISHED,
    NOTHING,
    SPARSE,
    THINNING,
    Parts,
    Standing,
    dump_standing,
    restore,
    weights_of,
)
from illume.encoders.steps import Steps, optimiser, precision, set_learning_rate
from illume.results.history import Epoch, History


class Trainer:
    """Trains a model in place and leaves it with its best weights on the validation rows.

    With a slot, the training goes on from what is there, and is written there now and then and at its end.
    Of trainers that were made alike, other models apart, all see the same batches.
    """

    def __init__(
        self,
        model: Model,
        objective: Objective,
        training: Training,
        rows: tuple[Rows, Rows],
        *,
        onehot: Tensor,
        generator: torch.Generator,
        slot: Slot | None = None,
    ) -> None:
        self.ranks = ranks()
        self.ranks.align(model.modules.parameters(), generator)
        self.model, self.objective, self.training = model, objective, self.ranks.widened(training)
        self.rows, self.validation = rows
        self.columns, self.generator = Columns.of(onehot), generator
        self.optimiser = optimiser(list(model.modules.parameters()), training.learning_rate)
        forget = partial(self.optimiser.zero_grad, set_to_none=True)
        self.train_step = Steps(self._trained, forget, recorded=self.ranks.alone)
        self.measure_step = Steps(self._measured, lambda: None)
        self.alpha = self.n_inputs = self.rows.X.shape[1]
        self.target = min(objective.alpha or self.n_inputs, self.n_inputs)
        self.epochs: list[Epoch] = []
        self.losses: list[Tensor] = []
        self.ahead: Ahead | None = None
        self.at = Standing(weights=weights_of(model.modules))
        self.validation_seed = int(torch.randint(2**31, (), generator=generator))
        # shuffled, for the rows may come sorted, and a batch must be like the others
        order = torch.randperm(len(self.validation), generator=generator)
        self.validation_order = order[: training.validation_rows]
        self.start = time.perf_counter()
        self.slot: Slot | None = None
        self.keep_in(slot)

    @property
    def n_epochs(self) -> int:
        """How many epochs there are to go through at the most, before any thinning out."""
        return self.training.n_epochs(len(self.rows))

    @property
    def epoch_steps(self) -> int:
        """How many batches an epoch has."""
        return math.ceil(min(len(self.rows), self.training.epoch_rows) / self.training.batch_size)

    @property
    def goes_on(self) -> bool:
        """Whether the phase that it is in has epochs left."""
        return self.at.done < self.n_epochs and not self.at.ended

    def run(self, progress: tqdm[None]) -> History:
        """Train dense until early stopping; then, for a sparse objective, thin out and fine-tune."""
        thinning = self.training.sparsity_epochs if self.target < self.n_inputs else 0
        progress.reset(total=self.n_epochs + (thinning + self.n_epochs if thinning else 0))
        progress.update(len(self.epochs))
        interrupted = False
        try:
            with precision(self.rows.X.device):
                self._train_on(thinning, progress)
            ended, best = self.at.ended, self.at.best
        except KeyboardInterrupt:
            interrupted = True
            ended, best = "interrupted, the best so far was kept", self._best_epoch()
        finally:
            self._forget_recordings()
        return History(tuple(self.epochs), best, ended, interrupted, diverged=self.at.diverged)

    def _train_on(self, thinning: int, progress: tqdm[None]) -> None:
        """Go on from where the training stands to its end."""
        if self.at.phase == DENSE:
            self._until_no_better(progress)
            if thinning and not self.at.diverged:
                self._begin(THINNING, self.at.best)
        if self.at.phase == THINNING:
            self._thin(thinning, progress)
            if not self.at.diverged:
                self._begin(SPARSE, len(self.epochs))
        if self.at.phase == SPARSE:
            self._until_no_better(progress)
        if self.at.phase != FINISHED:
            self._set_alpha(self.target)
            self.at.phase = FINISHED
            self._write()

    def _begin(self, phase: int, best: int) -> None:
        self.at = Standing(phase, best=best, weights=weights_of(self.model.modules))

    def _until_no_better(self, progress: tqdm[None]) -> None:
        """Train until the validation loss stops falling, and go back to where it was lowest."""
        try:
            while self.goes_on:
                self.one_epoch(progress)
        finally:
            if self.at.best or self.at.ended:  # else, no epoch is done that one could go back to
                self.model.modules.load_state_dict(self.at.weights)
        self.at.ended = self.at.ended or f"all {self.n_epochs} epochs done"

    def one_epoch(self, progress: tqdm[None]) -> None:
        """Train one epoch, or what is left of it, and see whether it is the best, or the last."""
        at = self.at
        self.set_learning_rate()
        loss = self._epoch(progress)
        at.done += 1
        if not self._finite():
            at.ended = NOTHING if math.isinf(at.best_loss) and at.phase == DENSE else DIVERGED
        elif loss < at.best_loss:
            at.remember(loss, len(self.epochs), self.model.modules)
        elif len(self.epochs) - at.best >= self.training.patience:
            at.ended = f"no better for {self.training.patience} epochs"
        if not at.ended:
            self._checkpoint()

    def _thin(self, n_epochs: int, progress: tqdm[None]) -> None:
        """Let the number of inputs fall; where the loss becomes NaN, go back to the dense weights."""
        at, schedule = self.at, SparsitySchedule(self.n_inputs, self.target, n_epochs)
        self._set_learning_rate(0.0)
        while at.done < n_epochs:
            self._set_alpha(schedule(at.done))
            self._epoch(progress)
            at.done += 1
            if not self._finite():
                self.model.modules.load_state_dict(at.weights)
                at.ended = DIVERGED
                return
            self._checkpoint()
        self._set_alpha(self.target)

    def _finite(self) -> bool:
        """Whether the last epoch's losses are numbers."""
        return math.isfinite(self.epochs[-1].loss) and math.isfinite(self.epochs[-1].validation_loss)

    def keep_in(self, slot: Slot | None) -> None:
        """Write to a slot from now on; go to where an earlier process wrote a checkpoint, if there is one."""
        self.slot = slot
        stage = None if slot is None else slot.load()
        if stage is None:
            return
        self.at, place = restore(stage, self._parts)
        self.alpha, self.epochs = place.alpha, list(place.epochs)
        self.losses, self.ahead = [], None
        if self.epochs:
            self.start = time.perf_counter() - self.epochs[-1].seconds

    def _checkpoint(self) -> None:
        if self.slot is not None and self.slot.due:
            self._write()

    def _write(self) -> None:
        if self.slot is not None:
            self.slot.save(*dump_standing(self.at, self.alpha, self.epochs, self._parts))

    @property
    def _parts(self) -> Parts:
        return Parts(self.model.modules, self.optimiser, self.generator)

    def _best_epoch(self) -> int:
        same = [epoch for epoch in self.epochs if epoch.alpha == self.alpha]
        return min(same, key=lambda epoch: epoch.validation_loss).number if same else 0

    def set_learning_rate(self) -> None:
        """Set the learning rate of the epoch that is next, or has begun."""
        self._set_learning_rate(self.at.done / self.n_epochs)

    def _set_learning_rate(self, done: float) -> None:
        """Set the learning rate for a share of the epochs that is done."""
        factor = 0.5 * (1 + math.cos(math.pi * done)) if self.training.decay else 1.0
        set_learning_rate(self.optimiser, self.training.learning_rate * factor)

    def _set_alpha(self, alpha: int) -> None:
        if alpha != self.alpha:
            self.alpha = alpha
            self._forget_recordings()

    def _forget_recordings(self) -> None:
        self.train_step.forget()
        self.measure_step.forget()

    def _epoch(self, progress: tqdm[None]) -> float:
        """Train one epoch, record it, and return the validation loss."""
        loss, terms = self.ranks.agreed((self._train(), self._validate()))
        weights = {name: getattr(self.objective, f"lambda_{name}") for name in terms}
        validation_loss = sum(weights[name] * term for name, term in terms.items())
        seconds = time.perf_counter() - self.start
        self.epochs.append(Epoch(len(self.epochs) + 1, self.alpha, loss, validation_loss, terms, seconds))
        progress.update()
        progress.set_postfix(loss=f"{loss:.4f}", validation=f"{validation_loss:.4f}")
        return validation_loss

    def upcoming(self) -> Ahead:
        """Return the rest of the epoch that has begun, or else a new one: the training rows, shuffled."""
        if self.ahead is None:
            order = torch.randperm(len(self.rows), generator=self.generator)
            order = order[: self.training.epoch_rows]
            self.ahead = Ahead(self._batches(self.rows, order, self.generator), self.epoch_steps)
        return self.ahead

    def _train(self) -> float:
        """Show the training rows once, as far as they have not been; return the mean loss."""
        self.losses += [self.train_step(batch) for batch in self.upcoming()]
        loss = float(torch.stack(self.losses).mean())
        self.losses, self.ahead = [], None
        return loss

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        """Return each term on the validation rows, with the same random directions every time."""
        generator = torch.Generator().manual_seed(self.validation_seed)
        order = self.validation_order
        batches = self._batches(self.validation, order, generator)
        parts = [self.measure_step(batch) * (len(batch.X) / len(order)) for batch in batches]
        sums = torch.stack(parts).sum(0).tolist()
        return dict(zip(self.names, sums, strict=True))

    def _batches(self, rows: Rows, order: Tensor, generator: torch.Generator) -> Iterator[Batch]:
        return rows.batches(order, self.training.batch_size, generator, self.training.stability_rows)

    def _trained(self, batch: Batch) -> Tensor:
        """Go one step down the gradient; return the loss before it."""
        return self.trained(Between(self.ranks.share(batch), self.columns))

    def trained(self, between: Between) -> Tensor:
        """Go one step on this process's share of a batch; return the loss before it."""
        loss = total(self.objective, self._terms(between))
        loss.backward()
        parameters = self.model.modules.parameters()
        loss = self.ranks.average(loss.detach(), parameters, len(between.batch.X))
        self.optimiser.step()
        return loss

    def _measured(self, batch: Batch) -> Tensor:
        """Return each term, stacked."""
        terms = self._terms(Between(batch, self.columns))
        self.names = tuple(terms)
        return torch.stack(list(terms.values()))

    def _terms(self, between: Between) -> dict[str, Tensor]:
        batch, columns = between.batch, between.columns
        return loss_terms(self.objective, self.model, batch, columns, self.alpha, between=between)
