"""Tables of speed and growth, and the text around them, from result lines alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.harness import Line, read
from benchmarks.markup import MISSING, Table, count, failures, seconds
from benchmarks.speed import growth
from benchmarks.speed.cells import CENTRE, METHODS, MODELS, OURS, ROWS
from benchmarks.speed.problems import LAYERS, N_LATENTS, TRAINING_ROWS, TREES
from benchmarks.speed.summary import REQUIRED_RATIOS, Lines

SHARES = {
    "share_of_limit": "of the limit",
    "share_of_bare": "of bare products",
    "share_of_bare_unrefined": "so, rows that need no refinement",
    "refined_share": "rows refined",
}
MODEL_NAMES = {"lightgbm": "LightGBM", "mlp": "MLP"}
LIMIT_NOTE = (
    "A row's limit is the slower of its matrix products, each alone and repeated over the same memory, and "
    "of reading it and writing contributions and slopes at the rate of a large copy. illume is timed without "
    "its model, in turns with the bare sequence of products; rows that had to be refined are counted in."
)
GROWTH_NOTE = (
    f"One factor varied around n = {growth.CENTRE.n:,} rows fitted, r = {growth.CENTRE.r:,} rows explained, "
    f"m = {growth.CENTRE.m} columns, k = {growth.CENTRE.k} latents, c = {growth.CENTRE.c} classes; the black "
    f"box costs next to nothing. Fits train for {growth.STEPS} steps unless said. The exponent is the slope "
    "of a line through the logarithms: 1 is in proportion, 0 is constant. In brackets what the fastest and "
    "the slowest of repeated calls leave open. Where r is not varied, rules and counterfactuals are of "
    f"{growth.CENTRE.r:,} rows: over n, an exponent of 0 says that a row costs the same whatever the number "
    "of rows fitted. Explaining as many rows as were fitted costs the product of both."
)


def tables(results: Path) -> list[Table]:
    """Return the tables that have rows."""
    lines = Lines.read(results)
    found = [make(lines) for make in TABLES] if lines else []
    found += growth_tables(growth.read_points(results / "growth.jsonl"))
    return [table for table in found if table.rows]


def requirements(lines: Lines) -> Table:
    rows = []
    for peer, times in REQUIRED_RATIOS.items():
        for own, words in ((True, "its model's time apart"), (False, "its model's time included")):
            cells = [count(lines.ratio(peer, model, own=own)) for model in MODELS]
            rows.append((f"rows/s, times those of {peer}, {words}", f"≥ {times:,}", *cells))
    rate = [count(lines.rate(CENTRE, model, "illume", own=True)) for model in MODELS]
    rows.append(("rows/s, the model apart", "≥ 1,000,000", *rate))
    single = [lines.line(CENTRE, model, "illume", 1) for model in MODELS]
    ms = [f"{1e3 / line['own_rows_per_second']:.2f}" if line else MISSING for line in single]
    rows.append(("ms for a single row, the model apart", "< 0.5", *ms))
    compared = [count(lines.explain_to_predict(CENTRE, model)) for model in MODELS]
    rows.append(("explaining a row over predicting it", "< 1", *compared))
    for data in (CENTRE, "adult"):
        shares = [_percent(lines.line(data, model, "limits"), "share_of_bare") for model in MODELS]
        rows.append((f"share of the bare products, {_label(data)}", "≥ 60 %", *shares))
    head = (f"{_label(CENTRE)}, 8 latents", "asked", *(MODEL_NAMES[model] for model in MODELS))
    return Table("speed-asked", "What was asked, and what was measured", head, tuple(rows))


def rates(lines: Lines) -> Table:
    rows = []
    for model in MODELS:
        for method in ["model", *lines.methods(model)]:
            best = [lines.best(data, model, method) for data in lines.data()]
            cells = [_about(line) + count(line["rows_per_second"]) if line else MISSING for line in best]
            label = "predicting" if method == "model" else method
            rows.append((f"{label}, {MODEL_NAMES[model]}", *cells))
    head = ("rows/s, the model's time included", *map(_label, lines.data()))
    note = (
        "The best of all numbers of rows; fitting and loading apart. Tree SHAP and woodelf read the trees "
        "and do not ask the model. ≈: extrapolated from fewer rows."
    )
    return Table("speed-rates", "Rows a second", head, tuple(rows), (note, *failures(lines.by_cell.values())))


def totals(lines: Lines) -> Table:
    rows = []
    for model in MODELS:
        for method in lines.methods(model):
            found = {n: lines.line(CENTRE, model, method, n) for n in ROWS}
            some = next((line for line in found.values() if line), None)
            if some is None:
                continue
            peaks = [line["peak_mb"] for line in found.values() if line and not line["extrapolated"]]
            first = (seconds(some["first_s"]), f"{max(peaks, default=math.nan):.0f}")
            cells = [_about(line) + seconds(line["seconds"]) if line else MISSING for line in found.values()]
            rows.append((f"{method}, {MODEL_NAMES[model]}", *first, *cells))
    head = (_label(CENTRE), "first explanation, s", "peak, MB", *(f"{n:,} rows, s" for n in ROWS))
    note = (
        "The first explanation counts importing, constructing or loading, and one row, in a fresh process "
        "that holds model and rows; the peak is what the method adds to these. Fitting illume is apart. "
        "≈: extrapolated from fewer rows."
    )
    return Table("speed-totals", "First explanation, memory, seconds", head, tuple(rows), (note,))


def fits(lines: Lines) -> Table:
    rows = []
    for data in lines.data():
        for model in MODELS:
            if line := lines.line(data, model, "fit"):
                figures = [seconds(line[name]) for name in ("fit_s", "fit_model_s", "fit_rules_s")]
                shares = (f"{line['agreement']:.3f}", line["encoder"], f"{line['peak_mb']:.0f}")
                label = f"{_label(data)}, {MODEL_NAMES[model]}"
                rows.append((label, f"{line['n_train']:,}", *figures, *shares))
    head = ("", "rows", "fit, s", "of it the model, s", "rules, s", "agreement", "encoder", "peak, MB")
    return Table("speed-fits", "Fitting", head, tuple(rows))


def break_evens(lines: Lines) -> Table:
    rows = []
    for model in MODELS:
        peers = [name for name in lines.methods(model) if name not in OURS.values()]
        for peer in peers:
            cells = [count(lines.break_even(peer, data, model)) for data in lines.data()]
            rows.append((f"{peer}, {MODEL_NAMES[model]}", *cells))
    head = ("rows from which fitting and explaining costs less", *map(_label, lines.data()))
    note = (
        "Seconds of any number of rows follow straight lines through those that were timed, so what a method "
        "does once for every call counts; importing, constructing and, for illume, fitting come before."
    )
    return Table("speed-break-even", "Break-even rows", head, tuple(rows), (note,))


def limits(lines: Lines) -> Table:
    rows = []
    for data in lines.data():
        for model in MODELS:
            line = lines.line(data, model, "limits")
            if line is None or "bare_rows_per_second" not in line:
                continue
            names = ("product_gflops", "copy_gb_per_second", "limit_rows_per_second", "bare_rows_per_second")
            cells = [count(line[name]) for name in (*names, "own_rows_per_second")]
            shares = [_percent(line, name) for name in SHARES]
            ratio = count(lines.explain_to_predict(data, model))
            rows.append((f"{_label(data)}, {MODEL_NAMES[model]}", *cells, *shares, ratio))
    head = (
        *("", "products, GFLOP/s", "copy, GB/s", "limit, rows/s", "bare products, rows/s", "illume, rows/s"),
        *SHARES.values(),
        "explain / predict",
    )
    return Table("speed-limits", "The machine's own limit", head, tuple(rows), (LIMIT_NOTE,))


def growth_tables(lines: dict[growth.Point, Line]) -> Iterator[Table]:
    rows = []
    for factor in growth.FACTORS:
        for curve in growth.curves(lines, factor):
            took = curve.seconds
            most = growth.required_exponent(factor, curve.name)
            wanted = "" if most is None else f"≤ {most:.2f}"
            ends = (
                f"{int(curve.sizes[0]):,} to {int(curve.sizes[-1]):,}",
                seconds(took[0]),
                seconds(took[-1]),
            )
            rows.append((factor, curve.name, *ends, str(curve.exponent()), str(curve.exponent(2)), wanted))
    head = ("factor", "what", "sizes", "seconds, first", "last", "exponent", "of the last two sizes", "asked")
    yield Table("growth", "How cost grows", head, tuple(rows), (GROWTH_NOTE, *_other_encoders(lines)))


def _other_encoders(lines: dict[growth.Point, Line]) -> tuple[str, ...]:
    """Name the points with a global surrogate, and those that were not measured."""
    other = [point.key for point, line in lines.items() if line.get("encoder", "meta") != "meta"]
    failed = [f"{point.key} ({line['error']})" for point, line in lines.items() if line["error"]]
    failed += [f"{point.key} in part ({line['cut']})" for point, line in lines.items() if line.get("cut")]
    said = [f"A global surrogate was chosen, which costs less: {', '.join(other)}."] * bool(other)
    return (*said, *[f"Not measured: {', '.join(failed)}."] * bool(failed))


def _about(line: Line) -> str:
    return "≈ " if line["extrapolated"] else ""


def _percent(line: Line | None, name: str) -> str:
    return f"{100 * line[name]:.0f} %" if line and name in line else MISSING


def _label(data: str) -> str:
    return f"m = {data[1:]}" if data[1:].isdigit() else f"{data} (m = 105)"


TABLES: tuple[Callable[[Lines], Table], ...] = (requirements, rates, totals, fits, break_evens, limits)
IDLE = 0.5  # load beyond the threads of the benchmark


def about(results: Path) -> str:
    """Describe the models, the calls, the machine and its load."""
    lines = Lines.read(results).good()
    grown = [line for line in read(results / "growth.jsonl") if not line["error"]]
    parts = [ABOUT_MODELS, HOW, _settings(lines), _machines([*lines, *grown]), _busy(lines)]
    return "\n\n".join(part for part in parts if part)


ABOUT_MODELS = (
    "Measured by `python -m benchmarks speed` and `growth`. The models are LightGBM "
    f"({TREES['n_estimators']} trees of depth {TREES['max_depth']} at most, with the default of 31 leaves) "
    f"and scikit-learn's MLPClassifier (hidden layers of {LAYERS[0]} and {LAYERS[1]}), fitted on "
    f"{TRAINING_ROWS:,} generated rows whose classes eight columns decide, most of them not linearly; adult "
    "has 105 one-hot encoded columns, and 39,073 rows to fit on. "
    f"illume has {N_LATENTS} latents and otherwise its defaults."
)
HOW = (
    "Every method runs on a data set and model in a fresh process, all with the same number of threads, rows "
    "given as an array of numbers. A method for batches gets all rows in one call. Of repeated calls the "
    "median counts. What would take too long is timed on fewer rows and extrapolated: in proportion, or for "
    "a method that does something once for a batch, along the line through its two largest timings; "
    "`rows_timed` in `speed.jsonl` says on how many. A first call, which may compile or load things, is "
    "timed apart, unless it took so long that there was no second one (`warm` is then false)."
)


def _settings(lines: list[Line]) -> str:
    settings = {line["method"]: line["setting"] for line in lines if line.get("setting")}
    parts = [f"- {name}: {settings[name]}" for name in METHODS if name in settings]
    return "How methods were called:\n\n" + "\n".join(parts) if parts else ""


def _machines(lines: list[Line]) -> str:
    sentences = []
    for name, words in (("machine", "Machines"), ("threads", "Threads"), ("commit", "Commits")):
        values = Counter(str(line[name]) for line in lines if line.get(name))
        sentences.append(f"{words}: {'; '.join(f'{v} ({n} lines)' for v, n in values.most_common())}.")
    return " ".join(sentences)


def _busy(lines: list[Line]) -> str:
    """Return a warning if the machine was busy, which lowers figures."""
    loads = [line["load"] for line in lines if line.get("load", 0.0) > IDLE + line.get("threads", 0)]
    if not loads:
        return ""
    return (
        f"The machine was busy with other work while {len(loads)} of {len(lines)} lines were measured (load "
        f"up to {max(loads):.1f}): those figures only show that the benchmark runs."
    )
