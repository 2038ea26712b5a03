"""Cosine vector search among the training rows that surrogate and black box decide alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.questions import Question
from illume.data.sampling import evenly_spaced
from illume.data.threads import in_chunks
from illume.errors import import_extra

MOST = 16_384  # valid rows of a decision that an exact search compares with; more are thinned out evenly
AT_ONCE = 128  # rows, whose similarities then stay in the cache of a core
TIE = 1e-12  # similarities that differ by less are equal, and the first row wins
SEARCHES = ("exact", "index")


@dataclass(frozen=True, eq=False)
class ExactSearch:
    """Compares with every unit vector (N, k).

    >>> ExactSearch(np.array([[1.0, 0.0], [0.0, 1.0]])).nearest(np.array([[3.0, 4.0]]))
    array([1])
    """

    vectors: FloatArray

    def nearest(self, Z: FloatArray) -> IntArray:
        """Return the position of the vector most similar to each row of Z; the first of equals."""
        found = np.empty(len(Z), dtype=np.intp)

        def search(rows: slice) -> None:
            similarity = unit(Z[rows]) @ self.vectors.T
            found[rows] = (similarity >= similarity.max(1, keepdims=True) - TIE).argmax(1)

        in_chunks(search, len(Z), AT_ONCE)
        return found


class IndexSearch:
    """An inverted file of faiss: unit vectors in cells, of which only the nearest few are searched.

    Not exact: a row may get a neighbour that is nearly the nearest. Deterministic all the same.
    """

    CELLS_SEARCHED = 16

    def __init__(self, vectors: FloatArray) -> None:
        faiss = import_extra("faiss", "index")
        n, k = vectors.shape
        cells = max(1, min(round(4 * n**0.5), n // 39))  # faiss wants 39 vectors to place a cell
        self._index: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(k), k, cells, faiss.METRIC_INNER_PRODUCT)
        data = np.ascontiguousarray(vectors, dtype=np.float32)
        self._index.train(data)
        self._index.add(data)
        self._index.nprobe = self.CELLS_SEARCHED

    def nearest(self, Z: FloatArray) -> IntArray:
        """Return the position of a vector about as similar to each row of Z as possible."""
        _, found = self._index.search(np.ascontiguousarray(unit(Z), dtype=np.float32), 1)
        return found[:, 0]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Valid training rows of every decision, indexed for search.

    A training row is valid where surrogate and black box decide alike. An exact search thins out very many
    rows, so that its cost per row is bounded.

    Parameters
    ----------
    X, Z
        The encoded training rows, (N, m), and their latents, (N, k).
    alike
        Which rows are valid, (N,).
    valid
        Positions of the valid rows that are searched, per decision.
    searches
        A search among them, per decision; None where there are none.
    """

    X: FloatArray
    Z: FloatArray
    alike: BoolArray
    valid: tuple[IntArray, ...]
    searches: tuple[ExactSearch | IndexSearch | None, ...]

    @classmethod
    def of(
        cls,
        X: FloatArray,
        Z: FloatArray,
        question: Question,
        answers: tuple[FloatArray, FloatArray],
        how: str,
    ) -> Neighbours:
        """Index training rows X with latents Z by decision.

        `answers` are the black box's and the surrogate's, (n, c) each; `how` is `exact` or `index`.
        """
        P, Q = answers
        return cls.from_valid(X, Z, question, (P, question.holds(Q, question.decide(P))), how)

    @classmethod
    def from_valid(
        cls, X: FloatArray, Z: FloatArray, question: Question, rows: tuple[FloatArray, BoolArray], how: str
    ) -> Neighbours:
        """Index training rows of which it is known what the black box answers, and which are valid."""
        make = IndexSearch if how == "index" else ExactSearch
        P, agreed = rows
        decisions = question.decide(P)
        # PAPER: all training rows are searched there, which costs n² where n rows are explained.
        most = MOST if how == "exact" else len(X)
        every = (np.flatnonzero(agreed & (decisions == c)) for c in range(len(question.names)))
        valid = tuple(rows[evenly_spaced(len(rows), most)] for rows in every)
        searches = tuple(make(unit(Z[rows])) if len(rows) else None for rows in valid)
        return cls(X, Z, agreed, valid, searches)

    def ask(self, question: Question, answers: tuple[FloatArray, FloatArray]) -> Neighbours:
        """Return the same for another question; `answers` are the black box's and the surrogate's."""
        how = "index" if any(isinstance(search, IndexSearch) for search in self.searches) else "exact"
        return Neighbours.of(self.X, self.Z, question, answers, how)

    def nearest(self, Z: FloatArray, wanted: IntArray) -> IntArray:
        """Return the nearest valid training row of the wanted decision, -1 where there is none."""
        found = np.full(len(Z), -1, dtype=np.intp)
        for c, (rows, search) in enumerate(zip(self.valid, self.searches, strict=True)):
            mine = np.flatnonzero(wanted == c)
            if search is not None and len(mine):
                found[mine] = rows[search.nearest(Z[mine])]
        return found


def unit(Z: FloatArray) -> FloatArray:
    """Scale rows to length 1; a row of zeros stays, and is similar to nothing."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length > 0, length, 1.0)
