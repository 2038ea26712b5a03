"""`illume fit`: fit an explainer to a model and rows in files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from typer import Argument, Context, Option

from illume.cli import options
from illume.cli.load import flag_question, load_model, model_path, require_features, write_model
from illume.cli.messages import Messages, UsageError, show
from illume.cli.options import Names, Unknown, split_names
from illume.cli.output import print_json, require_output
from illume.cli.read_rows import MISSING, CsvOptions, require_csv, require_names

if TYPE_CHECKING:
    from illume import Explainer
    from illume.cli.targets import Score, Target
    from illume.cli.train import TrainingRows


@dataclass(frozen=True)
class Asked:
    """What the user says about the model's answers."""

    target: str | None
    task: str
    link: str
    names: tuple[str, ...]

    def check(self) -> Self:
        """Raise if options of numbers are given for classes."""
        given = {"--link": self.link != "identity", "--output-name": bool(self.names)}
        for option, is_given in given.items():
            if is_given and self.task == "classification":
                raise UsageError(f"{option} is for models that answer with numbers; this one has classes")
        return self

    def for_model(self, model: Any) -> dict[str, Any]:
        """Return the options of an explainer; the only number that a model answers is named by the target."""
        from sklearn.base import is_regressor

        classes = self.task == "auto" and hasattr(model, "predict_proba")
        asked = replace(self, task="classification") if classes else self
        names: Any = asked.check().names
        numbers = self.task == "regression" or (hasattr(model, "__sklearn_tags__") and is_regressor(model))
        if not names and numbers and self.target is not None and getattr(model, "n_outputs_", 1) == 1:
            names = (self.target,)
        return {"task": self.task, "link": self.link, "output_names": names or None}


