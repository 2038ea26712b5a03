"""`stream`, for whatever has the methods of an explainer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from illume.data.frames import chunks


class Streaming:
    """Adds `stream` to the explainer."""

    def stream(
        self, X: Any, chunk_rows: int = 65_536, kind: str = "attributions", **options: Any
    ) -> Iterator[Any]:
        """Yield explanations piece by piece, so that memory is bounded by the piece.

        `kind` is `attributions`, `latents`, `rules` or `counterfactuals`; options are those of the method.
        """
        explainer: Any = self
        kinds: dict[str, Callable[..., Any]] = {
            "attributions": explainer,
            "latents": explainer.latents,
            "rules": explainer.rules,
            "counterfactuals": explainer.counterfactuals,
        }
        if kind not in kinds:
            raise ValueError(f"kind must be one of {list(kinds)}, found {kind!r}")
        for _, piece in chunks(explainer._checked(X), chunk_rows):
            yield kinds[kind](piece.native, **options)
