"""`illume fit`: from a file of rows and a model to an explainer in a file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from illume.cli.errors import UsageError
from illume.cli.learning import Learning, rows_to_learn
from illume.cli.models import load_model, require_features, save_model
from illume.cli.options import (
    Debug,
    Json,
    MissingWords,
    Quiet,
    TrustModel,
    Unknown,
    listed,
    voice_of,
    words_of,
)
from illume.cli.planning import Plan
from illume.cli.reading import require_names
from illume.cli.voice import Voice
from illume.cli.writing import answer, as_json


class Trainer(StrEnum):
    """A model that illume can train by itself."""

    GBM = "gbm"


class EffortName(StrEnum):
    """How much time a fit may take."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


class ObjectiveName(StrEnum):
    """What the explainer's network is trained for."""

    ALIGNED = "aligned"
    JOINT = "joint"
    CO = "co"
    SO = "so"


@dataclass(frozen=True, eq=False)
class Fitted:
    """An explainer in its file, and how good it is."""

    explainer: Any
    out: Path
    model_file: Path
    score: Any
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; what could not be measured is NaN."""
        return {
            "explainer": str(self.out),
            "model": str(self.model_file),
            "model_score": None if self.score is None else self.score.to_dict(),
            "n_rows": self.n_rows,
            "features": list(self.explainer.schema_.names),
            "classes": list(self.explainer.class_names_),
            "quality": self.explainer.quality_.to_dict(),
            "rule_quality": self.explainer.rule_quality_.to_dict(),
        }

    def __str__(self) -> str:
        parts = [str(self.explainer.quality_), str(self.explainer.rule_quality_)]
        return "\n\n".join([*parts, f"Explainer: {self.out}\nModel:     {self.model_file}"])


def fit(plan: Plan, voice: Voice) -> Fitted:
    """Read the rows, load or train the model, fit the explainer and write it."""
    from illume.data.checkpoints import lock_folder

    plan.check()
    wish = (plan.train, plan.target, plan.drop, plan.row_budget, plan.seed)
    learning = rows_to_learn(*wish, reading=plan.reading, whole=plan.trainer is not None, voice=voice)
    categorical = listed(plan.categorical, list(learning.columns))
    require_names(learning.columns, categorical, "--categorical")
    with nullcontext() if plan.checkpoints is None else lock_folder(plan.checkpoints):
        return _fitted(learning, categorical, plan, voice)


def _fitted(learning: Learning, categorical: tuple[str, ...], plan: Plan, voice: Voice) -> Fitted:
    """Do what is to be done before checkpoints can go: they are this command's as long as it runs."""
    if plan.model is not None:
        model, score, model_file = load_model(plan.model, voice, plan.trusted), None, plan.model
        require_features(model, list(learning.columns), plan.target)
    else:
        model, score = _trained(learning, categorical, plan, voice)
        model_file = plan.model_out
    explainer = _explainer(model, learning, categorical, plan, voice)
    if plan.missing is not None:
        # rows to explain are then read with the same missing words
        explainer.fitted_ = replace(explainer.fitted_, missing_words=plan.missing)
    explainer.save(plan.out, rows=plan.held)
    if explainer.stages_ is not None:
        explainer.stages_.remove()
    voice.say(f"Written to {plan.out}; next: illume explain {plan.out} ROWS --model {model_file}")
    return Fitted(explainer, plan.out, model_file, score, learning.n_rows)


def _trained(learning: Learning, categorical: tuple[str, ...], plan: Plan, voice: Voice) -> tuple[Any, Any]:
    """Train a model, write it, and say how good it is."""
    from illume.cli.gbm import train
    from illume.data.schema import Schema

    rows = learning.rows
    schema = Schema.infer(rows, categorical)
    trained = train(rows, learning.target, [f.name for f in schema.features if not f.numeric], plan.seed)
    voice.say(f"Model: gradient boosting, {trained.score}; then trained on all {len(rows):,} rows")
    save_model(trained.model, plan.model_out)
    voice.say(f"Model written to {plan.model_out}")
    return trained.model, trained.score


