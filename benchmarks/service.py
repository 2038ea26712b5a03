"""Latency of one-row requests to `/explain` of `illume serve`, at a steady rate on loopback."""

from __future__ import annotations

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
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pandas as pd

from benchmarks.harness import Cell, Line, choose, environment
from benchmarks.packages import Formula, short_training

MODELS = ("callable", "forest", "pipeline", "none")


def service_load(
    model: tuple[str, ...] = ("none", "callable", "pipeline"),
    rate: float = 100.0,
    seconds: float = 60.0,
    features: int = 20,
) -> Iterator[Cell]:
    """Measure latency under an open load: requests are sent on time, and timed from when they are due.

    model: callable, forest, pipeline, or none for a server without the model. The machine should be idle.
    """
    for kind in choose(MODELS, model, "model"):
        settings = {"model": kind, "features": features + 2, "rate": rate, "seconds": seconds}
        yield Cell(settings, partial(_measure, kind, rate, seconds, features))


def _measure(kind: str, rate: float, seconds: float, features: int) -> Line:
    rows = generate_frame(200, features, seed=1).to_dict("records")
    bodies = [json.dumps({"rows": [row]}).encode() for row in rows]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with run_server(save_explainer(folder, kind, features), folder / "log") as url:
            asyncio.run(send_requests(url, bodies, 20.0, 2.0))
            before, worked = os.getloadavg()[0], processor_seconds(url)
            times, wrong = asyncio.run(send_requests(url, bodies, rate, seconds))
            worked = processor_seconds(url) - worked
        inside = [line["ms"] for line in map(json.loads, (folder / "log").open()) if line.get("rows")][40:]
    figures = {f"p{q}_ms": float(np.percentile(1e3 * times, q)) for q in (50, 99)}
    figures |= {f"inside_p{q}_ms": float(np.percentile(inside, q)) for q in (50, 99)}
    return figures | {
        "requests": len(times),
        "errors": wrong,
        "max_ms": 1e3 * float(times.max()),
        "processor_ms": 1e3 * worked / len(times),
        "load_before": before,
        "load_after": os.getloadavg()[0],
    }


def generate_frame(n: int, features: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, features)).round(3), columns=[f"x{j}" for j in range(features)])
    return frame.assign(town=rng.choice(["Bonn", "Pisa", "Ulm"], n), job=rng.choice(["a", "b", "c", "d"], n))


def fit_model(kind: str, frame: pd.DataFrame) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    if kind in ("callable", "none"):
        return Formula()
    y = frame["x0"] * frame["x1"] + frame["x2"] + (frame["town"] == "Ulm") > 0
    one_hot = (OneHotEncoder(sparse_output=False), ["town", "job"])
    encode = make_column_transformer(one_hot, remainder="passthrough")
    forest = RandomForestClassifier(50, random_state=0)
    boosting = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    return make_pipeline(encode, forest if kind == "forest" else boosting).fit(frame, y)


def save_explainer(folder: Path, kind: str, features: int) -> list[str]:
    """Fit and save an explainer and its model; return the words that serve them."""
    import joblib

    from illume import Explainer

    frame = generate_frame(2_000, features, seed=0)
    model = fit_model(kind, frame)
    short = short_training(max_epochs=10)
    explainer = Explainer(model, queries=2_000, surrogate_options=short, verbose=False).fit(frame)
    explainer.save(folder / "load.illume")
    words = [str(folder / "load.illume")]
    if kind != "none":
        joblib.dump(model, folder / "load.model.joblib")
        words += ["--model", str(folder / "load.model.joblib"), "--trust-model"]
    return words


@contextmanager
def run_server(words: list[str], log: Path) -> Iterator[str]:
    """Run a server and yield its address."""
    command = [sys.executable, "-m", "illume", "serve", *words, "--port", "0"]
    pipes = {"stderr": subprocess.PIPE, "text": True, "env": environment()}
    with log.open("w") as lines, subprocess.Popen(command, stdout=lines, **pipes) as process:
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


async def send_requests(url: str, bodies: list[bytes], rate: float, seconds: float) -> tuple[np.ndarray, int]:
    """Send requests at a steady rate; return their seconds and the number of errors."""
    where = urlsplit(url)
    pool: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    times, wrong = [], 0

    async def send(i: int, due: float) -> None:
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
        tasks.append(asyncio.create_task(send(i, due)))
    await asyncio.gather(*tasks)
    for _, writer in pool:
        writer.close()
    return np.array(times), wrong


def processor_seconds(url: str) -> float:
    """Return the processor time of the server, from its own metrics."""
    with urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    return float(re.search(r"^process_cpu_seconds_total (\S+)", text, re.MULTILINE)[1])  # type: ignore[index]
