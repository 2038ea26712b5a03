"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from typer import Argument, Context, Option

from illume.cli.messages import Messages, UsageError

Unknown = Literal["error", "ignore"]
Names = list[str] | None

ExplainerFile = Annotated[Path, Argument(metavar="EXPLAINER", help="File written by `illume fit`.")]
Rows = Annotated[Path, Argument(metavar="ROWS", help="CSV or Parquet file of rows (- reads CSV from stdin).")]
Model = Annotated[
    Path | None,
    Option("--model", metavar="FILE", help="The model, saved by joblib (needs --trust-model) or skops."),
]
TrustModel = Annotated[
    bool, Option("--trust-model", help="Load a model whose file runs code: you trust who made it.")
]
UnknownCategories = Annotated[
    Unknown | None,
    Option(help="Categories not seen in the fit: refuse them, or treat them as none of the known ones."),
]
PositiveClass = Annotated[
    str | None,
    Option(metavar="CLASS", help="The class that explanations are for; the second of two by default."),
]
Threshold = Annotated[
    float | None,
    Option(metavar="P", help="Two classes: decide for the positive one from this probability on."),
]
MissingWords = Annotated[
    Names,
    Option(
        metavar="A,B", help="Words in CSV for a missing value; '' for none. By default as in `illume fit`."
    ),
]
Labels = Annotated[
    Path | None,
    Option(metavar="FILE", help="Labels and units of columns, labels of values: a CSV or JSON file."),
]
Vary = Annotated[Names, Option(metavar="A,B", help="Counterfactuals: columns that may change.")]
Immutable = Annotated[Names, Option(metavar="A,B", help="Counterfactuals: columns that may not change.")]
Direction = Annotated[
    Names,
    Option(
        metavar="A=up,B=down",
        help="Counterfactuals: directions of change; of categories, their order: A=low<middle<high.",
    ),
]
Desired = Annotated[
    str | None, Option(metavar="CLASS", help="Counterfactuals: the class to reach; any other by default.")
]
DesiredRange = Annotated[
    str | None,
    Option(metavar="LOW,HIGH", help="Counterfactuals: numbers to reach; an end may be left out."),
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]


def start(context: Context, quiet: bool, debug: bool) -> Messages:
    """Return the messages of this run."""
    messages = cast(Messages, context.obj)
    messages.quiet, messages.debug = quiet, debug
    return messages


def split_names(values: Iterable[str] | None, columns: Sequence[str] = ()) -> tuple[str, ...]:
    """Split comma-separated names; a column may itself hold a comma.

    >>> split_names(["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    names: list[str] = []
    for value in values or ():
        names += [value] if value in columns else [part.strip() for part in value.split(",") if part.strip()]
    return tuple(dict.fromkeys(names))


def parse_range(text: str | None) -> list[float | None] | None:
    """Parse the ends of a range, None for one that is left out.

    >>> parse_range("200000,"), parse_range("-1.5, 3")
    ([200000.0, None], [-1.5, 3.0])
    """
    if text is None:
        return None
    try:
        low, high = (float(end) if end.strip() else None for end in text.split(","))
    except ValueError:
        raise UsageError(f"--desired-range must be LOW,HIGH, such as 200000,250000, found {text!r}") from None
    return [low, high]


def parse_directions(values: Names) -> dict[str, str | list[str]] | None:
    """Parse directions of columns, or the order of their categories.

    >>> parse_directions(["age=up,debt=down", "school=low<high"])
    {'age': 'up', 'debt': 'down', 'school': ['low', 'high']}
    """
    if not values:
        return None
    found: dict[str, str | list[str]] = {}
    for each in split_names(values):
        name, equals, way = each.rpartition("=")
        if not equals:
            raise UsageError(f"--direction must be COLUMN=up or COLUMN=down, found {each!r}")
        order = [part.strip() for part in way.split("<")]
        found[name.strip()] = order if len(order) > 1 else order[0]
    return found


def search_options(
    desired: str | None, desired_range: str | None, vary: Names, immutable: Names, direction: Names
) -> dict[str, Any]:
    """Return the options of counterfactuals that were given.

    >>> search_options("yes", None, None, ["age"], ["debt=down"])
    {'desired_class': 'yes', 'immutable': ['age'], 'direction': {'debt': 'down'}}
    """
    options = {
        "desired_class": desired,
        "desired_range": parse_range(desired_range),
        "features_to_vary": vary,
        "immutable": immutable,
        "direction": parse_directions(direction),
    }
    return {name: value for name, value in options.items() if value}


def split_columns(arguments: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Split the names of columns that may change, or may not."""
    given = [name for name in ("features_to_vary", "immutable") if name in arguments]
    return arguments | {name: list(split_names(arguments[name], columns)) for name in given}
