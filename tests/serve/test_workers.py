"""Work has a time limit, heavy work leaves light work its turn, and a model that hangs is survived."""

import asyncio
import itertools
import sys
import threading
import time

import pytest
from fastapi import HTTPException

import illume
from illume.serve.settings import Settings
from illume.serve.workers import Workers
from tests.serve.conftest import Client, Hanging


def workers(n=1, timeout=5.0, **settings):
    return Workers(Settings(workers=n, timeout=timeout, **settings))


def once(call):
    """Work of one step."""
    yield call()


def wait_until(condition, seconds=30):
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
def hanging(saved, loan_model, go_on):
    """An explainer whose model hangs on rows of age 99 until it may go on."""
    return illume.load(saved / "loans.illume", model=Hanging(loan_model, go_on))


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


@pytest.mark.parametrize("n", [1, 2])
def test_heavy_work_of_many_leaves_light_work_its_turn(n):
    pool, turns = workers(n, timeout=60.0), []

    def heavy():
        for _ in range(30):
            time.sleep(0.001)
            turns.append("heavy")
            yield None
        yield "heavy"

    async def all_of_them():
        kinds = ["counterfactuals"] * 4 + ["rules"] * 2
        tasks = [asyncio.create_task(pool.run(kind, heavy())) for kind in kinds]
        while not turns:
            await asyncio.sleep(0)
        for _ in range(5):
            await pool.run("explain", once(lambda: turns.append("light") or "light"))
        await asyncio.gather(*tasks)

    asyncio.run(all_of_them())
    assert turns.count("heavy") == 180
    last = max(at for at, turn in enumerate(turns) if turn == "light")
    assert turns[:last].count("heavy") < 120


def test_two_heavy_clients_leave_explanations_working(hanging, row, go_on):
    client = Client(hanging, timeout=60, workers=2)
    hung = {"rows": [row | {"age": 99}]}

    async def ask():
        heavy = [asyncio.create_task(client.asked("POST", "/rules", json=hung)) for _ in range(2)]
        while client.service.workers.n_pending < 2:
            await asyncio.sleep(0.01)
        light = [(await client.asked("POST", "/explain", json={"rows": [row]})).status_code for _ in range(5)]
        waited = not any(task.done() for task in heavy)
        go_on.set()
        return light, waited, [(await each).status_code for each in heavy]

    assert asyncio.run(ask()) == ([200] * 5, True, [200, 200])


def test_a_full_queue_of_heavy_work_leaves_room_for_light_work(go_on):
    pool = workers(2, max_waiting=0)

    async def ask():
        first = asyncio.create_task(pool.run("rules", once(lambda: go_on.wait(30))))
        while not pool.n_pending:
            await asyncio.sleep(0)
        assert pool.trouble() == "too many requests are waiting"
        with pytest.raises(HTTPException, match="503"):
            await pool.run("counterfactuals", once(lambda: "done"))
        assert await pool.run("explain", once(lambda: "done")) == "done"
        go_on.set()
        await first

    asyncio.run(ask())


def test_work_ends_at_its_next_step_once_its_time_is_over(go_on):
    pool, steps = workers(timeout=0.1), []

    def work():
        for step in itertools.count():
            steps.append(step)
            if step == 2:
                go_on.wait(30)
            yield None

    with pytest.raises(HTTPException, match="504"):
        asyncio.run(pool.run("explain", work()))
    go_on.set()
    wait_until(lambda: pool.n_abandoned == 0)
    assert steps == [0, 1, 2]


def test_no_more_than_so_many_run_or_wait(go_on):
    pool, running = workers(2, max_waiting=1), []

    def work():
        running.append(threading.current_thread())
        go_on.wait(30)
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
    pool, begun = workers(timeout=60.0), []

    async def both():
        first = asyncio.create_task(pool.run("rules", once(lambda: begun.append(1) or go_on.wait(30))))
        while not begun:
            await asyncio.sleep(0)
        pool.timeout = 0.1
        with pytest.raises(HTTPException) as refused:
            await pool.run("rules", once(lambda: begun.append(2)))
        go_on.set()
        await first
        return refused.value.status_code

    assert asyncio.run(both()) == 503
    assert begun == [1]


def test_a_model_that_tries_to_end_the_process_does_not():
    with pytest.raises(RuntimeError, match="tried to end the process"):
        asyncio.run(workers().run("explain", once(lambda: sys.exit(1))))
