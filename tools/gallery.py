"""The gallery of the documentation: every example is run while the site is built, and shown with its output.

What an example gave is kept in `build/gallery` under a hash of the example and the library, so that only what
changed runs again. `ILLUME_PYTHON` names the interpreter that has the library, where it is not this one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from run_example import title_and_intro

log = get_plugin_logger("gallery")

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
CACHE = ROOT / "build" / "gallery"
LIMIT = 25.0  # seconds of one core; they take less than 15 on an idle machine


@dataclass(frozen=True)
class Page:
    """One example with its output: the page's name, title, introduction, text, picture and figures."""

    name: str
    title: str
    intro: str
    markdown: str
    figures: tuple[Path, ...]


def on_config(config: Any) -> Any:
    """Put the examples into the navigation, beneath the gallery's own page."""
    for entry in config.nav:
        if "Gallery" in entry:
            entry["Gallery"] = ["gallery/index.md", *map(_entry, _examples())]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add a page per example, its figures, and a page that lists them all."""
    pages = [_page(path) for path in _examples()]
    for page in pages:
        files.append(File.generated(config, f"gallery/{page.name}.md", content=page.markdown))
        for figure in page.figures:
            files.append(File.generated(config, f"gallery/{figure.name}", abs_src_path=str(figure)))
    files.append(File.generated(config, "gallery/index.md", content=_index(pages)))
    return files


def _examples() -> list[Path]:
    return sorted(EXAMPLES.glob("[!_]*.py"))


def _entry(path: Path) -> dict[str, str]:
    title, _ = title_and_intro(path.read_text())
    return {title.partition(":")[0]: f"gallery/{path.stem}.md"}


def _page(path: Path) -> Page:
    source = path.read_text()
    folder = CACHE / f"{path.stem}-{_hash(path)}"
    if not (folder / "cells.json").is_file():
        _run(path, folder)
    answer = json.loads((folder / "cells.json").read_text())
    if answer["seconds"] > LIMIT:
        log.warning(f"examples/{path.name} took {answer['seconds']:.0f} s of one core, more than {LIMIT:.0f}")
    title, intro = title_and_intro(source)
    parts = ["---\nhide: [toc]\n---", f"# {title}", intro, *(_cell(cell) for cell in answer["cells"])]
    took = f"it took {answer['seconds']:.0f} seconds of one core"
    parts.append(f"[Download this example]({path.name}){{ download }}; {took}.")
    figures = [folder / name for cell in answer["cells"] for name in cell["figures"]]
    return Page(path.stem, title, intro, "\n\n".join(parts) + "\n", (*figures, path))


def _cell(cell: dict[str, Any]) -> str:
    parts = [cell["text"]]
    if cell["code"]:
        parts.append(f"```python\n{cell['code']}\n```")
    if cell["output"]:
        parts.append(f"```text\n{cell['output']}\n```")
    parts += [f"![Figure]({name})" for name in cell["figures"]]
    return "\n\n".join(part for part in parts if part)


def _index(pages: list[Page]) -> str:
    cards = []
    for page in pages:
        picture = next(
            (f"[![]({figure.name})]({page.name}.md)" for figure in page.figures if figure.suffix == ".png"),
            "",
        )
        first = page.intro.split("\n\n")[0].replace("\n", " ")
        cards.append(f"-   **[{page.title}]({page.name}.md)**\n\n    {first}\n\n    {picture}\n")
    return GALLERY + '<div class="grid cards" markdown>\n\n' + "\n".join(cards) + "\n</div>\n"


GALLERY = """# Gallery

Every example below is run when these pages are built, and the output is what it gave. They use generated
data and what scikit-learn brings along, and small settings where the default would take more than 15
seconds on one core.

"""


def _hash(path: Path) -> str:
    used = [path, ROOT / "tools" / "run_example.py", *sorted((ROOT / "src" / "illume").rglob("*.py"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in used)).hexdigest()[:16]


def _run(path: Path, folder: Path) -> None:
    for old in CACHE.glob(f"{path.stem}-*"):
        shutil.rmtree(old)
    folder.mkdir(parents=True)
    log.info(f"running examples/{path.name}")
    python = os.environ.get("ILLUME_PYTHON", sys.executable)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [python, str(ROOT / "tools" / "run_example.py"), str(path), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PluginError(f"examples/{path.name} failed:\n{done.stderr[-3000:]}")
