"""From what a report says to the one file that shows it."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import asdict
from importlib.resources import files
from string import Template
from typing import Any

from illume.report import sections
from illume.report.card import package_version
from illume.report.content import Content
from illume.report.markup import text
from illume.report.words import count, percent

HALF = 0.5
SCRIPTS = ("text", "data", "charts", "beeswarm", "map", "picking", "table", "row", "main")


def page(content: Content) -> str:
    """Return the whole page: text, style, data and script, with nothing to load from elsewhere."""
    style, script = _static("style.css"), _script()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_static("page.html")).substitute(
        policy=policy,
        style=style,
        script=script,
        data=_json(content),
        title=text(content.title),
        about=text(f"{content.date} · illume {package_version('illume')}"),
        tiles=sections.tiles(content),
        summary=sections.summary(content),
        notices=sections.notices(content),
        quality=sections.quality(content),
        lead=sections.lead(content),
        output=text(content.output),
        map_note=text(_map_note(content)),
        rows=text(count(content.rows.n, "row")),
        card=sections.card(content),
    )


def _map_note(content: Content) -> str:
    if content.map_share is None:
        return "The two axes are the surrogate's two latents."
    shown = (
        f"The two axes are the main directions of the surrogate's latents and show "
        f"{percent(content.map_share)} of their variation"
    )
    little = content.map_share < HALF
    return f"{shown}: rows that look close here may still lie far apart." if little else f"{shown}."


def _static(name: str) -> str:
    return (files("illume.report") / "static" / name).read_text(encoding="utf-8")


def _script() -> str:
    parts = "\n".join(_static(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _hash(inline: str) -> str:
    """Return what a Content-Security-Policy names an inline script or style by."""
    digest = hashlib.sha256(inline.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _json(content: Content) -> str:
    """Return the data as JSON in which nothing can end the element that it stands in."""
    found = {
        "rows": asdict(content.rows),
        "rules": None if content.rules is None else asdict(content.rules),
        "counterfactuals": None if content.counterfactuals is None else asdict(content.counterfactuals),
    }
    written = json.dumps(_finite(found), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def _finite(value: Any) -> Any:
    """Return the same with None for numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
