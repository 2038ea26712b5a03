"""Options that several commands share; those of rules and counterfactuals are named as in the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_type_hints

from typer import Argument, Context, Option

from illume.cli.messages import Messages, UsageError

Unknown = Literal["error", "ignore"]
Names = list[str] | None

ExplainerFile = Annotated[Path, Argument(metavar="EXPLAINER", help="File written by `illume fit`.")]
Rows = Annotated[Path, Argument(metavar="ROWS", help="CSV or Parquet file of rows (- reads CSV from stdin).")]
UnknownCategories = Annotated[
    Unknown | None,
    Option(help="Categories not seen in the fit: refuse them, or treat them as none of the known ones."),
]
MissingWords = Annotated[
    Names, Option(metavar="A,B", help="Words of CSV for a missing value; '' for none. By default NA, NaN, ….")
]
Labels = Annotated[
    Path | None,
    Option(metavar="FILE", help="Labels and units of columns, labels of values: a CSV or JSON file."),
]
Threshold = Annotated[
    float | None,
    Option(
        metavar="P",
        help="Two classes: decide for the positive one from this probability on. Numbers: rules for a side "
        "of it, counterfactuals that cross it.",
    ),
]
Output = Annotated[
    str | None, Option(metavar="NAME", help="Rules and counterfactuals: which of several numbers.")
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]


@dataclass(frozen=True)
class Model:
    """The model to explain."""

    model: Annotated[
        str | None,
        Option(
            "--model",
            metavar="FILE|MODULE:NAME",
            help="The model: a file saved by joblib (needs --trust-model) or skops, or a name in a module.",
        ),
    ] = None
    trust_model: Annotated[
        bool, Option("--trust-model", help="Load a model whose file runs code: you trust who made it.")
    ] = False


@dataclass(frozen=True)
class Question:
    """The positive class and the threshold that explanations are for."""

    positive_class: Annotated[
        str | None,
        Option(metavar="CLASS", help="The class that explanations are for; the second of two by default."),
    ] = None
    threshold: Threshold = None


class Arguments:
    """Options of a method of the library, by their names there."""

    def given(self) -> dict[str, Any]:
        """Return those that were given."""
        return {name: value for name, value in vars(self).items() if value is not None and value != []}


@dataclass(frozen=True)
class AttributionOptions(Arguments):
    """Options of attributions."""

    refine: Annotated[int | None, Option(min=1, help="Attributions: more model queries per row.")] = None
    threshold: Threshold = None


@dataclass(frozen=True)
class RuleOptions(Arguments):
    """Options of `Explainer.rules`."""

    precision: Annotated[
        float | None, Option(min=0.0, max=1.0, help="Rules: desired precision (0.95 by default).")
    ] = None
    max_conditions: Annotated[int | None, Option(min=1, help="Rules: most conditions.")] = None
    interval: Annotated[
        float | None,
        Option(min=0.5, max=1.0, help="Rules on numbers: share that their interval holds (0.9 by default)."),
    ] = None
    threshold: Threshold = None
    output: Output = None


@dataclass(frozen=True)
class Wishes(Arguments):
    """Options of `Explainer.counterfactuals` that pages take, too."""

    desired_class: Annotated[
        str | None,
        Option(
            "--desired", metavar="CLASS", help="Counterfactuals: the class to reach (default: any other)."
        ),
    ] = None
    desired_range: Annotated[
        str | None,
        Option(metavar="LOW,HIGH", help="Counterfactuals: numbers to reach; an end may be left out."),
    ] = None
    features_to_vary: Annotated[
        Names, Option("--vary", metavar="A,B", help="Counterfactuals: columns that may change.")
    ] = None
    immutable: Annotated[
        Names, Option(metavar="A,B", help="Counterfactuals: columns that may not change.")
    ] = None
    direction: Annotated[
        Names,
        Option(
            metavar="A=up,B=down",
            help="Counterfactuals: directions of change; of categories, their order: A=low<middle<high.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return those that were given, parsed.

        >>> Wishes("yes", immutable=["age"], direction=["debt=down"]).given()
        {'desired_class': 'yes', 'immutable': ['age'], 'direction': {'debt': 'down'}}
        """
        given = super().given()
        parsed: dict[str, Callable[[Any], Any]]
        parsed = {"desired_range": parse_range, "direction": parse_directions}
        return given | {name: parse(given[name]) for name, parse in parsed.items() if name in given}


