"""Doctests that stand in the text of a docstring are shown as code, not as quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*\n?)+", re.MULTILINE)


def fence_doctests(text: str) -> str:
    r"""Put doctests into fences, unless they stand in a section of examples, which is code already.

    >>> fence_doctests("Add.\n\n>>> 1 + 1\n2").splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    before, mark, examples = text.partition("\nExamples\n---")
    return DOCTEST.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", before) + mark + examples


class Doctests(griffe.Extension):
    """Fences the doctests of everything that is documented."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring in place."""
        if obj.docstring is not None:
            obj.docstring.value = fence_doctests(obj.docstring.value)
