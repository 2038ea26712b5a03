"""Work has a time limit, no kind starves another, and a model that hangs is seen and survived."""

import asyncio
import itertools
import sys
import threading
import time

import pytest
from fastapi import HTTPException

from illume.serve import service as services
from illume.serve.settings import Settings
from illume.serve.workers import Workers
from tests.serve.conftest import Client


def workers(n=1, timeout=5.0, **settings):
    return Workers(Settings(workers=n, timeout=timeout, **settings))


def once(call):
    """Work of one step."""
    yield call()


def wait_until(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    assert condition()


@pytest.fixture
def go_on():
    """Lets calls that hang return; they do at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def hanging(with_model, monkeypatch, go_on):
    """An explainer whose model hangs on rows of age 99 until it may go on."""
    explain = type(with_model).__call__

    def slow(self, X, **options):
        if X.columns["age"][0] == 99:
            go_on.wait(30)
        return explain(self, X, **options)

    monkeypatch.setattr(type(with_model), "__call__", slow)
    return with_model


def test_a_call_that_hangs_is_504_and_its_thread_is_replaced(hanging, row, go_on):
    client = Client(hanging, timeout=0.2, workers=1)
    for n_abandoned in (1, 2, 3):
        answer = client.post("/explain", json={"rows": [row | {"age": 99}]})
        assert answer.status_code == 504
        assert "did not finish within 0.2 s" in answer.json()["detail"]
        assert client.service.workers.n_abandoned == n_abandoned
        client.service.workers.timeout = 20
        assert client.post("/explain", json={"rows": [row]}).status_code == 200
        client.service.workers.timeout = 0.2
    assert client.get("/ready").json() == {"ready": True, "reason": None}
    assert "illume_abandoned 3.0" in client.get("/metrics").text
    go_on.set()
    wait_until(lambda: client.service.workers.n_abandoned == 0)


def test_work_that_is_stopped_before_a_thread_took_it_up_is_not_waited_for(monkeypatch):
    async def never_starts(*args, **options):
        await asyncio.sleep(60)

    monkeypatch.setattr("illume.serve.workers.to_thread.run_sync", never_starts)
    some = workers(timeout=0.1)
    with pytest.raises(HTTPException, match="did not finish"):
        asyncio.run(some.run("explain", once(lambda: 1)))
    assert some.n_abandoned == 0


def test_after_so_many_calls_that_hang_work_is_refused_and_the_service_is_not_ready(hanging, row, go_on):
    client = Client(hanging, timeout=0.1, max_abandoned=2, api_key="secret")
    key = {"X-API-Key": "secret"}
    for status in (504, 504, 503):
        answer = client.post("/explain", json={"rows": [row | {"age": 99}]}, headers=key)
        assert answer.status_code == status
    assert (answer.json()["detail"], answer.headers["retry-after"]) == (
        "the model does not answer; try again later",
        "1",
    )
    ready = client.get("/ready")
    assert ready.status_code == 503
    assert ready.json() == {"ready": False, "reason": "2 calls of the model have not returned"}
    assert client.get("/health").status_code == 200
    go_on.set()
    wait_until(lambda: client.get("/ready").status_code == 200)


def test_a_model_that_answers_nobody_is_seen_and_asked_again_until_it_does(hanging, row, go_on, monkeypatch):
    client = Client(hanging, timeout=0.1)
    service = client.service
    service.rows.example = service.rows.example | {"age": 99}
    client.post("/explain", json={"rows": [row | {"age": 99}]})
    wait_until(lambda: client.get("/ready").status_code == 503)
    assert client.get("/ready").json()["reason"].startswith("the model has not answered for")
    ended = []
    monkeypatch.setattr(services.os, "_exit", ended.append)

    async def watch(seconds):
        await service.watch()
        await asyncio.sleep(seconds)

    asyncio.run(watch(0.3))
    assert service.workers.n_abandoned == 2  # the made-up row is not answered either
    assert ended == []
    service.rows.example = service.rows.example | {"age": 40}
    service.workers.timeout = 20
    asyncio.run(watch(2))
    assert client.get("/ready").status_code == 200


def test_a_stuck_process_ends_if_wanted(hanging, row, monkeypatch):
    ended = []
    monkeypatch.setattr(services.os, "_exit", ended.append)
    client = Client(hanging, timeout=0.1, max_abandoned=1, exit_when_stuck=True)
    client.post("/explain", json={"rows": [row | {"age": 99}]})
    asyncio.run(client.service.watch())
    assert ended == []
    wait_until(lambda: client.service.workers.unanswered() > 0.4)
    asyncio.run(client.service.watch())
    assert ended == [services.EXIT_STUCK]


@pytest.mark.parametrize("n", [1, 2])
def test_heavy_work_of_many_leaves_light_work_its_turn(n):
    pool, turns = workers(n), []

    def heavy(name):
        for _ in range(30):
            time.sleep(0.02)
            turns.append(name)
            yield None
        yield name

    async def all_of_them():
        kinds = ["counterfactuals"] * 4 + ["rules"] * 2
        tasks = [asyncio.create_task(pool.run(kind, heavy(kind))) for kind in kinds]
        await asyncio.sleep(0.1)
        lasted = []
        for _ in range(5):
            start = time.monotonic()
            await pool.run("explain", once(lambda: "light"))
            lasted.append(time.monotonic() - start)
        await asyncio.gather(*tasks)
        return lasted

    assert max(asyncio.run(all_of_them())) < 0.5  # the heavy work of each takes 0.6 s
    first = turns[: turns.index("rules") + 20]
    assert first.count("rules") >= 8  # turns alternate though four wait with the other kind


def test_two_heavy_clients_leave_explanations_working(with_model, row, monkeypatch):
    client = Client(with_model, timeout=3, workers=2)
    monkeypatch.setattr(type(with_model), "counterfactuals", lambda self, X, **options: time.sleep(2) or [])

    async def ask():
        heavy = [
            asyncio.create_task(client.asked("POST", "/counterfactuals", json={"rows": [row]}))
            for _ in range(2)
        ]
        await asyncio.sleep(0.2)
        start = time.monotonic()
        light = [(await client.asked("POST", "/explain", json={"rows": [row]})).status_code for _ in range(5)]
        lasted = time.monotonic() - start
        return light, lasted, [(await each).status_code for each in heavy]

    light, lasted, heavy = asyncio.run(ask())
    assert light == [200] * 5
    assert lasted < 1.5
    assert heavy[0] == 200


def test_a_full_queue_of_one_kind_leaves_room_for_others(go_on):
    pool = workers(2, max_waiting=0)

    async def ask():
        first = asyncio.create_task(pool.run("rules", once(lambda: go_on.wait(5))))
        await asyncio.sleep(0.05)
        assert pool.trouble() == "too many requests are waiting for rules"
        with pytest.raises(HTTPException, match="503"):
            await pool.run("rules", once(lambda: "done"))
        assert await pool.run("explain", once(lambda: "done")) == "done"
        go_on.set()
        await first

    asyncio.run(ask())


def test_work_ends_at_its_next_step_once_its_time_is_over():
    pool, steps = workers(timeout=0.1), []

    def work():
        for step in itertools.count():
            steps.append(step)
            time.sleep(0.02)
            yield None

    with pytest.raises(HTTPException, match="504"):
        asyncio.run(pool.run("explain", work()))
    wait_until(lambda: pool.n_abandoned == 0)
    n_steps = len(steps)
    time.sleep(0.1)
    assert len(steps) == n_steps < 20


def test_no_more_than_so_many_run_or_wait(go_on):
    pool, running = workers(2, max_waiting=1), []

    def work():
        running.append(threading.current_thread())
        go_on.wait(5)
        return "done"

    async def many():
        tasks = [asyncio.create_task(pool.run("explain", once(work))) for _ in range(3)]
        while len(running) < 2:
            await asyncio.sleep(0.01)
        with pytest.raises(HTTPException, match="503"):
            await pool.run("explain", once(work))
        assert len(running) == 2
        go_on.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(many()) == ["done"] * 3


def test_who_waits_too_long_is_told_to_come_again_and_the_work_is_not_begun(go_on):
    pool, begun = workers(timeout=0.2), []

    async def both():
        first = asyncio.create_task(pool.run("rules", once(lambda: go_on.wait(5))))
        await asyncio.sleep(0.05)
        pool.timeout = 0.1
        second = asyncio.create_task(pool.run("rules", once(lambda: begun.append(1))))
        found = await asyncio.gather(first, second, return_exceptions=True)
        return [each.status_code for each in found]

    assert asyncio.run(both()) == [504, 503]
    assert begun == []


def test_a_model_that_tries_to_end_the_process_does_not():
    with pytest.raises(RuntimeError, match="tried to end the process"):
        asyncio.run(workers().run("explain", once(lambda: sys.exit(1))))
