"""The pages of a service: what there is, and the explorer, which asks the service's own model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from illume.report.explorer import live_explorer
from illume.serve.settings import Settings

if TYPE_CHECKING:
    from illume import Explainer

EXPLORER = "/explorer"
MAX_ROWS = 1_000
INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>illume</title>
<h1>illume: explanations of a model's answers</h1>
<p>Send rows to <code>POST explain</code>, <code>rules</code> or <code>counterfactuals</code>;
<a href="openapi.json">openapi.json</a> describes them, with examples.</p>
<ul>{links}</ul>
</html>
"""
ABOUT = {
    "info": "what the model answers, and the features",
    "quality": "quality of the explainer on held-out rows",
    "health": "whether the process is up",
    "ready": "whether requests are answered",
    "metrics": "figures for Prometheus",
    "explorer": "a page in which rows can be changed",
}


def make_index(paths: Sequence[str]) -> str:
    """Return the page that names what a service has of `ABOUT`.

    >>> '<a href="ready">ready</a>: whether requests are answered' in make_index(["/ready"])
    True
    """
    named = [name for name in ABOUT if f"/{name}" in paths]
    return INDEX.format(
        links="".join(f'<li><a href="{name}">{name}</a>: {ABOUT[name]}</li>' for name in named)
    )


def make_page(explainer: Explainer, frame: Any, settings: Settings, **options: Any) -> bytes:
    """Return the page that shows the rows of a frame: 1,000 at most, evenly spaced.

    Options are those of counterfactuals.
    """
    seconds = 2 * settings.timeout + 1  # for a request to arrive, and for its work
    limits = {"max_rows": settings.max_rows, "seconds": seconds}
    return live_explorer(explainer, frame, limits, max_rows=MAX_ROWS, options=options)
