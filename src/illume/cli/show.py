"""`illume show`, `rules` and `check`: what an explainer's file holds, and whether it applies to new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Exit, Option

from illume.cli.load import load_explainer, model_option, read_rows_for
from illume.cli.messages import ExitCode
from illume.cli.options import Debug, ExplainerFile, Json, MissingWords, Model, Quiet, Rows, TrustModel, start
from illume.cli.output import print_json, print_result
from illume.cli.read_rows import file_name, is_parquet, require_csv
from illume.errors import rows_after

if TYPE_CHECKING:
    from illume import Explainer

SETTINGS = ("contributions", "effort", "queries", "random_state")
SURROGATE_SETTINGS = ("encoder", "objective", "n_latents")


def show(
    context: Context,
    explainer: ExplainerFile,
    *,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what is in an explainer's file: features, quality, versions."""
    from illume.data import archive

    loaded = load_explainer(explainer, None, start(context, quiet, debug))
    manifest = archive.read(explainer).manifest
    if json:
        print_json(_summary(loaded, explainer, manifest))
    else:
        print_result(_description(loaded, explainer, manifest))


def _summary(explainer: Explainer, path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    rules = getattr(explainer, "rule_quality_", None)
    return {
        "explainer": str(path),
        "n_bytes": path.stat().st_size,
        "format": manifest["version"],
        "versions": manifest["libraries"],
        "settings": manifest["settings"],
        "rows": manifest["rows"],
        "classes": list(explainer.class_names_),
        "features": [
            {
                "name": feature.name,
                "kind": feature.kind.value,
                "categories": list(feature.labels),
                "low": feature.low if feature.numeric else None,
                "high": feature.high if feature.numeric else None,
            }
            for feature in explainer.schema_.features
        ],
        "quality": explainer.quality_.to_dict(),
        "rule_quality": rules and rules.to_dict(),
    }


def _description(explainer: Explainer, path: Path, manifest: dict[str, Any]) -> str:
    rows, options = manifest["rows"], explainer.surrogate_options
    settings = {name: manifest["settings"][name] for name in SETTINGS}
    settings |= {name: getattr(options, name) for name in SURROGATE_SETTINGS}
    lines = {
        "File": f"{path}, {path.stat().st_size / 1e3:,.0f} kB, format {manifest['version']}",
        "Explains": " or ".join(map(repr, explainer.class_names_)),
        "Holds": f"{rows['held']:,} of {rows['of']:,} training rows; not the model",
        "Made with": ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items()),
        "Settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
    }
    head = "\n".join(f"{name:<9}  {text}" for name, text in lines.items())
    parts = (explainer.schema_, explainer.quality_, getattr(explainer, "rule_quality_", None))
    return "\n\n".join([head, *(repr(part) for part in parts if part is not None)])


def rules(
    context: Context,
    explainer: ExplainerFile,
    *,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the global view: what the model decides where, with a typical rule for each region."""
    leaves = load_explainer(explainer, None, start(context, quiet, debug)).rule_set()
    if json:
        print_json(leaves.to_frame().to_dict("records"))
    else:
        print_result(str(leaves))


def check(
    context: Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    model: Model = None,
    sample: Annotated[int, Option(min=0, help="Most rows put to the model.")] = 1_000,
    json: Json = False,
    missing: MissingWords = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check whether explanations apply to the rows of a file, or of a folder of Parquet files.

    The rows are compared with those of the fit: categories, ranges, missing values, distributions, distances
    and, with --model, how often surrogate and model agree.

    The exit code is 0 if they are alike, and 3 if explanations of these rows should not be used.

    [b]illume check loans.illume new.csv --model loans.model.joblib[/]
    """
    messages = start(context, quiet, debug)
    require_csv(rows, missing)
    loaded = load_explainer(explainer, model, messages, trust_model)
    if model is None:
        option = model_option(explainer)
        messages.note(
            f"without the model, its agreement with the surrogate is unknown; give it with {option}"
        )
    if quiet:
        loaded.set_params(verbose=False)
    in_place = is_parquet(rows)
    frame = rows if in_place else read_rows_for(loaded, rows, missing)
    with rows_after(0, "" if in_place else file_name(rows)):  # rows of Parquet files may be sampled
        found = loaded.check(frame, sample=sample)
    if json:
        print_json(found.to_dict())
    else:
        print_result(repr(found))
    if not found.ok:
        raise Exit(ExitCode.DRIFTED)
