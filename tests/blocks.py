"""The code blocks of the pages: finding them, and running those of one page in order.

`python -m tests.blocks docs/from/lime.md` runs a page by itself, which is for pages that need other packages.
"""

import io
import re
import sys
import textwrap
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume
from tests.common import FAST, grouped

QUICK = {"n_latents": 2, "queries": 200, "effort": "quick", "training": FAST}
ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<why>skip|needs): (?P<what>[^\n]*) -->\n+)?"
    r"^(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)
OUTPUT = re.compile(r"^(?P<indent> *)```text\n(?P<text>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of Python, the line it begins in, and, if it is not for every machine, why."""

    code: str
    line: int
    skip: str = ""
    needs: tuple[str, ...] = ()

    @property
    def runs(self):
        """Whether the packages it needs are here, and it is to be run at all."""
        return not self.skip and all(find_spec(package) for package in self.needs)


def pages():
    """Return README and every page that is written by hand."""
    written = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(p for p in written if p.parent.name != "tables" and p.name != "results.md")]


def blocks(text):
    """Return the Python blocks of a page.

    >>> text = "```python\\na = 1\\n```\\n<!-- needs: lime -->\\n  ```python title='L'\\n  b = 2\\n  ```\\n"
    >>> [(block.code, block.line, block.needs) for block in blocks(text)]
    [('a = 1\\n', 1, ()), ('b = 2\\n', 5, ('lime',))]
    """
    return [_block(text, found) for found in BLOCK.finditer(text)]


def _block(text, found):
    line = text[: found.start("indent")].count("\n") + 1
    code = textwrap.dedent(found["code"])
    if found["why"] == "needs":
        return Block(code, line, needs=tuple(found["what"].split(", ")))
    return Block(code, line, skip=found["what"] or "")


def outputs(text):
    """Return the outputs that a page shows, as lines, by the line of the page that they begin in.

    >>> outputs("a\\n```text\\nb\\n```\\n")
    {2: ['b']}
    """
    return {
        text[: found.start()].count("\n") + 1: textwrap.dedent(found["text"]).splitlines()
        for found in OUTPUT.finditer(text)
    }


def run(path, names, change=lambda code: code):
    """Run the blocks of a page one after the other, in one namespace; return how many ran."""
    ready = [block for block in blocks(path.read_text()) if block.runs]
    for block in ready:
        run_block(block, path, names, change)
    return len(ready)


def run_block(block, path, names, change=lambda code: code):
    """Run one block of a page; a traceback names the line of the page."""
    exec(compile("\n" * block.line + change(block.code), str(path), "exec"), names)


def run_printing(path, names):
    """Run a page as far as it shows outputs; yield in turn what a block printed, and what the page shows."""
    text = path.read_text()
    shown, ready = outputs(text), {block.line: block for block in blocks(text) if block.runs}
    for line in sorted(shown | ready):
        if line in shown:
            yield shown[line]
        elif line < max(shown):
            printed = io.StringIO()
            with redirect_stdout(printed):
                run_block(ready[line], path, names)
            yield printed


def prepared():
    """Return the names that pages may use, as the quickstart leaves them: rows, a model, its explainer."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    explainer = illume.Explainer(model, **grouped(**QUICK)).fit(X)
    return {
        "illume": illume,
        "X": X,
        "y": y,
        "model": model,
        "explainer": explainer,
        "attributions": explainer(X),
    }


if __name__ == "__main__":
    for page in sys.argv[1:]:
        count = run(Path(page).resolve(), prepared())
        sys.stdout.write(f"{page}: {count} blocks ran\n")