@dataclass(frozen=True)
class CounterfactualOptions(Wishes):
    """Options of `Explainer.counterfactuals`."""

    n: Annotated[int | None, Option("-n", min=1, help="Counterfactuals per row (3 by default).")] = None
    max_changes: Annotated[int | None, Option(min=1, help="Counterfactuals: most columns to change.")] = None
    desired_change: Annotated[
        float | None, Option(help="Counterfactuals: by how much the number should rise, or fall.")
    ] = None
    threshold: Threshold = None
    output: Output = None


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer, in which each parameter that is a dataclass is an option for each field.

    The command is called with its messages first; it has the options --quiet and --debug.
    """
    _, *parameters = signature(command, eval_str=True).parameters.values()
    kinds: dict[str, Any] = {each.name: each.annotation for each in parameters}
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    options: dict[str, Parameter] = {}
    for each in parameters:
        found = _options(each.annotation) if each.name in groups else [each]
        options |= {option.name: option.replace(kind=Parameter.KEYWORD_ONLY) for option in found}

    @wraps(command)
    def run(context: Context, *, quiet: bool, debug: bool, **given: Any) -> None:
        messages = cast(Messages, context.obj)
        messages.quiet, messages.debug = quiet, debug
        made = {each.name: given[each.name] for each in parameters if each.name not in groups}
        for name, group in groups.items():
            made[name] = group(**{each.name: given[each.name] for each in fields(group)})
        command(messages, **made)

    common = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("quiet", Quiet), ("debug", Debug))
    ]
    first = Parameter("context", Parameter.KEYWORD_ONLY, annotation=Context)
    run.__signature__ = Signature([first, *options.values(), *common])  # type: ignore[attr-defined]
    return run


def _options(group: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


def split_names(values: Iterable[str] | None, columns: Sequence[str] = ()) -> tuple[str, ...]:
    """Split comma-separated names; a column may itself hold a comma.

    >>> split_names(["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    names: list[str] = []
    for value in values or ():
        names += [value] if value in columns else [part.strip() for part in value.split(",") if part.strip()]
    return tuple(dict.fromkeys(names))


def split_columns(arguments: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Split the names of columns that may change, or may not."""
    given = [name for name in ("features_to_vary", "immutable") if name in arguments]
    return arguments | {name: list(split_names(arguments[name], columns)) for name in given}


def parse_range(text: str) -> list[float | None]:
    """Parse the ends of a range, None for one that is left out.

    >>> parse_range("200000,"), parse_range("-1.5, 3")
    ([200000.0, None], [-1.5, 3.0])
    """
    try:
        low, high = (float(end) if end.strip() else None for end in text.split(","))
    except ValueError:
        raise UsageError(f"--desired-range must be LOW,HIGH, such as 200000,250000, found {text!r}") from None
    return [low, high]


def parse_directions(values: list[str]) -> dict[str, str | list[str]]:
    """Parse directions of columns, or the order of their categories.

    >>> parse_directions(["age=up,debt=down", "school=low<high"])
    {'age': 'up', 'debt': 'down', 'school': ['low', 'high']}
    """
    found: dict[str, str | list[str]] = {}
    for each in split_names(values):
        name, equals, way = each.rpartition("=")
        if not equals:
            raise UsageError(f"--direction must be COLUMN=up or COLUMN=down, found {each!r}")
        order = [part.strip() for part in way.split("<")]
        found[name.strip()] = order if len(order) > 1 else order[0]
    return found
