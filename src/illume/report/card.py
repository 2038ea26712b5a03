"""The model card: data, quality, settings, versions and known limits."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from illume.data.archive import library_versions
from illume.data.schema import Feature, Schema
from illume.report.answers import answers_of
from illume.report.collect import Explained
from illume.report.words import count, figure
from illume.results.dictionary import DataDictionary
from illume.results.levels import UNKNOWN
from illume.results.quality import Quality, RuleQuality
from illume.results.text import format_value

PACKAGES = ("illume", "numpy", "scikit-learn", "torch", "narwhals")
HIDDEN_SETTINGS = {"labels", "model", "schema", "verbose"}
MOST_CATEGORIES = 12

PULLBACK_LIMITS = (
    "Everything here is about the surrogate's answers, not about the model's inner workings. Where the "
    "surrogate answers like the model, its reasons are a good guess at the model's, but never a proof.",
    "A contribution says what moved the surrogate's answer, not what causes the outcome in the world.",
)
SHAPLEY_LIMITS = (
    "Contributions are interventional Shapley values of the model's answers: what the model answers when "
    "features of a row are replaced by those of other rows, whether or not such rows occur.",
    "Rules come from a simpler model, the latent surrogate, and are measured on the model's answers.",
    "A contribution says what moved the model's answer, not what causes the outcome in the world.",
)
LIMITS = (
    "Among correlated features, contributions can be divided in several ways that fit equally well.",
    "Trust figures were measured on rows held out from the data the explainer was fitted on. They do not "
    "cover other kinds of rows, from another time or place.",
    "Counterfactual examples were all checked on the model. They change features one by one, whether or not "
    "a person could change them.",
    "Whether the model itself is fair is not judged here{right}.",
)
NO_LABELS = ", nor whether it is right: explainer.report(X, y=labels) adds that"

Facts = list[tuple[str, str]]


def limits(kind: str, has_labels: bool) -> tuple[str, ...]:
    """Return the known limits of contributions of a kind, and of reports in general."""
    general = tuple(limit.replace("{right}", "" if has_labels else NO_LABELS) for limit in LIMITS)
    return (SHAPLEY_LIMITS if kind == "shapley" else PULLBACK_LIMITS) + general


def model_name(model: Any) -> str:
    """Return what to call the black box: its class, the last step of a Pipeline, or the function.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model_name(LogisticRegression()), model_name(len)
    ('a LogisticRegression', 'the function len')
    """
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        last = model_name(steps[-1][1])
        return f"{last} (the last of {count(len(steps), 'step')} of a {type(model).__name__})"
    if not hasattr(model, "predict_proba") and hasattr(model, "__name__"):
        return f"the function {model.__name__}"
    name = type(model).__name__
    vowel = name[:1].upper() in "AEIOU" or name.startswith(("XGB", "LGBM"))
    return f"{'an' if vowel else 'a'} {name}"


def data_facts(model: str, schema: Schema, explained: Explained, quality: Quality) -> Facts:
    """Return facts about the model and the rows."""
    n = len(explained.attributions)
    rows = count(n, "row")
    if n < explained.n_given:
        rows += f", evenly spaced, of {explained.n_given:,} given"
    found = explained.counterfactuals
    limits = "" if found is None else "; ".join(found.constraints)
    kinds = [feature.kind.value for feature in schema.features]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return [
        ("Model", model),
        ("Rows in this report", rows),
        ("Rows searched for counterfactuals", f"{len(explained.searched):,}"),
        *([] if found is None or not found.constraints else [("Limits of counterfactuals", limits)]),
        ("Features", f"{len(schema)} ({counts})"),
        (answers_of(quality.outputs).outputs_noun, ", ".join(explained.attributions.class_names)),
        ("Training rows of the explainer", f"{quality.n_training:,}"),
        *([] if quality.sampling is None else [("Rows sampled", str(quality.sampling))]),
        ("Validation rows", f"{quality.n_validation:,}"),
        ("Held-out rows to measure trust", f"{quality.report.n_rows:,}"),
        ("Synthetic rows that the model was queried with", f"{quality.n_queries:,}"),
        ("Rows that the model answered during the fit", f"{quality.n_asked:,}"),
    ]


def quality_facts(quality: Quality, rules: RuleQuality | None) -> Facts:
    """Return all figures of quality."""
    surrogate, answers = quality.surrogate, answers_of(quality.outputs)
    facts = [*_contribution_facts(quality), *_twin_facts(quality)]
    if surrogate is not None:
        agrees = f"; agreement {figure(surrogate.agreement)}" if quality.outputs.decides else ""
        facts += [
            ("Latent surrogate", f"{surrogate.source}{agrees}"),
            (f"R² of {answers.variance} of the surrogate", figure(surrogate.r2)),
            ("Latents, the numbers that it decides by", f"{surrogate.n_latents}"),
        ]
    if rules is not None:
        precision = f"{figure(rules.precision)} on {count(rules.n_rows, 'held-out row')}"
        leaves = f"{rules.n_leaves:,} {'leaf' if rules.n_leaves == 1 else 'leaves'}"
        facts += [
            (
                "Mean precision of rules" if math.isnan(rules.width) else "Coverage of rules' intervals",
                precision,
            ),
            *([] if math.isnan(rules.width) else [("Mean width", quality.outputs.format_bound(rules.width))]),
            ("Mean coverage of rules", figure(rules.coverage)),
            ("Source of rules", f"the {rules.source} tree, with {leaves}"),
        ]
    return facts


def _interval(low: float, high: float) -> str:
    return f"({figure(low)} to {figure(high)}, 95 % interval)"


def _twin_facts(quality: Quality) -> Facts:
    """Return how close the twin's answers are to the model's."""
    worst, answers = quality.worst, answers_of(quality.outputs)
    if quality.exact:
        return [("Twin", "the model itself, read exactly")]
    if quality.contributions is None:
        return []
    facts = [("Twin", f"a network that learned the model, as {quality.reason}")]
    if quality.outputs.decides:
        agreement = f"{figure(quality.agreement)} {_interval(*quality.report.interval)}"
        facts.append(("Agreement of twin and model", agreement))
    if not math.isnan(quality.majority):
        facts.append(("Always the most common decision", figure(quality.majority)))
    if worst is not None and quality.outputs.decides:
        facts.append(("Lowest agreement", f"{figure(worst.agreement)} ({worst.name})"))
    return [*facts, (f"R² of {answers.variance}", figure(quality.r2)), *answers.error_facts(quality)]


def _contribution_facts(quality: Quality) -> Facts:
    found = quality.contributions
    ignored = [("Ignored by the model", ", ".join(quality.ignored))] if quality.ignored else []
    if quality.exact:
        background = count(quality.n_background, "background row")
        return [("Contributions", f"exact, compared with {background}"), *ignored]
    if found is None:
        return [("R² of contributions", "not measured: they are the surrogate's")]
    if found.word == UNKNOWN:
        return [("R² of contributions", "not measured: too few rows or queries")]
    rows = count(found.n_rows, "held-out row")
    return [
        ("R² of contributions", f"{figure(found.r2)} {_interval(found.low, found.high)}, on {rows}"),
        (
            "Typical error of a contribution",
            f"{quality.outputs.format_typical_error(found.error)} in {quality.outputs.error_unit}",
        ),
        ("Coverage of their 95 % intervals", figure(found.coverage)),
        *ignored,
    ]


def setting_facts(settings: Mapping[str, Any]) -> Facts:
    """Return the explainer's settings as text, those of option groups one by one."""
    facts = {name: value for name, value in settings.items() if not name.endswith("_options")}
    for name in settings.keys() - facts.keys():
        group = settings[name]
        facts |= {f"{name}: {field.name}": getattr(group, field.name) for field in fields(group)}
    shown = [name for name in sorted(facts) if name.rpartition(" ")[2] not in HIDDEN_SETTINGS]
    return [(name, setting_text(facts[name])) for name in shown]


