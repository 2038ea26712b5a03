"""Figures of the code's form: files, lines, layers, names, and the modules of each call.

Run `python tools/structure.py [folder of src]`: it prints one table.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

PARTICIPLE = re.compile(
    r"^_*([a-z]+(ed|ing)|of|made|kept|held|known|shown|found|left|drawn|taken|given|told|seen|built|sent)$"
)
VERBS = {"embed", "need", "feed", "seed", "speed", "exceed", "string", "ring", "bring", "thing"}
VERBS |= {"encoding", "training", "setting"}


class Trace:
    """Counts modules, functions and depth of the calls within illume, in the calling thread."""

    def __init__(self, root: str) -> None:
        self.root, self.modules, self.functions, self.depth, self.deepest = root, set(), set(), 0, 0

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        """Count one call or return."""
        if not frame.f_code.co_filename.startswith(self.root):
            return
        if event == "call":
            self.modules.add(frame.f_code.co_filename)
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_name))
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
        elif event == "return":
            self.depth -= 1

    def run(self, work: Any) -> Any:
        """Run some work while tracing it."""
        sys.setprofile(self)
        try:
            return work()
        finally:
            sys.setprofile(None)

    def __str__(self) -> str:
        return f"{len(self.modules)} modules, {len(self.functions)} functions, {self.deepest} deep"


def trace_calls(source: Path) -> dict[str, str]:
    """Return the modules, functions and depth of each call."""
    sys.path.insert(0, str(source))
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    import illume

    warnings.simplefilter("ignore")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    explainer = illume.Explainer(model, queries=500, effort="quick", verbose=False)
    explainer.fit(X)  # imports and caches are not counted
    explainer(X[:5])
    explainer.rules(X[:5])
    explainer.counterfactuals(X[:3], n=1)
    calls = {
        "fit": lambda: explainer.fit(X),
        "explainer(X)": lambda: explainer(X[:5]),
        "print(row)": lambda: str(explainer_rows[0]),
        "rules": lambda: explainer.fit_rules().rules(X[:5]),
        "counterfactuals": lambda: explainer.counterfactuals(X[:3], n=1),
        "save": lambda: explainer.save(Path(tempfile.mkdtemp()) / "a.illume"),
    }
    explainer_rows = explainer(X[:5])
    found = {}
    for name, call in calls.items():
        trace = Trace(str(source / "illume"))
        trace.run(call)
        found[name] = str(trace)
    found["public names"] = str(len(illume.__all__))
    found["parameters of Explainer"] = str(len(explainer.get_params(deep=False)))
    return found


def count_code(source: Path) -> dict[str, str]:
    """Return figures of files, functions and layers."""
    files = sorted((source / "illume").rglob("*.py"))
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    names = [
        node.name
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
    ]
    odd = sorted({name for name in names if PARTICIPLE.match(name) and name.strip("_") not in VERBS})
    count = sum(name in odd for name in names)
    any_explainer = sum(path.read_text(encoding="utf-8").count("explainer: Any") for path in files)
    layers = tomllib.loads((source.parent / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    return {
        "files": str(len(files)),
        "lines": f"{sum(lines):,}, median {statistics.median(lines):.0f}, largest {max(lines)}",
        "packages": str(
            sum(path.is_dir() and path.name != "__pycache__" for path in (source / "illume").iterdir())
        ),
        "import layers": str(len(layers[0]["layers"])),
        "functions": str(len(names)),
        "participles": f"{count} a lone participle or `of` ({100 * count / len(names):.1f} %)",
        "such names": ", ".join(odd),
        "`explainer: Any`": str(any_explainer),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "src").resolve()
    for name, figure in (count_code(folder) | trace_calls(folder)).items():
        sys.stdout.write(f"{name:<24} {figure}\n")
