"""The code blocks of the pages: finding them, and running those of one page in order.

`python -m tests.blocks docs/from/lime.md` runs a page by itself, which is for pages that need other packages.
"""

import re
import sys
import textwrap
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume
from tests.common import FAST, grouped

QUICK = {"n_latents": 2, "queries": 200, "training": FAST}
ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<why>skip|needs): (?P<what>[^\n]*) -->\n+)?"
    r"^(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)


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


def run(path, names):
    """Run the blocks of a page one after the other, in one namespace; return how many ran."""
    ready = [block for block in blocks(path.read_text()) if block.runs]
    for block in ready:
        code = "\n" * block.line + block.code  # so that a traceback names the line of the page
        exec(compile(code, str(path), "exec"), names)
    return len(ready)


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
