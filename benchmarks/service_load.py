"""Latency of one-row `/explain` requests at a steady rate, against a real server on loopback.

The load is open: requests leave on time whether or not earlier ones were answered, and a request's time
counts from when it should have left. The server is a process of its own, `illume serve`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pandas as pd

from benchmarks.records import record

MODELS = ("callable", "forest", "pipeline", "none")


class Formula:
    """A black box that costs next to nothing."""

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        """Return probabilities from three columns."""
        a, b, c = (rows[f"x{j}"].to_numpy() for j in range(3))
        p = 1 / (1 + np.exp(-4 * (a * b + c)))
        return np.column_stack([1 - p, p])


def table(n: int, features: int, seed: int) -> pd.DataFrame:
    """Return rows of numbers and two columns of text."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, features)).round(3), columns=[f"x{j}" for j in range(features)])
    return frame.assign(town=rng.choice(["Bonn", "Pisa", "Ulm"], n), job=rng.choice(["a", "b", "c", "d"], n))


def model_of(kind: str, frame: pd.DataFrame) -> Any:
    """Return a fitted black box."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    if kind in ("callable", "none"):
        from benchmarks import service_load  # a file of joblib must name a module that the server finds

        return service_load.Formula()
    y = frame["x0"] * frame["x1"] + frame["x2"] + (frame["town"] == "Ulm") > 0
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town", "job"]), remainder="passthrough"
    )
    inner = (
        RandomForestClassifier(50, random_state=0)
        if kind == "forest"
        else HistGradientBoostingClassifier(max_iter=50, random_state=0)
    )
    return make_pipeline(encode, inner).fit(frame, y)


def written(folder: Path, kind: str, features: int) -> list[str]:
    """Fit and save an explainer and its model; return the words that serve them."""
    import joblib

    from illume import Explainer, Training

    frame = table(2_000, features, seed=0)
    model = model_of(kind, frame)
    short = Training(batch_size=256, learning_rate=3e-3, max_epochs=10, decay=True)
    explainer = Explainer(model, n_latents=8, queries=2_000, training=short, verbose=False).fit(frame)
    explainer.fit_rules().save(folder / "load.illume")
    print(f"explained by {explainer.quality_.encoder}, fell back: {explainer.quality_.fell_back}")
    words = [str(folder / "load.illume")]
    if kind != "none":
        joblib.dump(model, folder / "load.model.joblib")
        words += ["--model", str(folder / "load.model.joblib"), "--trust-model"]
    return words


@contextmanager
def served(words: list[str], log: Path) -> Iterator[str]:
    """Run a server while the block runs; yields its address."""
    command = [sys.executable, "-m", "illume", "serve", *words, "--port", "0"]
    with (
        log.open("w") as lines,
        subprocess.Popen(command, stdout=lines, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"http://\S+", line):
                break
        else:
            raise RuntimeError(f"the server did not start: {said}")
        try:
            yield found.group()
        finally:
            process.terminate()
            process.wait(60)


async def load(url: str, bodies: list[bytes], rate: float, seconds: float) -> tuple[np.ndarray, int]:
    """Send requests at a steady rate; return each one's seconds and how many went wrong."""
    where = urlsplit(url)
    pool: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    times, wrong = [], 0

    async def one(i: int, due: float) -> None:
        nonlocal wrong
        body = bodies[i % len(bodies)]
        try:
            reader, writer = pool.pop() if pool else await asyncio.open_connection(where.hostname, where.port)
            head = f"POST /explain HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)[1])  # type: ignore[index]
            content = await reader.readexactly(length)
            pool.append((reader, writer))
            if not answer.startswith(b"HTTP/1.1 200 ") or b'"explanations":[{' not in content:
                wrong += 1
        except (OSError, asyncio.IncompleteReadError):
            wrong += 1
        times.append(time.perf_counter() - due)

    start, tasks = time.perf_counter() + 0.1, []
    for i in range(int(rate * seconds)):
        due = start + i / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(i, due)))
    await asyncio.gather(*tasks)
    for _, writer in pool:
        writer.close()
    return np.array(times), wrong


def processor_seconds(url: str) -> float:
    """Return how long the server's process has worked, as it says itself."""
    with urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    return float(re.search(r"^process_cpu_seconds_total (\S+)", text, re.MULTILINE)[1])  # type: ignore[index]


def main() -> None:
    """Measure, by default a minute at 100 requests a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--model", choices=MODELS, default="callable")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = written(folder, options.model, options.features)
        rows = table(200, options.features, seed=1).to_dict("records")
        bodies = [json.dumps({"rows": [row]}).encode() for row in rows]
        with served(words, folder / "log") as url:
            asyncio.run(load(url, bodies, 20.0, 2.0))
            before, worked = os.getloadavg()[0], processor_seconds(url)
            times, wrong = asyncio.run(load(url, bodies, options.rate, options.seconds))
            worked = processor_seconds(url) - worked
        inside = [line["ms"] for line in map(json.loads, (folder / "log").open()) if line.get("rows")]
    times *= 1e3
    record(
        "service-load",
        model=options.model,
        features=options.features + 2,
        rate=options.rate,
        seconds=options.seconds,
        requests=len(times),
        errors=wrong,
        p50_ms=float(np.percentile(times, 50)),
        p99_ms=float(np.percentile(times, 99)),
        max_ms=float(times.max()),
        inside_p50_ms=float(np.percentile(inside[40:], 50)),
        inside_p99_ms=float(np.percentile(inside[40:], 99)),
        processor_ms=1e3 * worked / len(times),
        load_before=before,
        load_after=os.getloadavg()[0],
    )


if __name__ == "__main__":
    main()
