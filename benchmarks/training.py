"""Milliseconds of a training step of every objective, on this machine's device.

Imports the training loop alone, so that it also runs where only torch and tqdm are installed.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import torch
from tqdm.auto import tqdm

from illume.encoders.networks import MetaNetwork, head
from illume.encoders.options import PRESETS, QUICK, Objective
from illume.encoders.training import Model, Rows, Trainer


def trained(
    objective: Objective, device: str, n_inputs: int, n_latents: int, n_rows: int
) -> dict[str, float]:
    """Train two epochs on a generated problem and return the second one's figures."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n_rows, n_inputs, generator=generator)
    p = torch.sigmoid(4 * X[:, 0] * X[:, 1])
    rows = Rows(X.to(device), torch.stack([1 - p, p], 1).to(device))
    maps = MetaNetwork(n_inputs, n_latents, generator, width=objective.width).to(device)
    joint = head(n_latents, 2, generator).to(device) if objective.joint else None
    training = replace(QUICK, max_epochs=2)
    onehot = torch.zeros(n_inputs, dtype=torch.bool, device=device)
    few = Rows(rows.X[:1000], rows.P[:1000])
    trainer = Trainer(
        Model(maps, joint),
        replace(objective, alpha=None),
        training,
        (rows, few),
        onehot=onehot,
        generator=generator,
    )
    start = time.perf_counter()
    history = trainer.run(tqdm(disable=True))
    assert time.perf_counter() - start > 0
    seconds = history[1].seconds - history[0].seconds
    return {
        "ms_per_step": 1e3 * seconds / -(-n_rows // training.batch_size),
        "loss_first_epoch": history[0].validation_loss,
        "loss_second_epoch": history[1].validation_loss,
    }


def main() -> None:
    """Print one JSON line per preset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--inputs", type=int, default=50)
    parser.add_argument("--latents", type=int, default=8)
    parser.add_argument("--rows", type=int, default=25_600)
    options = parser.parse_args()
    name = torch.cuda.get_device_name() if options.device == "cuda" else options.device
    for preset, objective in PRESETS.items():
        found = trained(objective, options.device, options.inputs, options.latents, options.rows)
        sizes = {"inputs": options.inputs, "latents": options.latents, "rows": options.rows}
        print(
            json.dumps({"device": name, "torch": torch.__version__, "preset": preset} | sizes | found),
            flush=True,
        )


if __name__ == "__main__":
    main()
