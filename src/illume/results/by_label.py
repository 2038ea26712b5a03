"""Rows of a result by their labels, those of the index of the explained frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.data.frames import Origin


class ByLabel:
    """Takes a row by its label, and several by a list of labels; without an index, these are positions.

    >>> ByLabel(["first", "second"], Origin())[1]
    'second'
    """

    def __init__(self, result: Any, origin: Origin) -> None:
        self.result, self.index = result, origin.index

    def __getitem__(self, labels: Any) -> Any:
        if isinstance(labels, tuple) or np.ndim(labels) == 0:
            return self.result[self._find(labels)]
        found = [np.atleast_1d(np.arange(len(self.result))[self._find(label)]) for label in labels]
        return self.result[np.concatenate([*found, np.empty(0, dtype=np.intp)])]

    def _find(self, label: Any) -> Any:
        """Return the position of a label; of one that stands for several rows, a slice or mask of these."""
        positions = range(len(self.result))
        try:
            return positions.index(label) if self.index is None else self.index.get_loc(label)
        except (KeyError, ValueError, TypeError) as error:
            known = positions[:4] if self.index is None else self.index[:4].tolist()
            shown = ", ".join(map(repr, known[:3])) + (", …" if len(known) > 3 else "")
            raise KeyError(
                f"no row has the label {label!r}; the labels are {shown}; by position, write result[i]"
            ) from error


class HasRows:
    """Base of results whose rows are taken by position, or by label."""

    origin: Origin

    @property
    def loc(self) -> ByLabel:
        """Rows by the labels of their frame's index: `result.loc[126]`, or `result.loc[[126, 607]]`."""
        return ByLabel(self, self.origin)
