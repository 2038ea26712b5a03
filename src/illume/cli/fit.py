"""`illume fit`: fit an explainer to a model and rows in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from illume.cli import options
from illume.cli.load import load_model, model_file, require_features
from illume.cli.messages import Messages, UsageError, show
from illume.cli.options import Names, Unknown, split_names
from illume.cli.output import print_json, require_output
from illume.cli.read_rows import read_rows, require_csv, require_names
from illume.data.number_text import count
from illume.data.table_files import is_parquet

if TYPE_CHECKING:
    from illume import Explainer


def fit(
    messages: Messages,
    rows: Annotated[Path, Argument(metavar="TRAIN", help="CSV or Parquet file, or folder of Parquet files.")],
    *,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE.illume", help="File to write or replace.")],
    model: options.Model,
    target: Annotated[
        str | None, Option(metavar="COL", help="Column of classes or numbers; not a feature.")
    ] = None,
    task: Annotated[
        Literal["auto", "classification", "regression"],
        Option(help="Whether the model answers with classes or numbers; auto finds out."),
    ] = "auto",
    link: Annotated[
        Literal["identity", "log"],
        Option(help="Numbers: contributions add up to the number, or are factors of it (log)."),
    ] = "identity",
    output_name: Annotated[
        Names, Option(metavar="A,B", help="Numbers: their names; by default that of the target.")
    ] = None,
    categorical: Annotated[Names, Option(metavar="A,B", help="Columns whose numbers are categories.")] = None,
    drop: Annotated[Names, Option(metavar="A,B", help="Columns to leave out, such as identifiers.")] = None,
    text: Annotated[
        Names, Option(metavar="A,B", help="Columns of CSV to read as text, such as codes that begin with 0.")
    ] = None,
    missing: options.MissingWords = None,
    twin: Annotated[
        Literal["auto", "exact", "learned"],
        Option(help="What stands for the model: itself, where it can be read, or a network that learns it."),
    ] = "auto",
    scale: Annotated[
        Literal["auto", "log-odds", "probability"],
        Option(help="Classes: what contributions add up to; auto takes the scale of the model."),
    ] = "auto",
    n_latents: Annotated[
        str, Option(metavar="N|auto", help="Latents; auto: 8, or twice the number of classes.")
    ] = "auto",
    rank: Annotated[str, Option(metavar="N|auto|none", help="For wide data: rank of the maps.")] = "auto",
    effort: Annotated[
        Literal["quick", "standard", "thorough"], Option(help="How much time the fit may take.")
    ] = "standard",
    queries: Annotated[
        str, Option(metavar="N|auto", help="Most made-up rows that a model that is learned is asked about.")
    ] = "auto",
    row_budget: Annotated[
        int | None,
        Option(min=10, help="Most rows to fit on, drawn at random; 200,000 of Parquet by default."),
    ] = None,
    objective: Annotated[
        Literal["pairs", "joint", "co", "so"], Option(help="Training objective of the encoder.")
    ] = "pairs",
    seed: Annotated[int, Option(min=0, help="Equal seeds give equal explainers.")] = 0,
    stored_rows: Annotated[
        str, Option("--rows", metavar="N|all|none", help="Most training rows stored in FILE.illume.")
    ] = "20000",
    question: options.Question,
    unknown: Annotated[Unknown, Option(help="Refuse rows with unseen categories, or accept them.")] = "error",
    labels: options.Labels = None,
    json: options.Json = False,
) -> None:
    """Fit an explainer to a model and write it to a file.

    If the model names its columns, others are left out.

    [b]illume fit loans.csv --target decision --model loans.joblib --trust-model -o loans.illume[/]
    """
    from illume import DataOptions, SurrogateOptions
    from illume.results.dictionary import parse_labels

    surrogate_options = SurrogateOptions(
        objective=objective,
        n_latents=_number_or_word(n_latents, ("auto",), "--n-latents"),
        rank=None if rank == "none" else _number_or_word(rank, ("auto", "none"), "--rank"),
    )
    settings: dict[str, Any] = {
        "twin": twin,
        "scale": scale,
        "queries": _number_or_word(queries, ("auto",), "--queries", least=0),
        "effort": effort,
        "random_state": seed,
        "unknown": unknown,
        "surrogate_options": surrogate_options,
        **vars(question),
    }
    max_stored = _number_or_word(stored_rows, ("all", "none"), "--rows")
    known_labels = parse_labels(labels)
    if model.model is None:
        raise UsageError("which model is to be explained? give it with --model FILE or --model MODULE:NAME")
    require_csv(rows, text, missing)
    require_output(out, (".illume",), rows, model_file(model))
    training = _load_rows(rows, target, drop, text, missing)
    names = split_names(categorical, training.columns)
    require_names(training.columns, names, "--categorical")
    black_box = load_model(model, messages)
    require_features(black_box, training.columns, target)
    used = [str(name) for name in getattr(black_box, "feature_names_in_", training.columns)]
    left_out = {target, *split_names(drop), *training.columns} - set(used)
    data_options = DataOptions(
        row_budget=row_budget,
        task=task,
        link=link,
        output_names=split_names(output_name) or _target_name(black_box, task, target),
    )
    explainer = _fit_explainer(
        black_box,
        training.features,
        f"{training.text(row_budget)} and {count(len(used), 'feature')}",
        messages,
        categorical=[name for name in names if name in used],
        labels={name: each for name, each in known_labels.items() if name not in left_out},
        data_options=data_options,
        **settings,
    )
    explainer.save(out, rows=max_stored, rules=True)
    trust = "" if model_file(model) is None else " --trust-model"
    messages.info(f"Written to {out}; next: illume explain {out} ROWS --model {model.model}{trust}")
    _print_answer(explainer, {"Explainer": str(out), "Model": model.model}, training.n_rows, json=json)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features, as a pandas frame or a source that is read in batches; `most` are fitted on by default."""

    features: Any
    columns: tuple[str, ...]
    n_rows: int
    most: int | None = None

    def text(self, row_budget: int | None) -> str:
        """Say how many rows are fitted on."""
        n = min(row_budget or self.most or self.n_rows, self.n_rows)
        return f"{self.n_rows:,} rows" if n == self.n_rows else f"{n:,} of {self.n_rows:,} rows"


