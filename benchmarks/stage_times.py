"""Where the time of a fit goes: seconds of every stage, without those of the stages inside it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import illume.explainer
import illume.fit.pairs
import illume.fit.prepare
from illume.data.black_box import BlackBox
from illume.data.encoding import Encoding
from illume.encoders.together import Together
from illume.encoders.trained import TrainedEncoder
from illume.encoders.training import Trainer
from illume.explanations.neighbours import Neighbours
from illume.explanations.reference import Reference
from illume.explanations.trust import TrustMap

STAGES: tuple[tuple[Any, str, str], ...] = (
    (illume.explainer, "gather", "rows and schema"),
    (BlackBox, "__call__", "black box"),
    (illume.fit.prepare, "split_rows", "split"),
    (illume.fit.prepare, "query_rows", "queries made"),
    (Encoding, "fit", "encoding"),
    (Encoding, "transform", "encoding"),
    (Reference, "fit", "reference"),
    (Reference, "with_distances", "reference"),
    (illume.explainer, "prepare", "preparation, the rest"),
    (Together, "go", "trials"),
    (Trainer, "run", "training"),
    (TrainedEncoder, "fit", "training, the rest"),
    (TrainedEncoder, "transform", "encoding into latents"),
    (illume.fit.pairs, "best_surrogate", "surrogates"),
    (illume.explainer, "choose_pair", "choosing, the rest"),
    (Neighbours, "of", "neighbours"),
    (TrustMap, "fit", "trust map"),
    (illume.explainer, "measure", "quality"),
)


class Times:
    """Seconds by stage; the clock of a stage stands still while another one runs inside it."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.running = ["others"]
        self.last = time.perf_counter()

    def turn(self) -> None:
        """Add the time since the last turn to the stage that runs."""
        now = time.perf_counter()
        self.seconds[self.running[-1]] += now - self.last
        self.last = now

    def timed(self, work: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the same work, with its time taken."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.turn()
            self.running.append(stage)
            try:
                return work(*args, **kwargs)
            finally:
                self.turn()
                self.running.pop()

        return wrapped


@contextmanager
def stage_times() -> Iterator[dict[str, float]]:
    """Take the times of all fits within; the seconds by stage are there at the end."""
    times, found = Times(), {}
    with ExitStack() as stack:
        for owner, name, stage in STAGES:
            work = vars(owner)[name]
            bound = isinstance(work, classmethod)
            timed = times.timed(work.__func__ if bound else work, stage)
            stack.enter_context(mock.patch.object(owner, name, classmethod(timed) if bound else timed))
        yield found
    times.turn()
    found.update(sorted(times.seconds.items(), key=lambda item: -item[1]))
