"""The tables and the page of results, docs/results.md, written from the result files alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchmarks.data import PROTOCOLS
from benchmarks.evaluation import selection
from benchmarks.evaluation import tables as evaluation_tables
from benchmarks.evaluation.figures import FIGURES
from benchmarks.evaluation.tables import Sheet, sheets
from benchmarks.harness import RESULTS, ROOT
from benchmarks.markup import write_tables
from benchmarks.regression import page as regression_tables
from benchmarks.speed import tables as speed_tables
from benchmarks.speed.figures import FIGURES as SPEED_FIGURES

PROTOCOL = """## Two protocols

**clean** is how we would evaluate a method today. The rows that figures are reported for choose nothing:
epochs, surrogates and settings are chosen on validation rows, taken from the training part. Slopes are
compared with slopes and contributions with contributions. A summary is the mean over data sets and black
boxes. What the library does by default was settled on other rows than the reported ones: on parts of the
training rows of some of these data sets and on SENECA problems of other numbers. The data sets themselves
have been seen.

**paper** repeats the published choices, so that our figures can be laid beside the printed ones: of several
settings the best by the reported figure itself, in summaries also the best of the black boxes, and slopes of
some methods beside contributions of others. Its figures flatter whoever has many settings."""

LEGEND = """## How to read the tables

`illume` is this library with its defaults. `ill` is the paper's own method; `ill-uc` goes without black-box
decisions, `ill-us` without the stability term; `lin` is one linear map for all rows; `inp` is the surrogate
on the input itself. `gradient at the row` is the synthetic black box's own gradient where the row is, and is
not ranked; `illume, unpolished` are the rules of its tree (`polish=False`). In brackets the objective: `(.)`
without regulariser, `(co)` non-collinearity, `(so2)` soft orthogonality and two inputs per latent; without
brackets, any of them. Columns headed `paper:` are printed there. **Bold** is the best, <u>underlined</u> the
second, ours and the printed ones apart; equal as printed counts as equal. – was not run. A number in
parentheses is the surrogate's agreement with the black box in percent, one behind ± the standard deviation
over seeds, one in square brackets the number of cells behind a mean where other columns have more. `mad` is
the median absolute deviation over settings and black boxes, averaged over data sets."""


def tables(results: Path = RESULTS, out: Path = ROOT / "docs") -> int:
    """Write the tables of the evaluation, speed, growth and regression, and the page of results."""
    written = evaluation_tables.write(results, out / "tables")
    written += write_tables(speed_tables.tables(results), out / "tables")
    written += write_tables(regression_tables.tables(results), out / "tables")
    print(*written, sep="\n")
    write_page(results, out / "results.md")
    return 0


def write_page(results: Path, page: Path) -> None:
    """Write the page, with links to the figures in `images/results` beside it."""
    lines = selection.read(results)
    found = sheets(lines)
    images = page.parent / "images" / "results"
    parts = ["# Results", _about(lines), COMMANDS, PROTOCOL, LEGEND]
    for protocol in PROTOCOLS:
        run = [sheet for sheet in found if sheet.protocol == protocol and sheet.has_figures]
        parts += [f"## Tables, protocol {protocol}"] * bool(run)
        parts += [sheet.text(level=3).strip() for sheet in run if not _is_detailed(sheet)]
        parts += [_collapsible(sheet) for sheet in run if _is_detailed(sheet)]
        captions = {f"{n}-{protocol}": f"{c} (protocol {protocol})" for n, (c, _) in FIGURES.items()}
        figures = list(_figures(images, page.parent, captions))
        parts += [f"## Figures, protocol {protocol}", *figures] if figures else []
    parts += _speed(results, images, page.parent)
    parts += regression_tables.section(results)
    parts.append(_not_run(found, images))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(parts) + "\n")


def _is_detailed(sheet: Sheet) -> bool:
    return sheet.name == "data" or sheet.name.startswith("a-")


def _collapsible(sheet: Sheet) -> str:
    title, body = sheet.text(level=3).strip().split("\n", 1)
    return f"<details>\n<summary>{title.lstrip('# ')}</summary>\n{body}\n\n</details>"


COMMANDS = """## Commands

