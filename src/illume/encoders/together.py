"""Several encoders trained side by side, on the same batches.

They are alike in all but the number of latents and the weights of the objective, so that a batch is gathered
once, and what it says about its pairs of rows is worked out once. On a GPU one step of all of them is one
recording, in which every model has a stream of its own. What each learns is what it learns alone, so that one
of them may go on by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from tqdm.auto import tqdm

from illume.data.checkpoints import Slot
from illume.encoders.learning import Learned, Learning, enough_memory, progress, rows_of
from illume.encoders.objective import Batch, Between
from illume.encoders.steps import Steps, precision
from illume.encoders.training import Trainer
from illume.results.history import History

AVERAGED = 0.25  # of the steps, the last, over which weights are averaged before they are judged
INTERRUPTED = "interrupted, the best so far was kept"


class Together:
    """The trainings of some encoders, begun and kept in step."""

    def __init__(self, encoders: Sequence[Any], X: Any, P: Any, validation: Any) -> None:
        self.encoders = list(encoders)
        lessons = [encoder.lesson(X, P, validation) for encoder in encoders]
        seeded = [replace(lesson, seed=lessons[0].seed) for lesson in lessons]
        with enough_memory(lessons[0].training):
            rows = rows_of(encoders[0], lessons[0])
            pairs = zip(encoders, seeded, strict=True)
            self.learnings = [Learning(encoder, lesson, rows, None) for encoder, lesson in pairs]
        self.n_done = 0
        self.means = [Mean(learning.trainer) for learning in self.learnings]
        self.step: tuple[list[Trainer], Steps] | None = None

    @property
    def n_steps(self) -> int:
        """How many steps a whole training has at the most."""
        trainer = self.learnings[0].trainer
        return trainer.n_epochs * trainer.epoch_steps

    def go(self, n_steps: int) -> bool:
        """Take the first so many steps, or as many as there are; say whether that was interrupted."""
        first, trainers = self.learnings[0], [learning.trainer for learning in self.learnings]
        sizes = ", ".join(str(encoder.n_latents) for encoder in self.encoders)
        try:
            with progress(f"trying {sizes} latents", "step", first) as bar, enough_memory(first.training):
                bar.reset(total=n_steps)
                with precision(first.trainer.rows.X.device):
                    while self.n_done < n_steps and (some := [t for t in trainers if t.goes_on]):
                        self._part_of_an_epoch(some, n_steps, bar)
        except KeyboardInterrupt:
            return True
        finally:
            self.step = None
        return False

    def learned(self, i: int, *, interrupted: bool = False) -> Learned:
        """Return what one of them has come to, or, where it will not go on, its best epoch, if it had any.

        What it has come to are the mean weights of the last steps, which do not depend on the last one alone.
        """
        learning = self.learnings[i]
        at, epochs = learning.trainer.at, tuple(learning.trainer.epochs)
        if not interrupted and learning.trainer.goes_on:
            with self.means[i].in_place():
                return learning.learned()
        if at.best:
            learning.trainer.model.modules.load_state_dict(at.weights)
        if not interrupted:
            return learning.learned()
        return learning.learned(History(epochs, at.best, INTERRUPTED, True, diverged=at.diverged))

    def finish(self, i: int, slot: Slot | None = None) -> Any:
        """Let one of them go on to its end; return the encoder."""
        learning, encoder = self.learnings[i], self.encoders[i]
        self.learnings, self.means = [learning], []  # the memory of the others is free
        learning.trainer.keep_in(slot)
        return encoder.take(learning.finish())

    def _part_of_an_epoch(self, trainers: list[Trainer], n_steps: int, bar: tqdm[None]) -> None:
        """Go through the epoch that has begun, or a new one, as far as steps are left."""
        epoch, generator = trainers[0].upcoming(), trainers[0].generator
        for trainer in trainers:
            trainer.ahead, trainer.generator = epoch, generator
            trainer.set_learning_rate()
        if self.step is None or self.step[0] != trainers:
            self.step = (trainers, side_by_side(trainers))
        for batch in islice(epoch, n_steps - self.n_done):
            for trainer, loss in zip(trainers, self.step[1](batch), strict=True):
                trainer.losses.append(loss)
            self.n_done += 1
            bar.update()
            if self.n_done > (1 - AVERAGED) * n_steps:
                self._average(trainers)
        if not epoch.left:
            for trainer in trainers:
                trainer.one_epoch(tqdm(disable=True))

    def _average(self, trainers: list[Trainer]) -> None:
        for mean in self.means:
            if mean.trainer in trainers:
                mean.add()


class Mean:
    """The mean of a trainer's weights over some of its steps."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.n_added = trainer, 0
        self.weights = [p.detach() for p in trainer.model.modules.parameters()]
        self.sums = [torch.zeros_like(weight) for weight in self.weights]

    def add(self) -> None:
        """Add the weights that it has now."""
        torch._foreach_add_(self.sums, self.weights)
        self.n_added += 1

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the mean, where there is one, in the place of the weights for a while."""
        before = [weight.clone() for weight in self.weights]
        if self.n_added:
            for weight, total in zip(self.weights, self.sums, strict=True):
                weight.copy_(total / self.n_added)
        try:
            yield
        finally:
            for weight, old in zip(self.weights, before, strict=True):
                weight.copy_(old)


def side_by_side(trainers: Sequence[Trainer]) -> Steps:
    """Return what takes one step with every trainer on a batch; the losses come back as one tensor."""
    lead = trainers[0]
    cuda = lead.columns.onehot.is_cuda
    streams = [torch.cuda.Stream() if cuda else None for _ in trainers]

    def work(batch: Batch) -> Tensor:
        between = Between(lead.ranks.share(batch), lead.columns)
        between.prepare([trainer.objective for trainer in trainers])
        found = []
        for trainer, stream in zip(trainers, streams, strict=True):
            if stream is not None:
                stream.wait_stream(torch.cuda.current_stream())
            with nullcontext() if stream is None else torch.cuda.stream(stream):
                found.append(trainer.trained(between))
        for stream in streams:
            if stream is not None:
                torch.cuda.current_stream().wait_stream(stream)
        return torch.stack(found)

    def before() -> None:
        for trainer in trainers:
            trainer.optimiser.zero_grad(set_to_none=True)

    return Steps(work, before, recorded=lead.ranks.alone)
