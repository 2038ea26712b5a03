import asyncio
import os
import re
import subprocess
import sys
from typing import Any

import httpx
import pytest

import illume
from illume.serve.app import make_app
from illume.serve.settings import Settings
from tests.common import loans


class Client:
    """Puts requests to a service in this process."""

    def __init__(self, explainer: Any, page: bytes | None = None, **settings: Any) -> None:
        self.app, self.service = make_app(explainer, Settings(**settings), page)

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self.asked(method, path, **options))

    async def asked(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("POST", path, **options)


class Hanging:
    """A model that does not answer about rows of age 99 until it may go on."""

    def __init__(self, model: Any, go_on: Any) -> None:
        self.model, self.go_on, self.classes_ = model, go_on, model.classes_

    def predict_proba(self, rows: Any) -> Any:
        if (rows["age"] == 99).any():
            self.go_on.wait(30)
        return self.model.predict_proba(rows)


def records(frame: Any) -> list[dict[str, Any]]:
    """Return rows as a caller writes them in JSON; a missing value is None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {name: getattr(value, "item", lambda v=value: v)() for name, value in row.items()} for row in rows
    ]


@pytest.fixture(scope="session")
def saved(loan_explainer, tmp_path_factory):
    """A folder with the explainer's file and the model's."""
    import joblib

    folder = tmp_path_factory.mktemp("served")
    loan_explainer.fit_rules().save(folder / "loans.illume")
    joblib.dump(loan_explainer.model, folder / "loans.model.joblib")
    return folder


@pytest.fixture(scope="session")
def with_model(saved, loan_model):
    return illume.load(saved / "loans.illume", model=loan_model)


@pytest.fixture(scope="session")
def without_model(saved):
    return illume.load(saved / "loans.illume")


@pytest.fixture(scope="session")
def client(with_model):
    return Client(with_model)


@pytest.fixture(scope="session")
def rows():
    """Rows with a missing number among them."""
    return loans(40, seed=7)


@pytest.fixture(scope="session")
def row():
    return {"age": 40, "income": 31.5, "owner": True, "education": "high"}


@pytest.fixture
def serve(saved, tmp_path):
    """Start `illume serve`; returns the process, its address and the file of its log."""
    started = []

    def start(*words, file=saved / "loans.illume", **env):
        log = (tmp_path / "log").open("w")
        command = [sys.executable, "-m", "illume", "serve", file, "--port", "0", *words]
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=log,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        )
        started.append((process, log))
        for line in process.stderr:
            if found := re.search(r"http://\S+", line):
                return process, found.group(), tmp_path / "log"
        raise AssertionError("the server did not start")

    yield start
    for process, log in started:
        process.kill()
        process.wait()
        process.stderr.close()
        log.close()
