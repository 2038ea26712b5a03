import pickle
import threading

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from illume.distributed.bounded import bounded


def threads():
    """Return how many threads linear algebra and Arrow may have."""
    np.dot(np.ones(2), np.ones(2))
    blas = ThreadpoolController().select(user_api="blas").info()
    shared = [each for each in blas if each["threading_layer"] != "openmp"]  # by thread, there
    return {*(each["num_threads"] for each in shared)}, pa.cpu_count()


@pytest.fixture
def several():
    """Two threads for linear algebra, three for Arrow."""
    before = pa.cpu_count()
    pa.set_cpu_count(3)
    with threadpool_limits(2, "blas"):
        yield
    pa.set_cpu_count(before)


@pytest.mark.usefixtures("several")
def test_libraries_have_one_thread_meanwhile_and_afterwards_what_they_had():
    assert threads() == ({2}, 3)
    with bounded():
        assert threads() == ({1}, 1)
        with bounded():
            pass
        assert threads() == ({1}, 1)
    assert threads() == ({2}, 3)
    with pytest.raises(ValueError, match="of the work"), bounded():
        raise ValueError("of the work")
    assert threads() == ({2}, 3)


@pytest.mark.usefixtures("several")
def test_of_several_at_a_time_the_last_one_gives_threads_back():
    first, second = threading.Event(), threading.Event()

    def late():
        with bounded():
            first.set()
            second.wait(60)

    thread = threading.Thread(target=late)
    with bounded():
        thread.start()
        assert first.wait(60)
    assert threads() == ({1}, 1)
    second.set()
    thread.join()
    assert threads() == ({2}, 3)


def test_it_travels_with_functions_that_use_it():
    assert pickle.loads(pickle.dumps(bounded)) is bounded
