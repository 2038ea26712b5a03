"""A training step with the stability term by one forward-mode product, against the exact Jacobian."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from benchmarks.records import record
from illume.encoders.networks import MetaNetwork
from illume.encoders.stability import exact_instability, instability, maps_and_drift

M, K, BATCH = 32, 16, 1024


def main() -> None:
    """Time both kinds of step, interleaved, and compare their values."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(BATCH, M, generator=generator)
    network = MetaNetwork(M, K, generator)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.0)  # the same weights all along

    def forward_mode() -> torch.Tensor:
        v = torch.randn(X.shape, generator=generator)
        return instability(maps_and_drift(network, X, v, M)[1], M)

    def exact() -> torch.Tensor:
        return exact_instability(network, X, M)

    def step(term: Callable[[], torch.Tensor]) -> tuple[float, float]:
        start = time.perf_counter()
        loss = term()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        return time.perf_counter() - start, float(loss.detach())

    for term in (forward_mode, exact):
        step(term)
    times: dict[str, list[float]] = {"forward": [], "exact": []}
    values: list[float] = []
    for _ in range(5):
        times["exact"].append(step(exact)[0])
        for _ in range(5):
            seconds, value = step(forward_mode)
            times["forward"].append(seconds)
            values.append(value)
    with torch.no_grad():
        values += [float(forward_mode()) for _ in range(400)]
    fast, slow = (sorted(times[name])[len(times[name]) // 2] for name in ("forward", "exact"))
    mean = torch.tensor(values).mean()
    error = torch.tensor(values).std() / len(values) ** 0.5
    record(
        "stability",
        inputs=M,
        latents=K,
        batch=BATCH,
        times_faster=slow / fast,
        exact_value=float(exact().detach()),
        mean_estimate=float(mean),
        standard_error=float(error),
        threads=torch.get_num_threads(),
    )


if __name__ == "__main__":
    main()
