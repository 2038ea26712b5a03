"""Where memory runs out, fewer rows are worked on at once, and the numbers stay the same."""

import copy

import numpy as np
import pytest

from illume.data.threads import RowChunks, is_out_of_memory
from illume.encoders.forward import Forward
from illume.errors import IllumeError, OutOfMemoryError
from tests.common import use_local

CUDA = RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")
CPU = RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


@pytest.fixture(scope="module")
def local_explainer(loan_pullback):
    """Explain by the encoder that was trained, even where such a short training does not pay."""
    return use_local(copy.copy(loan_pullback))  # whose slopes are computed at once


@pytest.fixture
def little_memory(monkeypatch):
    """Let networks fail on more than so many rows."""
    seen = []

    def limit(n_rows, error):
        def limited(original):
            def call(self, X, *rest):
                seen.append(len(X))
                if len(X) > n_rows:
                    raise error
                return original(self, X, *rest)

            return call

        for name in ("raw_maps", "_pull_back"):
            monkeypatch.setattr(Forward, name, limited(getattr(Forward, name)))
        return seen

    return limit


@pytest.mark.parametrize("error", [CUDA, CPU, MemoryError()], ids=["CUDA", "CPU", "Python"])
def test_explanations_are_the_same_in_less_memory(local_explainer, loan_frame, little_memory, error):
    wanted = local_explainer(loan_frame)
    seen = little_memory(30, error)
    found = local_explainer(loan_frame)
    assert max(seen) == len(loan_frame)
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found.decisions, wanted.decisions)


def test_rules_latents_and_counterfactuals_need_no_more_than_one_row_at_a_time(
    local_explainer, loan_frame, little_memory
):
    few = loan_frame[:12]
    kinds = (
        local_explainer.latents,
        local_explainer.rules,
        lambda X: local_explainer.counterfactuals(X, n=1),
    )
    wanted = [kind(few).to_frame() for kind in kinds]
    little_memory(1, CUDA)
    for kind, frame in zip(kinds, wanted, strict=True):
        found = kind(few).to_frame()
        assert found.shape == frame.shape
        numbers = frame.select_dtypes("number").columns
        np.testing.assert_allclose(found[numbers], frame[numbers], rtol=1e-5, atol=1e-6)


def test_where_even_one_row_is_too_much_the_error_says_so(local_explainer, loan_frame, little_memory):
    little_memory(0, CUDA)
    with pytest.raises(OutOfMemoryError, match=r"even for one row, row 0 of .*CUDA out of memory.*fewer lat"):
        local_explainer(loan_frame)
    assert issubclass(OutOfMemoryError, IllumeError)


def test_a_smaller_chunk_stays_small():
    sizes, chunks = [], RowChunks(100, 40)
    for rows in chunks:
        with chunks:
            sizes.append(rows.stop - rows.start)
            if sizes[-1] > 20:
                raise MemoryError
    assert sizes == [40, 20, 20, 20, 20, 20]


def test_other_errors_go_through():
    assert not is_out_of_memory(ValueError("out of memory"))
    assert not is_out_of_memory(OutOfMemoryError("out of memory"))
    chunks = RowChunks(4)
    next(chunks)
    with pytest.raises(ZeroDivisionError), chunks:
        1 / 0  # noqa: B018