def _load_rows(path: Path, target: str | None, drop: Names, text: Names, missing: Names) -> TrainingRows:
    """Return the features of a file, or of a folder of Parquet files."""
    from illume.data.load_rows import STREAM_ROWS
    from illume.data.row_sources import open_rows

    source = open_rows(path) if is_parquet(path) else None
    frame: Any = None if source else read_rows(path, text=text, missing=missing)
    found = list(source.names if source else frame.columns)
    dropped, texts = split_names(drop, found), split_names(text, found)
    for option, names in (("--drop", dropped), ("--text", texts), ("--target", [target] if target else [])):
        require_names(found, names, option)
    columns = tuple(name for name in found if name not in (*dropped, target))
    if not columns:
        raise UsageError("all columns are left out; keep at least one feature")
    if source:
        return TrainingRows(source.select(columns), columns, source.n_rows or 0, STREAM_ROWS)
    return TrainingRows(frame[list(columns)], columns, len(frame))


def _target_name(model: Any, task: str, target: str | None) -> tuple[str, ...] | None:
    """Return the target as the name of the only number that a model answers with."""
    from illume.data.black_box import is_regressor

    numbers = task == "regression" or (task == "auto" and is_regressor(model))
    return (target,) if target and numbers and getattr(model, "n_outputs_", 1) == 1 else None


def _number_or_word(text: str, words: tuple[str, ...], option: str, least: int = 1) -> Any:
    """Parse an integer of at least `least`, or one of some words.

    >>> _number_or_word("8", ("auto",), "--n-latents"), _number_or_word("auto", ("auto",), "--n-latents")
    (8, 'auto')
    """
    if text in words:
        return text
    if not text.isdecimal() or int(text) < least:
        expected = f"{' or '.join(words)} or a whole number from {least}"
        raise UsageError(f"{option} must be {expected}, found {text!r}")
    return int(text)


def _fit_explainer(model: Any, rows: Any, about: str, messages: Messages, **settings: Any) -> Explainer:
    from illume import Explainer

    explainer = Explainer(model, verbose=False if messages.quiet else None, **settings)
    messages.info(f"Fitting the explainer on {about} …")
    explainer.fit(rows)
    # In a notebook, the best so far is useful; here the user wants to stop.
    if explainer.quality_.interrupted:
        raise KeyboardInterrupt
    if not explainer.fitted_.monotony:
        explainer.fit_latents()
        if getattr(explainer.history_, "interrupted", False):
            raise KeyboardInterrupt
        explainer.fit_rules()
    return explainer


def _print_answer(explainer: Explainer, files: dict[str, str], n_rows: int, *, json: bool) -> None:
    rule_quality = explainer.fitted_.rule_quality
    if not json:
        lines = "\n".join(f"{f'{name}:':<10} {path}" for name, path in files.items())
        rules = f"{rule_quality}\n\n" if rule_quality else ""
        show(f"{explainer.quality_}\n\n{rules}{lines}")
        return
    outputs = explainer.fitted_.outputs
    summary = {
        **{name.lower(): path for name, path in files.items()},
        "n_rows": n_rows,
        "features": list(explainer.schema_.names),
        "task": outputs.task,
        outputs.members: list(outputs.names),
        "quality": explainer.quality_.to_dict(),
        "rule_quality": rule_quality and rule_quality.to_dict(),
    }
    print_json(summary)
