"""Two processes that train together do what one does on batches twice as large."""

import json
import os
import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest
import torch

from illume import SurrogateOptions
from illume.encoders.batches import Batch
from illume.encoders.options import Training
from illume.encoders.ranks import Ranks, ranks
from tests.common import CHECKS

TOGETHER = """
import json, sys
from datetime import timedelta
import numpy as np, torch
from torch import distributed
from tests.encoders.test_ranks import answers, fitted
torch.set_num_threads(1)
rank, folder = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2, timeout=timedelta(seconds=100)
)
found = {name: fitted(name, 36) for name in ("apart", "aligned", "choosing")}
error = ""
try:
    answers(rank)
except Exception as raised:
    error = f"{type(raised).__name__}: {raised}"
maps = {name: [part.tolist() for part in each["maps"]] for name, each in found.items()}
losses = {name: each["losses"] for name, each in found.items()}
n_asked = {name: [each["n_asked"], each["said"]] for name, each in found.items()}
with open(f"{folder}/{rank}.json", "w") as file:
    json.dump({"maps": maps, "losses": losses, "n_asked": n_asked, "error": error}, file)
distributed.destroy_process_group()
"""


def fitted(name, batch_size):
    """Fit an explainer to a model that counts; `apart` has no term that compares rows with each other.

    `choosing` tries several numbers of latents first.
    """
    from illume import Explainer, Objective

    counted = []

    def model(rows):
        counted.append(len(rows))
        return 1 / (1 + np.exp(-3 * rows[:, 0] * rows[:, 1] - rows[:, 2]))

    apart = Objective(
        lambda_x=0.0, lambda_w=0.0, lambda_y=0.0, lambda_co=0.0, lambda_g=1.0, lambda_l=0.1, width=8
    )
    rows = np.random.default_rng(0).normal(size=(320, 3))
    training = Training(
        batch_size=batch_size, learning_rate=5e-3, max_epochs=8, patience=3, stability_rows=batch_size // 2
    )
    explainer = Explainer(
        model,
        queries=64,
        contributions="pullback",
        verbose=False,
        device="cpu",
        surrogate_options=SurrogateOptions(
            n_latents="auto" if name == "choosing" else 2,
            objective=Objective.preset(name) if name == "aligned" else apart,
            training=training,
        ),
    ).fit(rows)
    return {
        "maps": [explainer.fitted_.local.encoder.encode(rows).W, *explainer.fitted_.local.encoder.head_],
        "losses": [(epoch.loss, epoch.validation_loss) for epoch in explainer.history_.epochs],
        "n_asked": sum(counted),
        "said": explainer.quality_.n_asked,
    }


def answers(rank):
    """Let the first process fail."""

    def work():
        raise ValueError(f"no answer in process {rank}")

    ranks().from_first(work)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([sys.executable, "-c", TOGETHER, str(rank), str(folder)], env=environment)
        for rank in range(2)
    ]
    try:
        assert [each.wait(timeout=timedelta(minutes=4).total_seconds()) for each in running] == [0, 0]
    finally:
        for each in running:
            each.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
def test_both_processes_end_with_the_same_maps_and_losses(together):
    one, other = together
    assert one["maps"] == other["maps"]
    assert one["losses"] == other["losses"]
    assert np.shape(one["maps"]["aligned"][0]) == (320, 2, 3)


@pytest.mark.slow
def test_losses_fall(together):
    for losses in together[0]["losses"].values():
        assert losses[-1][0] < losses[0][0]
        assert min(loss for _, loss in losses) < losses[0][1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["apart", "choosing"])
def test_they_do_what_one_process_does_on_batches_twice_as_large(together, name):
    alone = fitted(name, 72)
    found = together[0]
    np.testing.assert_allclose(found["losses"][name], alone["losses"], rtol=1e-5)
    for mine, wanted in zip(found["maps"][name], alone["maps"], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_the_model_is_asked_by_the_first_process_only(together):
    for name in ("apart", "aligned", "choosing"):
        first, second = (each["n_asked"][name] for each in together)
        assert first[0] == first[1] == second[1] == 320 + CHECKS + 64
        assert second[0] == 0


@pytest.mark.slow
def test_an_error_of_the_first_process_is_raised_in_all(together):
    assert [each["error"] for each in together] == 2 * ["ValueError: no answer in process 0"]


def test_shares_are_a_partition_of_the_batch_and_as_many_have_directions():
    rows = torch.arange(22.0)[:, None]
    shares = [Ranks(rank, 3).share(Batch(rows, 2 * rows, v=rows[:6])) for rank in range(3)]
    together = torch.cat([share.X for share in shares])
    assert torch.equal(together.sort(0).values, rows)
    assert [len(share.v) for share in shares] == [2, 2, 2]
    for share in shares:
        assert torch.equal(share.X[: len(share.v)], share.v)
        assert torch.equal(share.P, 2 * share.X)
    small = Batch(rows[:5], rows[:5], v=rows[:5])
    assert Ranks(1, 3).share(small) is small


def test_a_process_alone_changes_nothing():
    training, batch = Training(), Batch(*(3 * [torch.ones(9, 1)]))
    assert ranks() == Ranks(0, 1)
    assert ranks().widen(training) is training
    assert ranks().share(batch) is batch
    assert ranks().agree(3) == 3
    wide = Ranks(0, 4).widen(Training(batch_size=8, stability_rows=2))
    assert (wide.batch_size, wide.stability_rows) == (32, 8)


def test_checkpoints_are_refused_to_several_processes(monkeypatch, tmp_path):
    from illume import Explainer
    from illume.fit import settings

    monkeypatch.setattr(settings, "ranks", lambda: Ranks(0, 2))
    with pytest.raises(ValueError, match="checkpoint_dir cannot be used by several processes"):
        Explainer(len, checkpoint_dir=tmp_path).fit(np.ones((20, 2)))
