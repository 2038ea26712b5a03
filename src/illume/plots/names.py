"""Names of features that are short enough to print and still differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from illume.plots.axes import LONGEST_LABEL, as_text, short

LONGEST_CLASS = 22
START = 8  # letters of a long name that are always kept


def distinct(names: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Shorten names as `as_text` does, but keep the part in which alike ones differ.

    >>> distinct(["mean rooms of house 1 in this town", "mean rooms of house 2 in this town", "age"], 20)
    ['mean roo…ouse 1 in t…', 'mean roo…ouse 2 in t…', 'age']
    """
    names = [" ".join(name.split()) for name in names]
    cut = [short(name, longest) for name in names]
    alike = {text for text, count in Counter(cut).items() if count > 1}
    for text in alike:
        group = [i for i, other in enumerate(cut) if other == text]
        common = _common([names[i] for i in group])
        for i in group:
            cut[i] = _around(names[i], common, longest)
    twice = {text for text, count in Counter(cut).items() if count > 1}
    numbered = [f"{text} #{i + 1}" if text in twice else text for i, text in enumerate(cut)]
    return [as_text(text, longest + 6) for text in numbered]


def class_labels(names: Sequence[str]) -> list[str]:
    """Return short, distinct names of classes."""
    return distinct(names, LONGEST_CLASS)


def _common(names: list[str]) -> int:
    """Return how many letters names have in common at their start."""
    first, last = min(names), max(names)
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def _around(name: str, common: int, longest: int) -> str:
    """Keep the start of a name and what stands around the first letter that differs."""
    room = longest - START - 1
    first = max(common - room // 2, START)
    first = min(first, max(len(name) - room, START))
    end = first + room
    return f"{name[:START]}…{name[first:end]}{'…' if end < len(name) else ''}"
