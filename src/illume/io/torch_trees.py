"""Exact Shapley values of trees as a torch module: the same tables, for rows in GPU memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from illume.data.threads import row_chunks
from illume.errors import ExportError
from illume.twin.exact import ExactTwin, Trees, TreeValues
from illume.twin.forest import ForestValues, Patterns

AT_ONCE = 2**13  # rows, whose patterns at all branches are in memory together


class Exact(NamedTuple):
    """Contributions (n, s, features) and the model's scores (n, s), in double precision."""

    contributions: Tensor
    score: Tensor


class TreeModule(nn.Module):
    """Explains rows X (n, features), NaN for missing numbers; see `torch_module`.

    Contributions and scores are those of an exact twin, added up in an order that depends on nothing.
    """

    def __init__(self, twin: ExactTwin) -> None:
        super().__init__()
        values = twin.against_background
        if not isinstance(twin.parts, Trees) or not isinstance(values, TreeValues):
            raise ExportError("only trees have tables to look up; weights of a linear model need none")
        tables = values.values
        if tables.large:
            raise ExportError("some paths have too many features for a table; fit with twin='learned'")
        forest, codes = twin.parts.forest, twin.parts.codes
        self.centred, self.shape = twin.centred, (forest.n_outputs, forest.n_features)
        longest = max((len(cuts) for cuts in codes.cuts), default=0)
        cuts = np.full((len(codes.cuts), max(longest, 1)), np.inf)
        for mine, found in zip(cuts, codes.cuts, strict=True):
            mine[: len(found)] = found
        self._keep("cuts", cuts)
        self._keep("numeric", np.array([each.numeric for each in codes.schema.features]))
        self._keep("base", values.base)
        self._keep("flat", tables.flat)
        self._keep("choices", forest.choices)
        self._keep_conditions(tables.patterns)
        self._keep_places(tables)

    def _keep(self, name: str, array: Any) -> None:
        self.register_buffer(name, torch.from_numpy(np.array(array, order="C")))

    def __getattr__(self, name: str) -> Tensor:  # all buffers are tensors
        return super().__getattr__(name)  # type: ignore[return-value]

    def _keep_conditions(self, patterns: Patterns) -> None:
        """Put the k-th condition of every branch that has as many side by side: longest branches first."""
        forest, sizes = patterns.forest, [len(nodes) for nodes in patterns.nodes]
        self.order = np.argsort(sizes, kind="stable")[::-1]
        self.counts = [int((np.array(sizes) > k).sum()) for k in range(max(sizes, default=0))]
        columns: list[list[Any]] = [
            [(patterns.nodes[i][k], patterns.left[i][k, 0], patterns.bits[i][k, 0]) for i in self.order[:n]]
            for k, n in enumerate(self.counts)
        ]
        every = [each for column in columns for each in column]
        nodes = np.array([node for node, *_ in every], dtype=np.intp)
        self._keep("feature", forest.feature[nodes].astype(np.int64))
        self._keep("rank", forest.rank[nodes].astype(np.int32)[:, None])
        self._keep("missing_left", forest.missing_left[nodes][:, None])
        self._keep("choice", forest.choice[nodes].astype(np.int64))
        self._keep("left", np.array([left for _, left, _ in every], dtype=bool)[:, None])
        self._keep("bits", np.array([bit for *_, bit in every], dtype=np.int32)[:, None])
        self._keep("full", np.array(patterns.full, dtype=np.int32)[self.order, None])

    def _keep_places(self, tables: ForestValues) -> None:
        """Find the columns of all tables that add up to each feature and output."""
        n_outputs = self.shape[0]
        pairs: list[list[tuple[int, int]]] = [[] for _ in range(self.shape[0] * self.shape[1])]
        for at, i in enumerate(self.order):
            part = tables.small[i]
            for k, player in enumerate(part.players):
                for j, output in enumerate(part.outputs):
                    pairs[player * n_outputs + output].append((at, k * len(part.outputs) + j))
        self._keep("starts", tables.starts[self.order].astype(np.int64)[:, None])
        self._keep("widths", tables.widths[self.order].astype(np.int32)[:, None])
        self.sizes = [len(each) for each in pairs]
        flat = np.array([pair for each in pairs for pair in each], dtype=np.int64).reshape(-1, 2)
        self._keep("branches", flat[:, 0])
        self._keep("columns", flat[:, 1:])

    @torch.inference_mode()
    def forward(self, X: Tensor) -> Exact:
        """Explain rows: numbers as in the frame, categories as their positions in `categories`."""
        if X.ndim != 2 or X.shape[1] != self.shape[1]:
            raise ValueError(f"X has the shape {tuple(X.shape)}, expected (rows, {self.shape[1]})")
        found = torch.empty((len(X), *self.shape), dtype=torch.float64, device=X.device)
        for rows in row_chunks(len(X), AT_ONCE):
            offsets = self.starts + self._patterns(self._codes(X[rows])) * self.widths
            for place, (branches, columns) in enumerate(self._parts()):
                feature, output = divmod(place, self.shape[0])
                at = offsets[branches] + columns
                found[rows, output, feature] = self.flat[at].sum(0)
        if self.centred:
            found -= found.mean(1, keepdim=True)
        base = self.base - self.base.mean() if self.centred else self.base
        return Exact(found, found.sum(2) + base)

    def _codes(self, X: Tensor) -> Tensor:
        """Return codes (features, n) of rows."""
        numbers = X.T.to(torch.float64).contiguous()
        missing = numbers.isnan()
        bins = torch.searchsorted(self.cuts, numbers, out_int32=True)
        codes = torch.where(self.numeric[:, None], bins, numbers.nan_to_num().to(torch.int32))
        return codes.masked_fill_(missing, -1)

    def _patterns(self, codes: Tensor) -> Tensor:
        """Return the patterns (branches, n) of rows with codes (features, n)."""
        missed = torch.zeros((len(self.full), codes.shape[1]), dtype=torch.int32, device=codes.device)
        start = 0
        for n in self.counts:
            some = slice(start, start + n)
            mine = codes[self.feature[some]]
            left = (mine <= self.rank[some]) & ((mine >= 0) | self.missing_left[some])
            if len(self.choices):
                chosen = self.choice[some]
                sets = self.choices[chosen.clamp(min=0)[:, None], mine.long()]
                left = torch.where(chosen[:, None] >= 0, sets, left)
            missed[:n] |= (left != self.left[some]) * self.bits[some]
            start += n
        return self.full & ~missed

    def _parts(self) -> Any:
        return zip(self.branches.split(self.sizes), self.columns.split(self.sizes), strict=True)
