"""Threads over chunks of rows: each chunk once, the same answer however many there are, errors as without."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from illume.data import threads
from illume.data.threads import in_chunks, single_blas_thread, thread_count


@pytest.fixture(params=[1, 2, 5])
def n_threads(request, monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: request.param)
    return request.param


def blas_threads():
    """Return the threads of every library whose number is the same for all who call it."""
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return [each["num_threads"] for each in found if each["threading_layer"] != "openmp"]


def test_every_row_is_worked_on_once(n_threads):
    seen = np.zeros(1003, dtype=int)

    def count(rows):
        assert rows.stop - rows.start <= 10
        seen[rows] += 1

    in_chunks(count, len(seen), 10)
    assert (seen == 1).all()


def test_no_more_threads_than_allowed_and_none_for_few_rows(n_threads):
    who, meet = set(), threading.Barrier(n_threads)

    def work(rows):
        if rows.start < 10 * n_threads:
            meet.wait(10)  # all of them are at work at once
        who.add(threading.get_ident())

    in_chunks(work, 1000, 10)
    assert len(who) == n_threads
    alone = []
    in_chunks(lambda rows: alone.append(threading.get_ident()), 10, 10)
    in_chunks(lambda rows: alone.append(threading.get_ident()), 100, 10, parallel=False)
    assert set(alone) == {threading.get_ident()}


def test_the_error_of_the_first_rows_is_raised(n_threads):
    both = threading.Barrier(min(n_threads, 2))

    def work(rows):
        if rows.start in (0, 10):
            both.wait(10)
            raise ValueError(f"rows from {rows.start}")

    with pytest.raises(ValueError, match="rows from 0"):
        in_chunks(work, 20, 10)


@pytest.mark.parametrize("n_threads", [1, 2])  # of torch, say, while BLAS has two
def test_blas_stays_in_the_calling_thread_and_has_its_threads_again_after(n_threads, monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: n_threads)
    with threadpool_limits(2, user_api="blas"):
        seen = []
        in_chunks(lambda rows: seen.extend(blas_threads()), 4, 1)
        assert set(seen) == {1}
        assert set(blas_threads()) == {2}


def test_blas_has_its_threads_again_after_several_callers_at_once(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 2)
    inside, leave = threading.Event(), threading.Event()

    def late():
        with single_blas_thread():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=late)
    before = blas_threads()
    with single_blas_thread():
        thread.start()
        assert inside.wait(60)
        assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_numpy_warns_in_threads_as_it_does_for_the_caller(n_threads):
    with np.errstate(divide="ignore"):
        in_chunks(lambda rows: np.ones(rows.stop - rows.start) / 0, 100, 10)


def test_threads_are_bounded_from_outside(monkeypatch):
    assert 1 <= thread_count() <= (os.cpu_count() or 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    with threadpool_limits(1, user_api="blas"):
        assert thread_count() == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    with threadpool_limits(4, user_api="blas"):
        assert thread_count() == 2


def test_explanations_do_not_depend_on_the_number_of_threads(loan_explainer, loan_frame, monkeypatch):
    results = []
    for n in (1, 3):
        monkeypatch.setattr(threads, "thread_count", lambda n=n: n)
        monkeypatch.setattr("illume.data.threads.in_chunks.__defaults__", (16, True))
        results.append(loan_explainer(loan_frame))
    one, three = results
    for name in ("values", "slopes", "offset", "surrogate_probabilities"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    for name in ("gamma_w", "gamma_x", "neighbour", "agreed"):
        np.testing.assert_array_equal(getattr(one.refinement, name), getattr(three.refinement, name))
    np.testing.assert_array_equal(one.trust.share, three.trust.share)
