"""One file from a template, a style sheet, modules of JavaScript and data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

STATIC = files("illume.report") / "static"
STYLES = ("figures.css", "style.css")
INDENT = re.compile(r"^\s+", re.MULTILINE)
COMMENT = re.compile(r"^(?://[^\n]*|/\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)


def fill_page(
    template: str,
    entry: str,
    data: str,
    styles: Sequence[str] = STYLES,
    *,
    connect: bool = False,
    **parts: str,
) -> str:
    """Return the whole page, from the module of JavaScript that starts it, its data and its parts in HTML.

    `data` is text that is safe in HTML, such as that of `safe_json`.

    It can `connect` to where it comes from, or to nothing.
    """
    style, script = lean("".join(map(read_static, styles))), bundle(modules(entry))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if connect else "")
    )
    page = Template(read_static(template))
    return page.substitute(parts, policy=policy, style=style, script=script, data=data)


def modules(entry: str) -> list[str]:
    """Return the names of a module and all that it imports from, each after those that it imports from."""
    found: list[str] = []

    def add(name: str) -> None:
        if name not in found:
            for line in IMPORT.findall(read_static(f"{name}.js")):
                add(re.findall(r"\./(\w+)\.js", line)[0])
            found.append(name)

    add(entry)
    return found


def bundle(names: Sequence[str]) -> str:
    """Return modules, in the order of `modules`, as one script without imports.

    Names at the top of modules must differ, since they end up in one scope.
    """
    return f'(() => {{\n"use strict";\n{_join(names)}}})();\n'


def bundle_module(names: Sequence[str], exported: str) -> str:
    """Return modules as one, which exports an expression as its default."""
    return f"{_join(names)}\nexport default {exported};\n"


def _join(names: Sequence[str]) -> str:
    code = IMPORT.sub("", "\n".join(read_static(f"{name}.js") for name in names))
    return lean(re.sub(r"^export (?=\w)", "", code, flags=re.MULTILINE))


def lean(code: str) -> str:
    r"""Return a script or style without indentation, empty lines, and comments that begin a line.

    Comments that end a line stay: what looks like one may be within a text.

    >>> lean("/** Add. */\nfunction add(a, b) {\n  // both\n  return a + b; // the sum\n}\n")
    'function add(a, b) {\nreturn a + b; // the sum\n}\n'
    """
    return COMMENT.sub("", INDENT.sub("", code))


def read_static(name: str) -> str:
    """Return the text of a template, style or module."""
    return (STATIC / name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """Return the name of an inline script or style in a Content-Security-Policy."""
    digest = hashlib.sha256(inline.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def safe_json(data: Any) -> str:
    """Return JSON that cannot end the element it is in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