def _explainer(model: Any, learning: Learning, categorical: tuple[str, ...], plan: Plan, voice: Voice) -> Any:
    from illume import Checkpoints, DataOptions, Explainer, SurrogateOptions

    used = [str(name) for name in getattr(model, "feature_names_in_", learning.columns)]
    explainer = Explainer(
        model,
        categorical=[name for name in categorical if name in used],
        queries=plan.queries,
        effort=plan.effort,
        surrogate_options=SurrogateOptions(
            objective=plan.objective, n_latents=plan.n_latents, rank=plan.rank
        ),
        data_options=DataOptions(row_budget=plan.row_budget),
        random_state=plan.seed,
        unknown=plan.unknown,
        # Kept until the explainer is written, too.
        checkpoint_dir=plan.checkpoints and Checkpoints(plan.checkpoints, keep=True),
        verbose=False if voice.quiet else None,
    )
    voice.say(f"Fitting the explainer on {learning.described} and {len(used)} features …")
    for train in (lambda: explainer.fit(learning.rows), explainer.fit_rules):
        train()
        if explainer._interrupted:  # in a notebook the best so far is of use; a script must not go on with it
            raise KeyboardInterrupt
    return explainer


def number_or(text: str, words: tuple[str, ...], option: str, least: int = 1) -> int | str:
    """Read a whole number from `least` on, or one of some words.

    >>> number_or("8", ("auto",), "--n-latents"), number_or("auto", ("auto",), "--n-latents")
    (8, 'auto')
    """
    if text in words:
        return text
    if not text.isdecimal() or int(text) < least:
        said = f"{' or '.join(words)} or a whole number from {least}"
        raise UsageError(f"{option} must be {said}, found {text!r}")
    return int(text)


def command(
    context: typer.Context,
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN", help="CSV or Parquet file, or folder of Parquet files, to learn from."
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE.illume", help="Where to write; replaced if it exists."),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of classes; it is no feature. --train needs it.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your model, saved by joblib. [b]Loading it runs code in it.[/]"),
    ] = None,
    trainer: Annotated[
        Trainer | None,
        typer.Option("--train", help="Train a model instead, and write it to FILE.model.joblib."),
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Columns whose numbers are codes of categories.")
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns to leave out, such as names and numbers of rows."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Columns of CSV to read as text, not as numbers.")
    ] = None,
    number: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns of CSV to read as numbers though zeros lead, as in 007."),
    ] = None,
    missing: MissingWords = None,
    n_latents: Annotated[
        str, typer.Option(metavar="N|auto", help="Latents of the explainer; auto tries 4, 8 and 16.")
    ] = "auto",
    rank: Annotated[
        str,
        typer.Option(
            metavar="N|auto|none",
            help="For wide data: rank of what differs in the maps of rows; none keeps them whole.",
        ),
    ] = "auto",
    effort: Annotated[
        EffortName, typer.Option(help="How much time the fit may take to come close to the model.")
    ] = EffortName.STANDARD,
    queries: Annotated[
        str,
        typer.Option(
            metavar="N|auto", help="Most made-up rows that the model is asked about; auto goes by its speed."
        ),
    ] = "auto",
    row_budget: Annotated[
        int | None,
        typer.Option(min=10, help="Most rows to learn from, drawn at random; of Parquet files 200,000."),
    ] = None,
    objective: Annotated[
        ObjectiveName, typer.Option(help="What the explainer is trained for.")
    ] = ObjectiveName.ALIGNED,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal explainers.")] = 0,
    held: Annotated[
        str,
        typer.Option("--rows", metavar="N|all|none", help="Training rows that FILE.illume holds at most."),
    ] = "20000",
    unknown: Annotated[
        Unknown,
        typer.Option(
            help="Rows with a category not seen here: refuse them, or take it as none of the known."
        ),
    ] = Unknown.ERROR,
    checkpoint_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write down what is done; if killed, run the same command again."),
    ] = None,
    trust_model: TrustModel = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fit an explainer to a model and write it to a file.

    The model is yours (--model) or trained here (--train gbm).

    Columns that the model does not use are left out where it says which it uses.

    [b]illume fit loans.csv --target decision --train gbm -o loans.illume[/]
    """
    voice = voice_of(context, quiet, debug)
    plan = Plan(
        train=train,
        out=out,
        target=target,
        model=model,
        trainer=trainer,
        trusted=trust_model,
        categorical=tuple(categorical or ()),
        drop=tuple(drop or ()),
        text=tuple(text or ()),
        number=tuple(number or ()),
        missing=words_of(missing),
        n_latents=number_or(n_latents, ("auto",), "--n-latents"),
        rank=None if rank == "none" else number_or(rank, ("auto", "none"), "--rank"),
        queries=number_or(queries, ("auto",), "--queries", least=0),
        effort=effort.value,
        objective=objective.value,
        seed=seed,
        unknown="ignore" if unknown is Unknown.IGNORE else "error",
        row_budget=row_budget,
        held=number_or(held, ("all", "none"), "--rows"),
        checkpoints=checkpoint_dir,
    )
    fitted = fit(plan, voice)
    answer(as_json(fitted.to_dict(), indent=2) if json else str(fitted))
