"""The training loop: mini-batches, Adam, early stopping on validation rows, a sparsity schedule."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from illume.data.progress import tqdm
from illume.data.rounded_weights import round_weights
from illume.encoders.batches import Batch, RowTensors, find_device
from illume.encoders.forward import SoftBins
from illume.encoders.losses import OneHot, input_penalty, loss_terms, weighted_sum
from illume.encoders.networks import EncoderModel, linear, linear_directions
from illume.encoders.targets import Targets
from illume.encoders.training_data import TrainingData
from illume.errors import IllumeError, OutOfMemoryError
from illume.results.diagnostics import Epoch, History

if TYPE_CHECKING:
    from illume.encoders.estimators import TrainedEncoder

DIVERGED = "the loss became NaN; the best weights before that were kept"
NOTHING = "the loss was NaN from the first epoch on, and nothing was learned"
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")  # as torch says
INTERRUPTED = "interrupted, the best so far was kept"
BATCH_SEED = 0x5EED  # the random numbers of batches are independent of those of weights


@dataclass
class TrainingState:
    """The state of a phase: epochs done in it, the best of them, and why it ended; and all epochs."""

    alpha: int
    done: int = 0
    best_loss: float = math.inf
    best: int = 0
    ended: str = ""
    epochs: tuple[Epoch, ...] = ()

    @property
    def diverged(self) -> bool:
        """Whether the loss became NaN."""
        return self.ended in (DIVERGED, NOTHING)


class Trainer:
    """Trains the network of an encoder and keeps the weights that are best on validation rows."""

    def __init__(self, encoder: TrainedEncoder, data: TrainingData) -> None:
        self.encoder, self.objective = encoder, data.objective
        rows, self.bins, self.targets = data.rows, data.bins, data.rows.targets
        self.training = data.training
        device = find_device(encoder.device)
        self.rows = RowTensors.from_arrays(rows.X, rows.P, device)
        self.validation = RowTensors.from_arrays(*rows.validation, device)
        self.n_inputs = rows.X.shape[1]
        self.model = self._build_model(data).to(device)
        mask = torch.zeros(self.n_inputs, dtype=torch.bool, device=device)
        mask[list(encoder.onehot)] = True
        self.onehot = OneHot(mask, len(set(encoder.onehot)))
        # apart from the weights' generator: encoders of all sizes see the same batches
        self.generator = torch.Generator().manual_seed(data.seed ^ BATCH_SEED)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.training.learning_rate, fused=True)
        self.state = TrainingState(alpha=self.n_inputs)
        self.best = copy.deepcopy(self.model.state_dict())
        self.target = min(self.objective.alpha or self.n_inputs, self.n_inputs)
        self.n_epochs = self.training.n_epochs(len(self.rows))
        self.validation_seed = int(torch.randint(2**31, (), generator=self.generator))
        # shuffled, because rows may come sorted and batches must be alike
        order = torch.randperm(len(self.validation), generator=self.generator)
        self.validation_order = order[: self.training.validation_rows]
        self.start = time.perf_counter()

    def _build_model(self, data: TrainingData) -> EncoderModel:
        generator = torch.Generator().manual_seed(data.seed)
        maps = self.encoder.build_network(self.n_inputs, self.objective, generator, data.bins)
        if maps.rank and self.objective.joint:
            maps.start_at(torch.from_numpy(linear_directions(data.rows.X, self.targets.scores(data.rows.P))))
        if not self.objective.joint:
            return EncoderModel(maps, None)
        return EncoderModel(maps, linear(self.encoder.n_latents, self.targets.n_logits, generator))

    def fit(self) -> None:
        """Train dense until early stopping; then, for a sparse objective, thin out and fine-tune."""
        state = self.state
        thinning = self.training.sparsity_epochs if self.target < self.n_inputs else 0
        n_epochs = self.n_epochs + (thinning + self.n_epochs if thinning else 0)
        interrupted = False
        with (
            self._progress("training", "epoch", n_epochs) as self.bar,
            memory_errors(self.training.batch_size),
        ):
            try:
                self._run_phases(thinning)
                ended, best = state.ended, state.best
            except KeyboardInterrupt:
                interrupted, ended, best = True, INTERRUPTED, self._best_epoch()
        self._finish(History(state.epochs, best, ended, interrupted, diverged=state.diverged))

    def _run_phases(self, thinning: int) -> None:
        state = self.state
        self._train_until_no_better()
        if thinning and not state.diverged:
            self._begin(state.best)
            self._thin(thinning)
            if not state.diverged:
                self._begin(len(state.epochs))
                self._train_until_no_better()
        state.alpha = self.target

    def _begin(self, best: int) -> None:
        """Begin another phase; `best` is the epoch to return to if none is better."""
        state = self.state
        state.done, state.best_loss, state.best, state.ended = 0, math.inf, best, ""
        self._keep_best()

    def _train_until_no_better(self) -> None:
        """Train until the validation loss stops falling, and return to the weights where it was lowest."""
        state, patience = self.state, self.training.patience
        try:
            while state.done < self.n_epochs and not state.ended:
                self._set_learning_rate(state.done / self.n_epochs)
                epoch = self.run_epoch()
                if not math.isfinite(epoch.loss + epoch.validation_loss):
                    state.ended = NOTHING if epoch.number == 1 else DIVERGED
                elif epoch.validation_loss < state.best_loss:
                    state.best_loss, state.best = epoch.validation_loss, epoch.number
                    self._keep_best()
                elif epoch.number - state.best >= patience:
                    state.ended = f"no better for {patience} epochs"
        finally:
            if state.best or state.ended:  # otherwise no epoch is complete
                self.model.load_state_dict(self.best)
        state.ended = state.ended or f"all {self.n_epochs} epochs done"

    def _thin(self, n_epochs: int) -> None:
        """Reduce the inputs per latent epoch by epoch; if the loss becomes NaN, return to dense weights."""
        self._set_learning_rate(0.0)
        while self.state.done < n_epochs:
            self.state.alpha = self.training.scheduled_alpha(self.state.done, self.n_inputs, self.target)
            epoch = self.run_epoch()
            if not math.isfinite(epoch.loss + epoch.validation_loss):
                self.model.load_state_dict(self.best)
                self.state.ended = DIVERGED
                return
        self.state.alpha = self.target

    def _keep_best(self) -> None:
        self.best = copy.deepcopy(self.model.state_dict())

    def run_epoch(self) -> Epoch:
        """Train one epoch, validate, and record both."""
        loss, terms = self.train_epoch(), self.validate()
        weights = self.objective.weights
        validation_loss = sum(weights[name] * term for name, term in terms.items())
        seconds = time.perf_counter() - self.start
        state = self.state
        epoch = Epoch(len(state.epochs) + 1, state.alpha, loss, validation_loss, terms, seconds)
        state.epochs, state.done = (*state.epochs, epoch), state.done + 1
        self.bar.update()
        self.bar.set_postfix(loss=f"{loss:.4f}", validation=f"{validation_loss:.4f}")
        return epoch

    def train_epoch(self) -> float:
        """Take one step on every batch of an epoch; return the mean loss."""
        return float(torch.stack([self.train_step(each) for each in self._training_batches()]).mean())

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return each term on the validation rows, with the same random directions every time."""
        generator = torch.Generator().manual_seed(self.validation_seed)
        sums: dict[str, Tensor] = {}
        for batch in self.validation.batches(self.validation_order, self.training, generator):
            for name, term in self._terms(batch).items():
                sums[name] = sums.get(name, 0.0) + term * (len(batch.X) / len(self.validation_order))
        return {name: float(term) for name, term in sums.items()}

    def train_step(self, batch: Batch) -> Tensor:
        """Take one step on a batch; return the loss before it."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = weighted_sum(self.objective, self._terms(batch))
        (loss + input_penalty(self.model)).backward()
        self.optimizer.step()
        return loss.detach()

    def _terms(self, batch: Batch) -> dict[str, Tensor]:
        alpha, targets = self.state.alpha, self.targets
        return loss_terms(self.objective, self.model, batch, self.onehot, alpha, targets=targets)

    def _training_batches(self) -> Iterator[Batch]:
        order = torch.randperm(len(self.rows), generator=self.generator)[: self.training.epoch_rows]
        return self.rows.batches(order, self.training, self.generator)

    def _set_learning_rate(self, done: float) -> None:
        """Set the learning rate for the share of epochs done."""
        factor = 0.5 * (1 + math.cos(math.pi * done)) if self.training.decay else 1.0
        self.optimizer.param_groups[0]["lr"] = self.training.learning_rate * factor

    def _best_epoch(self) -> int:
        same = [epoch for epoch in self.state.epochs if epoch.alpha == self.state.alpha]
        return min(same, key=lambda epoch: epoch.validation_loss).number if same else 0

    def _finish(self, history: History) -> None:
        """Hand history and weights to the encoder."""
        n, bins, alpha = self.n_inputs, self.bins, self.state.alpha
        finish(self.encoder, self.model, self.targets, history, n_inputs=n, bins=bins, alpha=alpha)

    def _progress(self, what: str, unit: str, total: int) -> tqdm:
        verbose = self.encoder.verbose
        disable = None if verbose is None else not verbose
        return tqdm(desc=f"{what}, {self.encoder.n_latents} latents", unit=unit, total=total, disable=disable)


def finish(
    encoder: TrainedEncoder,
    model: EncoderModel,
    targets: Targets,
    history: History,
    *,
    n_inputs: int,
    bins: SoftBins,
    alpha: int | None = None,
) -> None:
    """Hand history and trained weights to the encoder."""
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    joint = model.head is not None
    head = targets.head(arrays["head.weight"], arrays["head.bias"]) if joint else None
    maps = {name.removeprefix("maps."): array for name, array in arrays.items() if name[:4] == "maps"}
    maps |= {name: round_weights(maps[name]) for name in maps if name.endswith(".weight")}
    encoder.history_ = history
    encoder.set_weights(maps, n_inputs, alpha or n_inputs, head, bins)


@contextmanager
def memory_errors(batch_size: int) -> Iterator[None]:
    """Say what to do where memory runs out."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        said = any(words in str(error).lower() for words in OUT_OF_MEMORY)
        if isinstance(error, IllumeError) or not (said or isinstance(error, MemoryError)):
            raise
        raise OutOfMemoryError(
            f"memory ran out while training on batches of {batch_size} rows ({error}); "
            f"use smaller ones, Training(batch_size=…), or device='cpu'"
        ) from error
