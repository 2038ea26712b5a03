"""`illume show`, `rules`, `check` and `export`: commands on an explainer's file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from illume.cli import options
from illume.cli.load import MODEL_OPTION, load_explainer, read_rows_for
from illume.cli.messages import ExitCode, Messages
from illume.cli.messages import show as show_text
from illume.cli.output import print_json, require_output
from illume.cli.read_rows import file_name, require_csv
from illume.data.table_files import is_parquet
from illume.errors import rows_after

if TYPE_CHECKING:
    from illume import Explainer

SETTINGS = ("contributions", "twin", "scale", "effort", "queries", "random_state")
SURROGATE_SETTINGS = ("encoder", "objective", "n_latents")


def show(
    messages: Messages,
    explainer: options.ExplainerFile,
    *,
    json: options.Json = False,
) -> None:
    """Show what is in an explainer's file: features, quality, versions."""
    from illume.data import archive

    loaded = load_explainer(explainer, messages)
    manifest = archive.read(explainer).manifest
    if json:
        print_json(_summary(loaded, explainer, manifest))
    else:
        show_text(_description(loaded, explainer, manifest))


def _summary(explainer: Explainer, path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    rules, outputs = getattr(explainer, "rule_quality_", None), explainer.fitted_.outputs
    return {
        "explainer": str(path),
        "n_bytes": path.stat().st_size,
        "format": manifest["version"],
        "versions": manifest["libraries"],
        "settings": manifest["settings"],
        "rows": _held(explainer),
        "task": outputs.task,
        outputs.members: list(outputs.names),
        "positive_class": explainer.positive_class,
        "threshold": explainer.threshold,
        "features": [
            {
                "name": feature.name,
                "label": explainer.fitted_.dictionary.label(feature.name),
                "unit": explainer.fitted_.dictionary.unit(feature.name),
                "kind": feature.kind.value,
                "categories": list(feature.labels),
                "value_labels": [
                    explainer.fitted_.dictionary.category(feature.name, c) for c in feature.labels
                ],
                "low": feature.low if feature.numeric else None,
                "high": feature.high if feature.numeric else None,
            }
            for feature in explainer.schema_.features
        ],
        "quality": explainer.quality_.to_dict(),
        "rule_quality": rules and rules.to_dict(),
    }


def _description(explainer: Explainer, path: Path, manifest: dict[str, Any]) -> str:
    rows, options = _held(explainer), explainer.surrogate_options
    settings = {name: manifest["settings"][name] for name in SETTINGS}
    settings |= {name: getattr(options, name) for name in SURROGATE_SETTINGS}
    lines = {
        "File": f"{path}, {path.stat().st_size / 1e3:,.0f} kB, format {manifest['version']}",
        "Explains": explainer.fitted_.outputs.summary,
        **_question(explainer),
        "Holds": f"{rows['held']:,} of {rows['of']:,} training rows; not the model",
        "Made with": ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items()),
        "Settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
    }
    head = "\n".join(f"{name:<9}  {text}" for name, text in lines.items())
    parts = (explainer.schema_, explainer.quality_, getattr(explainer, "rule_quality_", None))
    return "\n\n".join([head, *(repr(part) for part in parts if part is not None)])


def _held(explainer: Explainer) -> dict[str, int]:
    """Return how many training rows a file holds, and of how many."""
    fitted = explainer.fitted_
    return {"held": len(fitted.rows.training), "of": fitted.facts.n_training}


def _question(explainer: Explainer) -> dict[str, str]:
    """Return what was asked for: the positive class, the threshold and labels, if any."""
    outputs, known = explainer.fitted_.outputs, explainer.fitted_.dictionary
    asked = {"Positive": explainer.positive_class, "Threshold": explainer.threshold}
    lines = {name: f"{value}" for name, value in asked.items() if value is not None and outputs.decides}
    labels = [f"{column}: {known.title(column)}" for column in known.columns]
    return lines | ({"Labels": ", ".join(labels)} if labels else {})


def rules(
    messages: Messages,
    explainer: options.ExplainerFile,
    *,
    max_rules: Annotated[int, Option(min=1, help="Most rules.")] = 10,
    precision: Annotated[float | None, Option(help="Wanted precision, by default 0.9.")] = None,
    max_conditions: Annotated[int, Option(min=1, help="Most conditions of a rule.")] = 3,
    question: options.Question,
    output: options.Output = None,
    json: options.Json = False,
) -> None:
    """Show the global view: a few rules that together cover most rows, and the answer to the others.

    [b]illume rules loans.illume --max-rules 5 --precision 0.95[/]
    """
    towards = options.Question(question.positive_class)
    loaded = load_explainer(explainer, messages, question=towards)
    given: dict[str, Any] = {} if precision is None else {"precision": precision}
    given |= {"max_rules": max_rules, "max_conditions": max_conditions, "threshold": question.threshold}
    found = loaded.rule_set(output=output, **given)
    if json:
        print_json(found.to_dict())
    else:
        show_text(str(found))


def check(
    messages: Messages,
    explainer: options.ExplainerFile,
    rows: options.Rows,
    *,
    model: options.Model,
    sample: Annotated[int, Option(min=0, help="Most rows put to the model.")] = 1_000,
    question: options.Question,
    json: options.Json = False,
    missing: options.MissingWords = None,
) -> None:
    """Check whether explanations apply to the rows of a file, or of a folder of Parquet files.

    The rows are compared with those of the fit: categories, ranges, missing values, distributions, distances
    and, with --model, how often its twin and the model agree.

    The exit code is 0 if they are alike, and 3 if explanations of these rows should not be used.

    [b]illume check loans.illume new.csv --model loans.joblib --trust-model[/]
    """
    require_csv(rows, missing)
    loaded = load_explainer(explainer, messages, model, question)
    if model.model is None:
        unknown = "without the model, its agreement with its twin is unknown"
        messages.note(f"{unknown}; give it with {MODEL_OPTION}")
    if messages.quiet:
        loaded.set_params(verbose=False)
    in_place = is_parquet(rows)
    frame = rows if in_place else read_rows_for(loaded, rows, missing)
    with rows_after(0, "" if in_place else file_name(rows)):  # rows of Parquet files may be sampled
        found = loaded.check(frame, sample=sample)
    if json:
        print_json(found.to_dict())
    else:
        show_text(repr(found))
    if not found.ok:
        raise Exit(ExitCode.DRIFTED)


def export(
    messages: Messages,
    explainer: options.ExplainerFile,
    out: Annotated[Path, Argument(metavar="OUT.onnx", help="File to write or replace.")],
    *,
    encoded: Annotated[bool, Option("--encoded", help="Take encoded inputs instead of raw values.")] = False,
    question: options.Question,
) -> None:
    """Write attributions as an ONNX graph, for runtimes without Python.

    [b]illume export loans.illume loans.onnx[/]
    """
    from illume import export_onnx

    require_output(out, (".onnx",), explainer)
    loaded = load_explainer(explainer, messages, question=question)
    export_onnx(loaded, out, inputs="encoded" if encoded else "raw")
    messages.info(f"Graph written to {out} ({out.stat().st_size / 1e3:.0f} kB)")
