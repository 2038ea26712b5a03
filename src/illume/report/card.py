"""The model card: data, settings, versions, and what this cannot do."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from illume.data.schema import Feature, Schema
from illume.explanations.fitted import Fitted
from illume.report.explained import Explained
from illume.report.words import count, figure
from illume.results.quality import UNKNOWN, Quality
from illume.results.text import format_value

PACKAGES = ("illume", "numpy", "scikit-learn", "torch", "narwhals")
LEFT_OUT = {"checkpoint_dir", "model", "schema", "verbose"}
SHOWN_CATEGORIES = 12

OF_PULLBACK = (
    "Everything here is about the surrogate's log-odds, not about the model's inner workings. Where the "
    "surrogate answers like the model, its reasons are a good guess at the model's; they are never a proof.",
    "A contribution says what moved the surrogate's answer, not what causes the outcome in the world.",
)
OF_SHAPLEY = (
    "Contributions are estimates of interventional Shapley values of the model's log-odds: what the model "
    "answers "
    "when features of a row are replaced by those of other rows, whether or not such rows occur.",
    "Rules, slopes and the map of rows are about the surrogate, not about the model's inner workings.",
    "A contribution says what moved the model's answer, not what causes the outcome in the world.",
)
LIMITS = (
    "Among features that go together, contributions can be shared out in several ways that fit equally well.",
    "Trust figures were measured on rows kept aside from the data the explainer was fitted with. Rows of "
    "another kind, from another time or place, are not covered by them.",
    "Counterfactual examples were all put to the model. They change features one by one and know nothing of "
    "what a person could change.",
    "Whether the model itself is right, or fair, is not judged here.",
)


@dataclass(frozen=True)
class Group:
    """Some facts under one heading."""

    name: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FeatureLine:
    """A feature, its kind, and its range or values in the data the explainer was fitted with."""

    name: str
    kind: str
    range: str


@dataclass(frozen=True)
class Card:
    """All groups of facts, the features, and the known limits."""

    groups: tuple[Group, ...]
    features: tuple[FeatureLine, ...]
    limits: tuple[str, ...]


def card(fitted: Fitted, parameters: Mapping[str, Any], explained: Explained, date: str) -> Card:
    """Collect the facts behind a report."""
    groups = (
        _data(fitted, parameters["model"], explained),
        _quality(fitted),
        _settings(parameters),
        _versions(date),
    )
    limits = OF_SHAPLEY if explained.attributions.kind == "shapley" else OF_PULLBACK
    return Card(groups, tuple(map(_feature, fitted.schema.features)), limits + LIMITS)


def model_name(model: Any) -> str:
    """Return what to call the black box: its class, the last step of a Pipeline, or the function.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model_name(LogisticRegression()), model_name(len)
    ('a LogisticRegression', 'the function len')
    """
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        last = type(steps[-1][1]).__name__
        return (
            f"{_article(last)} {last} (the last of {count(len(steps), 'step')} of a {type(model).__name__})"
        )
    if hasattr(model, "predict_proba") or not hasattr(model, "__name__"):
        name = type(model).__name__
        return f"{_article(name)} {name}"
    return f"the function {model.__name__}"


def _article(name: str) -> str:
    return "an" if name[:1].upper() in "AEIOU" or name.startswith(("XGB", "LGBM")) else "a"


def _data(fitted: Fitted, model: Any, explained: Explained) -> Group:
    quality, schema = fitted.quality, fitted.schema
    rows = count(explained.n_shown, "row")
    if explained.n_shown < explained.n_given:
        rows += f", evenly spaced, of {explained.n_given:,} given"
    return Group(
        "Data",
        (
            ("Model", model_name(model)),
            ("Rows in this report", rows),
            ("Rows with counterfactuals searched", f"{len(explained.searched):,}"),
            ("Features", f"{len(schema)} ({_kinds(schema)})"),
            ("Classes", ", ".join(fitted.class_names)),
            ("Rows the explainer learned from", f"{quality.n_training:,}"),
            *([] if quality.sampling is None else [("Rows drawn", str(quality.sampling))]),
            ("Rows that made choices", f"{quality.n_validation:,}"),
            ("Rows kept aside to measure trust", f"{quality.report.n_rows:,}"),
            ("Made-up rows put to the model to learn", f"{quality.n_queries:,}"),
            ("Rows the model answered while fitting", f"{quality.n_asked:,}"),
        ),
    )


def _kinds(schema: Schema) -> str:
    kinds = [feature.kind.value for feature in schema.features]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _quality(fitted: Fitted) -> Group:
    quality, rules = fitted.quality, fitted.rule_quality
    low, high = quality.report.interval
    worst = quality.worst
    facts = [
        *_contributions(quality),
        (
            "Agreement of decisions",
            f"{figure(quality.agreement)} ({figure(low)} to {figure(high)}, 95 % interval)",
        ),
        ("Always the most common decision", figure(quality.majority)),
        *(
            []
            if worst is None
            else [("Lowest agreement of a class", f"{figure(worst.agreement)} ({worst.name})")]
        ),
        ("R² of probabilities", figure(quality.r2)),
        (
            "One linear model for all rows",
            f"{figure(quality.baseline.agreement)}, R² {figure(quality.baseline.r2)}",
        ),
        (
            "Surrogate",
            "fell back to the global one" if quality.fell_back else f"{quality.encoder} encoder",
        ),
        ("Latents", f"{quality.n_latents}"),
        ("Chosen because", quality.reason),
    ]
    if rules is not None:
        facts += [
            (
                "Mean precision of rules",
                f"{figure(rules.precision)} on {count(rules.n_rows, 'row')} kept aside",
            ),
            ("Mean coverage of rules", figure(rules.coverage)),
            (
                "Rules come from",
                f"the {rules.source} tree of {count(rules.n_leaves, 'leaf').replace('leafs', 'leaves')}",
            ),
        ]
    return Group("Quality", tuple(facts))


def _contributions(quality: Quality) -> list[tuple[str, str]]:
    """Return what is known of how true contributions are."""
    found = quality.contributions
    if found is None:
        return [("R² of contributions", "not measured: they are the surrogate's")]
    if found.word == UNKNOWN:
        return [("R² of contributions", "not measured: too few rows or queries")]
    facts = [
        (
            "R² of contributions",
            f"{figure(found.r2)} ({figure(found.low)} to {figure(found.high)}, 95 % interval), on "
            f"{count(found.n_rows, 'row')} kept aside",
        ),
        ("Typical error of a contribution", f"{figure(found.error)} in log-odds"),
        ("Coverage of their 95 % intervals", figure(found.coverage)),
    ]
    return facts + [("Ignored by the model", ", ".join(quality.ignored))] * bool(quality.ignored)


def _settings(settings: Mapping[str, Any]) -> Group:
    facts = [(name, setting_text(value)) for name, value in sorted(settings.items()) if name not in LEFT_OUT]
    return Group("Settings", tuple(facts))


def setting_text(value: Any) -> str:
    """Return a setting as text that is the same in every process; of an object, what is not default.

    >>> setting_text("auto"), setting_text(None), setting_text(("a", 1)), setting_text(object())
    ('auto', 'default', 'a, 1', 'object')
    """
    if value is None:
        return "default"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(setting_text, value)) or "none"
    if isinstance(value, (str, int, float)):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        own = [f for f in fields(value) if getattr(value, f.name) != f.default]
        inside = ", ".join(f"{f.name}={setting_text(getattr(value, f.name))}" for f in own)
        return f"{type(value).__name__}({inside})"
    return str(getattr(value, "__name__", type(value).__name__))


def _versions(date: str) -> Group:
    versions = [(package, package_version(package)) for package in PACKAGES]
    return Group("Made with", (("Date", date), ("Python", platform.python_version()), *versions))


def package_version(package: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:  # put on the path by hand
        return "unknown"


def _feature(feature: Feature) -> FeatureLine:
    return FeatureLine(feature.name, feature.kind.value, _range(feature))


def _range(feature: Feature) -> str:
    if feature.numeric:
        return f"{format_value(feature.low)} to {format_value(feature.high)}"
    shown = ", ".join(feature.labels[:SHOWN_CATEGORIES])
    others = len(feature.labels) - SHOWN_CATEGORIES
    return f"{shown} and {others} more" if others > 0 else shown