```
python -m benchmarks run --table rq3-fi --list        # the cells of a table, and which are finished
python -m benchmarks run --table rq3-fi --protocol clean
python -m benchmarks run --table all --protocol paper
python -m benchmarks tables                           # tables and this page
python -m benchmarks figures
python -m benchmarks speed                            # illume and its peers, side by side
python -m benchmarks growth
python -m benchmarks regression --split heldout       # models that answer with a number
```

A run that is stopped goes on where it was. Every cell is a line in `benchmarks/results/cells`, or in
`speed.jsonl`, `growth.jsonl` and `regression.jsonl` beside it."""


def _about(lines: pd.DataFrame) -> str:
    if not len(lines):
        return "Nothing has been run yet."
    failed = int(lines["error"].notna().sum())
    hours = float(lines["cell_s"].sum()) / 3600
    sentences = [
        "This page is written by `python -m benchmarks tables`; no figure on it is typed by hand.",
        f"{len(lines):,} runs, {failed:,} of them failed, on {lines['data'].nunique()} data sets; "
        f"{hours:.1f} hours in all.",
    ]
    counts = lines.groupby(["protocol", "method"]).size()
    for protocol in counts.index.unique("protocol"):
        methods = ", ".join(f"{method} {count:,}" for method, count in counts[protocol].items())
        sentences.append(f"Runs under protocol {protocol}: {methods}.")
    for name, words in (("machine", "Machines"), ("commit", "Commits")):
        values = Counter(value for value in lines[name] if value)
        sentences.append(f"{words}: {'; '.join(f'{v} ({n:,} runs)' for v, n in values.most_common())}.")
    return "\n\n".join([" ".join(sentences[:2]), *sentences[2:]])


def _figures(images: Path, root: Path, captions: dict[str, str]) -> Iterator[str]:
    """Yield a section for each figure that exists, given captions by name."""
    for name, caption in captions.items():
        path = images / f"{name}.svg"
        path = path if path.exists() else path.with_suffix(".png")
        if path.exists():
            link = Path(os.path.relpath(path, root)).as_posix()
            yield f"### {caption}\n\n![{caption.partition(' (protocol ')[0]}]({link})"


def _speed(results: Path, images: Path, root: Path) -> list[str]:
    found = speed_tables.tables(results)
    if not found:
        return []
    captions = {name: caption for name, (caption, _) in SPEED_FIGURES.items()}
    parts = ["## Speed", speed_tables.about(results), *(table.text(level=3) for table in found)]
    return [*parts, *_figures(images, root, captions)]


def _not_run(found: list[Sheet], images: Path) -> str:
    items = []
    for sheet in found:
        title = f"{sheet.caption}, protocol {sheet.protocol}"
        if not sheet.has_figures:
            items.append(f"- {title}: the whole table")
        elif missing := _missing(sheet):
            items.append(f"- {title}: {missing}")
    for protocol in PROTOCOLS:
        absent = [name for name in FIGURES if not list(images.glob(f"{name}-{protocol}.*"))]
        items += [f"- Figures, protocol {protocol}: {', '.join(absent)}"] if absent else []
    text = "\n".join(items) or "Everything was run."
    return f"## What was not run\n\n{text}"


def _missing(sheet: Sheet) -> str:
    """Name the columns without figures, and count the missing figures of the others."""
    known: dict[str, list[bool]] = {}
    for grid in sheet.grids:
        for label, figures in grid.ours.items():
            # only surrogates have an agreement
            flags = [f.known for f, case in zip(figures, grid.cases, strict=True) if case != "agreement"]
            known.setdefault(label, []).extend(flags)
    parts = [label for label, flags in known.items() if not any(flags)]
    parts += [
        f"{label} ({flags.count(False)} of {len(flags)} figures)"
        for label, flags in known.items()
        if any(flags) and not all(flags)
    ]
    return ", ".join(parts)
