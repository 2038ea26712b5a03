r"""Labels and captions of plots: short, distinct, and safe for matplotlib, which reads `$` as maths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from os.path import commonprefix

from illume.results.predictions import Labels

LONGEST_LABEL = 32
LONGEST_CLASS = 22
START = 8  # characters at the start of a long name that are always kept


def truncate(label: str, longest: int = LONGEST_LABEL) -> str:
    """Cut a long label in the middle, so that its end can still be read.

    >>> truncate("the average number of dependants per household")
    'the average num…ts per household'
    """
    if len(label) <= longest:
        return label
    half = (longest - 1) // 2
    return f"{label[:half]}…{label[-(longest - 1 - half) :]}"


def as_label(value: str, longest: int = LONGEST_LABEL) -> str:
    r"""Truncate a user's text, put it on one line and escape dollar signs.

    >>> as_label("price\nin $")
    'price in \\$'
    """
    return truncate(" ".join(value.split()), longest).replace("$", r"\$")


def distinct_labels(names: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Shorten names as `as_label` does, but keep the part in which similar ones differ.

    >>> names = ["mean rooms of house 1 in this town", "mean rooms of house 2 in this town", "age"]
    >>> distinct_labels(names, 20)
    ['mean roo…ouse 1 in t…', 'mean roo…ouse 2 in t…', 'age']
    """
    names = [" ".join(name.split()) for name in names]
    labels = [truncate(name, longest) for name in names]
    for label in _duplicates(labels):
        group = [i for i, other in enumerate(labels) if other == label]
        n_common = len(commonprefix([names[i] for i in group]))  # noqa: RUF071 -- of characters
        for i in group:
            labels[i] = _cut_around(names[i], n_common, longest)
    repeated = _duplicates(labels)
    numbered = [f"{label} #{i + 1}" if label in repeated else label for i, label in enumerate(labels)]
    return [as_label(label, longest + 6) for label in numbered]


def _duplicates(labels: list[str]) -> set[str]:
    return {label for label, count in Counter(labels).items() if count > 1}


def _cut_around(name: str, position: int, longest: int) -> str:
    """Keep the start of a name and the characters around a position."""
    room = longest - START - 1
    first = min(max(position - room // 2, START), max(len(name) - room, START))
    end = first + room
    return f"{name[:START]}…{name[first:end]}{'…' if end < len(name) else ''}"


def class_labels(names: Sequence[str]) -> list[str]:
    """Return short, distinct names of classes."""
    return distinct_labels(names, LONGEST_CLASS)


def output_label(labels: Labels, i: int) -> str:
    """Return the short name of an output."""
    names = labels.outputs.names
    return class_labels(names)[names.index(labels.outputs.explained[i])]


def row_label(index: Sequence[object] | None, row: int) -> str:
    """Name a row by its label in the user's frame, or by its position."""
    return as_label(f"row {row if index is None else index[row]}")