def setting_text(value: Any) -> str:
    """Return a setting as text that is the same in every process; for an object, what is not the default.

    >>> setting_text("auto"), setting_text(None), setting_text(("a", 1)), setting_text(object())
    ('auto', 'default', 'a, 1', 'object')
    """
    if value is None:
        return "default"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(setting_text, value)) or "none given"
    if isinstance(value, (str, int, float)):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        own = [f.name for f in fields(value) if getattr(value, f.name) != f.default]
        inside = ", ".join(f"{name}={setting_text(getattr(value, name))}" for name in own)
        return f"{type(value).__name__}({inside})"
    return str(getattr(value, "__name__", type(value).__name__))


def version_facts(date: str) -> Facts:
    """Return the date and the versions of Python and of the main packages."""
    return [("Date", date), ("Python", platform.python_version()), *library_versions(PACKAGES).items()]


def feature_range(feature: Feature, dictionary: DataDictionary) -> str:
    """Return the range or the categories of a feature in the fitted rows."""
    if feature.numeric:
        return f"{format_value(feature.low)} to {dictionary.show(feature.name, feature.high)}"
    shown = ", ".join(dictionary.category(feature.name, text) for text in feature.labels[:MOST_CATEGORIES])
    n_more = len(feature.labels) - MOST_CATEGORIES
    return f"{shown} and {n_more} more" if n_more > 0 else shown