def fit(
    context: Context,
    train: Annotated[
        Path, Argument(metavar="TRAIN", help="CSV or Parquet file, or folder of Parquet files.")
    ],
    *,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE.illume", help="File to write or replace.")],
    target: Annotated[
        str | None, Option(metavar="COL", help="Column of classes or numbers; not a feature.")
    ] = None,
    model: options.Model = None,
    trainer: Annotated[
        Literal["gbm"] | None, Option("--train", help="Train a model, and write it to FILE.model.joblib.")
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
    text: Annotated[Names, Option(metavar="A,B", help="Columns of CSV to read as text.")] = None,
    number: Annotated[Names, Option(metavar="A,B", help="Columns of CSV with numbers such as 007.")] = None,
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
    positive_class: options.PositiveClass = None,
    threshold: options.Threshold = None,
    unknown: Annotated[Unknown, Option(help="Refuse rows with unseen categories, or accept them.")] = "error",
    labels: options.Labels = None,
    trust_model: options.TrustModel = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Fit an explainer to a model and write it to a file.

    The model is yours (--model) or trained here (--train gbm).

    If the model names its columns, others are left out.

    [b]illume fit loans.csv --target decision --train gbm -o loans.illume[/]
    """
    from illume import DataOptions, SurrogateOptions
    from illume.cli.targets import parse_target
    from illume.cli.train import load_training_rows
    from illume.results.dictionary import parse_labels

    messages = options.start(context, quiet, debug)
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
        "labels": parse_labels(labels),
        "positive_class": positive_class,
        "threshold": threshold,
        "surrogate_options": surrogate_options,
    }
    max_stored = _number_or_word(stored_rows, ("all", "none"), "--rows")
    _require_model_source(model, trainer, target)
    asked = Asked(target, task, link, split_names(output_name)).check()
    require_csv(train, text, number, missing)
    require_output(out, (".illume",), train, model)
    words = MISSING if missing is None else split_names(missing)
    csv = CsvOptions(tuple(text or ()), tuple(number or ()), words)
    sizes: dict[str, Any] = {"row_budget": row_budget, "seed": seed, "in_memory": model is None}
    rows = load_training_rows(train, target, drop, csv=csv, messages=messages, **sizes)
    names, left_out = split_names(categorical, rows.columns), (target, *split_names(drop))
    settings["labels"] = {name: each for name, each in settings["labels"].items() if name not in left_out}
    require_names(rows.columns, names, "--categorical")
    score, model_file = None, model or model_path(out)
    if model is not None:
        black_box = load_model(model, messages, trust_model)
        require_features(black_box, rows.columns, target)
    else:
        known = parse_target(rows.target, task, link)
        asked = replace(asked, task=known.task).check()
        black_box, score = _train_model(rows, known, names, seed, messages)
        write_model(black_box, model_file, messages)
    settings["data_options"] = DataOptions(row_budget=row_budget, **asked.for_model(black_box))
    explainer = _fit_explainer(black_box, rows, names, messages, **settings)
    if missing is not None:  # rows to explain are then read in the same way
        explainer.fitted_ = replace(explainer.fitted_, missing_words=words)
    explainer.save(out, rows=max_stored, rules=True)
    messages.info(f"Written to {out}; next: illume explain {out} ROWS --model {model_file} --trust-model")
    _print_answer(explainer, {"Explainer": out, "Model": model_file}, score, rows.n_rows, json=json)


def _require_model_source(model: Path | None, trainer: str | None, target: str | None) -> None:
    if model is None and trainer is None:
        raise UsageError(
            "which model? give yours with --model FILE, or let illume train one with --train gbm"
        )
    if model is not None and trainer is not None:
        raise UsageError("--model gives a model and --train trains one; use one of the two")
    if trainer is not None and target is None:
        raise UsageError("--train needs --target, the column of classes or numbers")


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


def _train_model(
    rows: TrainingRows, target: Target, categorical: tuple[str, ...], seed: int, messages: Messages
) -> tuple[Any, Score]:
    from illume.cli.train import train_gbm
    from illume.data.schema import Schema

    schema = Schema.infer(rows.features, categorical)
    names = [feature.name for feature in schema.features if not feature.numeric]
    messages.info(f"Training a {target} (to choose: --task)")
    model, score = train_gbm(rows.features, target, names, seed)
    messages.info(f"Model: gradient boosting, {score}; then trained on all {rows.n_rows:,} rows")
    return model, score


def _fit_explainer(
    model: Any, rows: TrainingRows, categorical: tuple[str, ...], messages: Messages, **settings: Any
) -> Explainer:
    from illume import Explainer

    used = [str(name) for name in getattr(model, "feature_names_in_", rows.columns)]
    unused = set(rows.columns) - set(used)
    settings |= {
        "categorical": [name for name in categorical if name in used],
        "labels": {name: each for name, each in settings["labels"].items() if name not in unused},
    }
    explainer = Explainer(model, verbose=False if messages.quiet else None, **settings)
    messages.info(f"Fitting the explainer on {rows} and {len(used)} features …")
    try:
        explainer.fit(rows.features)
    except ValueError as error:
        if "positive_class" in str(error) or "threshold" in str(error):
            raise UsageError(flag_question(str(error))) from None
        raise
    # In a notebook, the best so far is useful; here the user wants to stop.
    if explainer.quality_.interrupted:
        raise KeyboardInterrupt
    if not explainer.fitted_.monotony:
        explainer.fit_latents()
        if getattr(explainer.history_, "interrupted", False):
            raise KeyboardInterrupt
        explainer.fit_rules()
    return explainer


def _print_answer(
    explainer: Explainer, files: dict[str, Path], score: Score | None, n_rows: int, *, json: bool
) -> None:
    rule_quality = explainer.fitted_.rule_quality
    if not json:
        lines = "\n".join(f"{f'{name}:':<10} {path}" for name, path in files.items())
        rules = f"{rule_quality}\n\n" if rule_quality else ""
        show(f"{explainer.quality_}\n\n{rules}{lines}")
        return
    outputs = explainer.fitted_.outputs
    summary = {
        **{name.lower(): str(path) for name, path in files.items()},
        "model_score": score and asdict(score),
        "n_rows": n_rows,
        "features": list(explainer.schema_.names),
        "task": outputs.task,
        outputs.members: list(outputs.names),
        "quality": explainer.quality_.to_dict(),
        "rule_quality": rule_quality and rule_quality.to_dict(),
    }
    print_json(summary)
