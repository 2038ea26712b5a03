"""The training loop: mini-batches, Adam, early stopping on validation rows, a sparsity schedule."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from illume._typing import FloatArray
from illume.data.checkpoints import Slot
from illume.data.threads import is_out_of_memory
from illume.encoders.base import Head
from illume.encoders.batches import Batch, GraphedStep, RowTensors, Terms, find_device
from illume.encoders.networks import EncoderModel, linear, linear_directions
from illume.encoders.objective import OneHot, loss_terms, total
from illume.encoders.ranks import ranks
from illume.encoders.training_state import (
    DENSE,
    DIVERGED,
    FINISHED,
    NOTHING,
    SPARSE,
    THINNING,
    TrainingState,
    dump_state,
    restore_state,
)
from illume.errors import OutOfMemoryError
from illume.results.diagnostics import Epoch, History

if TYPE_CHECKING:
    from illume.encoders.trained import TrainedEncoder, TrainingData

INTERRUPTED = "interrupted, the best so far was kept"
BATCH_SEED = 0x5EED  # the random numbers of batches are independent of those of weights
TRIAL_SHARE = 0.03  # of the steps of a whole training
MIN_TRIAL_STEPS, MAX_TRIAL_SHARE = 32, 0.1  # a trial has at least so many steps, up to this share
AVERAGED_SHARE = 0.25  # the last steps of a trial, over which its weights are averaged


class Trainer:
    """Trains the network of an encoder and keeps the weights that are best on validation rows.

    With a slot, training resumes from the checkpoint there, and writes checkpoints now and then.
    """

    def __init__(self, encoder: TrainedEncoder, data: TrainingData, slot: Slot | None = None) -> None:
        self.encoder, self.objective, self.slot, self.bins = encoder, data.objective, slot, data.bins
        self.ranks = ranks()
        self.training = self.ranks.widen(data.training)
        device = find_device(encoder.device)
        self.rows = RowTensors.from_arrays(data.X, data.P, device)
        self.validation = RowTensors.from_arrays(*data.validation, device)
        self.model = self._build(data).to(device)
        mask = torch.zeros(self.n_inputs, dtype=torch.bool, device=device)
        mask[list(encoder.onehot)] = True
        self.onehot = OneHot(mask, len(set(encoder.onehot)))
        # apart from the weights' generator: encoders of all sizes see the same batches
        self.generator = torch.Generator().manual_seed(data.seed ^ BATCH_SEED)
        self.ranks.align(self.model.parameters(), self.generator)
        self.optimizer = _adam(list(self.model.parameters()), self.training.learning_rate)
        self.train_step = GraphedStep(self._train_step, record=self.ranks.alone)
        self.validation_step = GraphedStep(self._terms)
        self.state = TrainingState(alpha=self.n_inputs)
        self.best = copy.deepcopy(self.model.state_dict())
        self.target = min(self.objective.alpha or self.n_inputs, self.n_inputs)
        self.n_epochs = self.training.n_epochs(len(self.rows))
        self.validation_seed = int(torch.randint(2**31, (), generator=self.generator))
        # shuffled, because rows may come sorted and batches must be alike
        order = torch.randperm(len(self.validation), generator=self.generator)
        self.validation_order = order[: self.training.validation_rows]
        self.start = time.perf_counter()

    @property
    def n_inputs(self) -> int:
        """The number of inputs, m."""
        return self.rows.X.shape[1]

    def _build(self, data: TrainingData) -> EncoderModel:
        generator = torch.Generator().manual_seed(data.seed)
        maps = self.encoder._network(self.n_inputs, self.objective, generator, data.bins)
        if maps.rank and self.objective.joint:
            maps.start_at(torch.from_numpy(linear_directions(data.X, data.P)))
        outputs = 1 if self.rows.P.shape[1] == 2 else self.rows.P.shape[1]
        return EncoderModel(
            maps, linear(self.encoder.n_latents, outputs, generator) if self.objective.joint else None
        )

    def fit(self) -> None:
        """Train dense until early stopping; then, for a sparse objective, thin out and fine-tune."""
        self._resume()
        state = self.state
        thinning = self.training.sparsity_epochs if self.target < self.n_inputs else 0
        n_epochs = self.n_epochs + (thinning + self.n_epochs if thinning else 0)
        interrupted = False
        with self._progress("training", "epoch", n_epochs) as self.bar, self._memory_errors():
            self.bar.update(len(state.epochs))
            try:
                self._run_phases(thinning)
                ended, best = state.ended, state.best
            except KeyboardInterrupt:
                interrupted, ended, best = True, INTERRUPTED, self._best_epoch()
        self._finish(History(state.epochs, best, ended, interrupted, diverged=state.diverged))

    def fit_trial(self) -> None:
        """Take the first steps of a training only, and average the weights over the last of them."""
        n_steps = trial_steps(self.n_epochs * self.training.epoch_steps(len(self.rows)))
        averaged, interrupted = AveragedModel(self.model), False
        with self._progress("trial", "step", n_steps) as bar, self._memory_errors():
            try:
                for i, batch in enumerate(islice(self._all_batches(), n_steps)):
                    self.train_step(batch)
                    bar.update()
                    if i + 1 > (1 - AVERAGED_SHARE) * n_steps:
                        averaged.update_parameters(self.model)
                self.model.load_state_dict(averaged.module.state_dict())
            except KeyboardInterrupt:
                interrupted = True
        ended = INTERRUPTED if interrupted else f"a trial of {n_steps} steps"
        self._finish(History((), 0, ended, interrupted))

    def _run_phases(self, thinning: int) -> None:
        state = self.state
        if state.phase == DENSE:
            self._train_until_no_better()
            if thinning and not state.diverged:
                self._begin(THINNING, state.best)
        if state.phase == THINNING:
            self._thin(thinning)
            if not state.diverged:
                self._begin(SPARSE, len(state.epochs))
        if state.phase == SPARSE:
            self._train_until_no_better()
        if state.phase != FINISHED:
            self._set_alpha(self.target)
            state.phase = FINISHED
            self._write_checkpoint()

    def _begin(self, phase: int, best: int) -> None:
        self.state.begin(phase, best)
        self._keep_best()
        self._checkpoint_if_due()

    def _train_until_no_better(self) -> None:
        """Train until the validation loss stops falling, and return to the weights where it was lowest."""
        state, patience = self.state, self.training.patience
        try:
            while state.done < self.n_epochs and not state.ended:
                self._set_learning_rate(state.done / self.n_epochs)
                epoch = self.run_epoch()
                state.done += 1
                if not math.isfinite(epoch.loss + epoch.validation_loss):
                    state.ended = (
                        NOTHING if math.isinf(state.best_loss) and state.phase == DENSE else DIVERGED
                    )
                elif epoch.validation_loss < state.best_loss:
                    state.best_loss, state.best = epoch.validation_loss, epoch.number
                    self._keep_best()
                elif epoch.number - state.best >= patience:
                    state.ended = f"no better for {patience} epochs"
                if not state.ended:
                    self._checkpoint_if_due()
        finally:
            if state.best or state.ended:  # otherwise no epoch is complete
                self.model.load_state_dict(self.best)
        state.ended = state.ended or f"all {self.n_epochs} epochs done"

    def _thin(self, n_epochs: int) -> None:
        """Reduce the inputs per latent epoch by epoch; if the loss becomes NaN, return to dense weights."""
        state = self.state
        self._set_learning_rate(0.0)
        while state.done < n_epochs:
            self._set_alpha(scheduled_alpha(state.done, n_epochs, self.n_inputs, self.target))
            epoch = self.run_epoch()
            state.done += 1
            if not math.isfinite(epoch.loss + epoch.validation_loss):
                self.model.load_state_dict(self.best)
                state.ended = DIVERGED
                return
            self._checkpoint_if_due()
        self._set_alpha(self.target)

    def _keep_best(self) -> None:
        self.best = copy.deepcopy(self.model.state_dict())

    def run_epoch(self) -> Epoch:
        """Train one epoch, validate, and record both."""
        loss, terms = self.ranks.agree((self.train_epoch(), self.validate()))
        weights = self.objective.weights
        validation_loss = sum(weights[name] * term for name, term in terms.items())
        seconds = time.perf_counter() - self.start
        state = self.state
        epoch = Epoch(len(state.epochs) + 1, state.alpha, loss, validation_loss, terms, seconds)
        state.epochs += (epoch,)
        self.bar.update()
        self.bar.set_postfix(loss=f"{loss:.4f}", validation=f"{validation_loss:.4f}")
        return epoch

    def train_epoch(self) -> float:
        """Take one step on every batch of an epoch; return the mean loss."""
        losses = [self.train_step(batch)["loss"] for batch in self._training_batches()]
        return float(torch.stack(losses).mean())

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return each term on the validation rows, with the same random directions every time."""
        generator = torch.Generator().manual_seed(self.validation_seed)
        sums: Terms = {}
        for batch in self.validation.batches(self.validation_order, self.training, generator):
            for name, term in self.validation_step(batch).items():
                sums[name] = sums.get(name, 0.0) + term * (len(batch.X) / len(self.validation_order))
        return {name: float(term) for name, term in sums.items()}

    def _train_step(self, batch: Batch) -> Terms:
        """Take one step on this process's share of a batch; return the loss before it."""
        batch = self.ranks.share(batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss = total(self.objective, self._terms(batch))
        loss.backward()
        loss = self.ranks.average(loss.detach(), self.model.parameters(), len(batch.X))
        self.optimizer.step()
        return {"loss": loss}

    def _terms(self, batch: Batch) -> Terms:
        return loss_terms(self.objective, self.model, batch, self.onehot, self.state.alpha)

    def _all_batches(self) -> Iterator[Batch]:
        for epoch in range(self.n_epochs):
            self._set_learning_rate(epoch / self.n_epochs)
            yield from self._training_batches()

    def _training_batches(self) -> Iterator[Batch]:
        order = torch.randperm(len(self.rows), generator=self.generator)[: self.training.epoch_rows]
        return self.rows.batches(order, self.training, self.generator)

    def _set_learning_rate(self, done: float) -> None:
        """Set the learning rate for the share of epochs done."""
        factor = 0.5 * (1 + math.cos(math.pi * done)) if self.training.decay else 1.0
        rate, group = self.training.learning_rate * factor, self.optimizer.param_groups[0]
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate

    def _set_alpha(self, alpha: int) -> None:
        if alpha != self.state.alpha:
            self.state.alpha = alpha
            self._reset_graphs()

    def _reset_graphs(self) -> None:
        self.train_step.reset()
        self.validation_step.reset()

    def _best_epoch(self) -> int:
        same = [epoch for epoch in self.state.epochs if epoch.alpha == self.state.alpha]
        return min(same, key=lambda epoch: epoch.validation_loss).number if same else 0

    def _finish(self, history: History) -> None:
        """Hand history and weights to the encoder, and free what a GPU holds for graphs."""
        self._reset_graphs()

        def array(tensor: Tensor) -> FloatArray:
            return tensor.detach().cpu().numpy().copy()

        head = self.model.head
        weights = {name: array(tensor) for name, tensor in self.model.maps.state_dict().items()}
        found = None if head is None else Head(array(head.weight), array(head.bias))
        self.encoder.history_ = history
        self.encoder.set_weights(weights, self.state.alpha, found, self.bins)

    def _resume(self) -> None:
        stage = None if self.slot is None else self.slot.load()
        if stage is None:
            return
        restore_state(stage, self)
        if self.state.epochs:
            self.start = time.perf_counter() - self.state.epochs[-1].seconds

    def _checkpoint_if_due(self) -> None:
        if self.slot is not None and self.slot.due:
            self._write_checkpoint()

    def _write_checkpoint(self) -> None:
        if self.slot is not None:
            self.slot.save(*dump_state(self))

    def _progress(self, what: str, unit: str, total: int) -> tqdm[None]:
        verbose = self.encoder.verbose
        disable = self.ranks.rank > 0 or (None if verbose is None else not verbose)
        return tqdm(desc=f"{what}, {self.encoder.n_latents} latents", unit=unit, total=total, disable=disable)

    @contextmanager
    def _memory_errors(self) -> Iterator[None]:
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise OutOfMemoryError(
                f"memory ran out while training on batches of {self.training.batch_size} rows ({error}); "
                f"use smaller ones, Training(batch_size=…), or device='cpu'"
            ) from error


def trial_steps(n_steps: int) -> int:
    """Return the number of steps of a trial, given that of a whole training.

    >>> trial_steps(2_400), trial_steps(640), trial_steps(100), trial_steps(1)
    (72, 32, 10, 1)
    """
    return max(1, round(TRIAL_SHARE * n_steps), min(MIN_TRIAL_STEPS, round(MAX_TRIAL_SHARE * n_steps)))


def scheduled_alpha(epoch: int, n_epochs: int, start: int, end: int) -> int:
    """Return how many inputs a latent may use at an epoch, falling evenly from `start` to `end`.

    >>> [scheduled_alpha(epoch, 3, start=8, end=2) for epoch in range(5)]
    [8, 6, 4, 2, 2]
    """
    return round(start + min(epoch / n_epochs, 1.0) * (end - start))


def _adam(parameters: list[torch.nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    """Return Adam; on a GPU its learning rate is a tensor, so that a recorded step sees it change."""
    device = parameters[0].device
    if device.type != "cuda":
        return torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    rate = torch.tensor(learning_rate, device=device)
    return torch.optim.Adam(parameters, lr=rate, capturable=True, fused=True)
