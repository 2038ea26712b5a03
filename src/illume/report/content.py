"""All that a report says, as plain values."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume.explanations.fitted import Fitted
from illume.report.card import Card, card, model_name
from illume.report.explained import Explained
from illume.report.notices import Notice, notices
from illume.report.reasons import CounterfactualData, RuleData, counterfactual_data, rule_data
from illume.report.rows import RowData, row_data
from illume.report.summary import Summary, summary
from illume.report.thresholds import low_trust
from illume.report.words import figure
from illume.results.quality import ContributionQuality, Quality
from illume.results.text import owner


@dataclass(frozen=True)
class QualityLine:
    """Agreement and R² of one class or of all, on `n_rows` rows kept aside, or of an `other` surrogate."""

    name: str
    agreement: float
    r2: float
    n_rows: int
    note: str = ""
    other: bool = False


@dataclass(frozen=True)
class Figures:
    """The few numbers at the top: truth of contributions, agreement, rows, features, rows of low trust."""

    contributions: ContributionQuality | None
    majority: float
    agreement: float
    interval: tuple[float, float]
    n_rows: int
    n_features: int
    n_low: int
    n_agreed: int


@dataclass(frozen=True)
class Content:
    """A whole report before it becomes a page."""

    title: str
    date: str
    figures: Figures
    summary: Summary
    notices: tuple[Notice, ...]
    quality: tuple[QualityLine, ...]
    output: str
    map_share: float | None
    card: Card
    rows: RowData
    rules: RuleData | None
    counterfactuals: CounterfactualData | None


def content(
    fitted: Fitted, parameters: Mapping[str, Any], explained: Explained, title: str | None, date: Any
) -> Content:
    """Say everything that is to be said about the rows explained."""
    attributions, quality = explained.attributions, fitted.quality
    model = model_name(parameters["model"])
    rules = None if explained.rules is None else fitted.rule_quality
    day = date_text(date)
    return Content(
        title=f"How {model.split(' (')[0]} decides" if title is None else str(title),
        date=day,
        figures=Figures(
            contributions=quality.contributions,
            majority=quality.majority,
            agreement=quality.agreement,
            interval=quality.report.interval,
            n_rows=len(attributions),
            n_features=len(attributions.feature_names),
            n_low=int(low_trust(attributions).sum()),
            n_agreed=int(attributions.agreed.sum()),
        ),
        summary=summary(model, explained, quality),
        notices=notices(explained, quality, rules),
        quality=_quality_lines(quality),
        output=f"{owner(attributions)} {_output(attributions.class_names)}",
        map_share=_map_share(explained),
        card=card(fitted, parameters, explained, day),
        rows=row_data(explained, fitted.schema),
        rules=rule_data(explained.rules),
        counterfactuals=counterfactual_data(explained),
    )


def date_text(date: Any) -> str:
    """Return a date, or now, in UTC; a text is taken as it is.

    >>> date_text(dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))))
    '2026-01-31 11:30 UTC'
    >>> date_text(dt.date(2026, 1, 31)), date_text("today")
    ('2026-01-31', 'today')
    """
    if date is None:
        date = dt.datetime.now(dt.UTC)
    if isinstance(date, dt.datetime):
        known = date if date.tzinfo is not None else date.replace(tzinfo=dt.UTC)
        return f"{known.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(date, (dt.date, str)):
        return str(date)
    raise TypeError(f"date must be a date, a time or a text, found {type(date).__name__}")


def _quality_lines(quality: Quality) -> tuple[QualityLine, ...]:
    low, high = quality.report.interval
    note = f"95 % interval {figure(low)} to {figure(high)}"
    whole = QualityLine("All rows kept aside", quality.agreement, quality.r2, quality.report.n_rows, note)
    each = tuple(QualityLine(f"decided “{c.name}”", c.agreement, c.r2, c.n_rows) for c in quality.classes)
    base = quality.baseline
    other = QualityLine(
        "For comparison: one linear model for all rows", base.agreement, base.r2, base.n_rows, other=True
    )
    n = quality.report.n_rows
    most = QualityLine(
        "For comparison: always the most common decision", quality.majority, math.nan, n, other=True
    )
    return (whole, *each, most, other)


def _output(classes: tuple[str, ...]) -> str:
    if len(classes) == 2:
        return f"log-odds of “{classes[1]}” against “{classes[0]}”"
    return f"log-odds of each class against the mean of all {len(classes)} classes"


def _map_share(explained: Explained) -> float | None:
    """Return how much of the latents' variance the map shows; None where it shows the latents themselves."""
    Z = explained.latents.Z
    if Z.shape[1] <= 2 or not len(Z):
        return None
    whole = float(np.var(Z, axis=0).sum())
    return float(np.var(explained.latents.plane, axis=0).sum()) / whole if whole else None
