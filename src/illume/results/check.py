"""Comparison of new rows with those that an explainer was fitted on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from illume.data.frames import Origin
from illume.data.number_text import count
from illume.results.display import Shown, Table
from illume.results.text import plain_value

SHOWN = 12


@dataclass(frozen=True)
class FeatureCheck:
    """One feature of new rows against the fitted ones; shares are of rows.

    Parameters
    ----------
    label
        Its label, if it has one.
    unseen, unseen_share
        Categories that no fitted row has, most frequent first, and the share of rows with one.
    outside_share, beyond
        Share of rows with a number outside of the fitted range, and the distance of the farthest of them, in
        widths of that range.
    missing_share, fitted_missing_share
        Share of rows, and of fitted rows, in which the feature is missing.
    shift, threshold
        Change of the distribution: the largest difference of cumulative shares of numbers (the
        Kolmogorov-Smirnov statistic), or the total variation of categories; and the value above which it is
        more than chance. NaN where it is not known.
    """

    name: str
    kind: str
    label: str = ""
    unseen: tuple[str, ...] = ()
    unseen_share: float = 0.0
    outside_share: float = 0.0
    beyond: float = 0.0
    missing_share: float = 0.0
    fitted_missing_share: float = math.nan
    shift: float = math.nan
    threshold: float = math.nan

    @property
    def called(self) -> str:
        """What the feature is called in texts."""
        return self.label or self.name

    @property
    def shifted(self) -> bool:
        """Whether the distribution changed by more than chance."""
        return self.shift > self.threshold

    def _severity(self) -> tuple[float, float]:
        odd = self.unseen_share + self.outside_share
        return odd, 0.0 if math.isnan(self.shift) else self.shift - self.threshold

    def _cells(self) -> list[str]:
        numeric = self.kind == "numeric"
        unseen = "" if numeric else f"{self.unseen_share:.1%}"
        outside = f"{self.outside_share:.1%}" if numeric else ""
        missing = f"{self.missing_share:.1%} ({_format(self.fitted_missing_share, '.0%')})"
        shift, limit = (_format(number, ".2f") for number in (self.shift, self.threshold))
        return [self.called, unseen, outside, missing, f"{shift} ({limit})"]


def _format(number: float, spec: str) -> str:
    return "–" if math.isnan(number) else f"{number:{spec}}"


@dataclass(frozen=True)
class Distances:
    """Distances of new rows from the fitted ones: shares of unusual and of far rows, and medians.

    A row is unusual if it is farther from the nearest place where trust was measured than 99 % of the
    `n_training` training rows are; where nothing has changed, `unusual_share` is about 0.01.
    """

    unusual_share: float
    far_share: float
    median: float
    fitted_median: float
    n_training: int


@dataclass(frozen=True)
class SampleAgreement:
    """Share of a sample of the new rows on which the twin and the model decide alike.

    `low` and `high` are a 95 % interval (Wilson's), those with `fitted_` the same on the fit's report rows.
    """

    agreement: float
    low: float
    high: float
    n_rows: int
    fitted_agreement: float
    fitted_low: float
    fitted_high: float


@dataclass(frozen=True, repr=False)
class Check(Shown):
    """Comparison of new rows with those that an explainer was fitted on.

    Parameters
    ----------
    distances, agreement
        Of the rows as a whole, and of the twin; None where they could not be computed, see `off`.
    outside_share
        Share of rows that are flagged as outside of what the explainer was fitted on.
    n_rows, n_fitted, n_source
        Number of new rows; of fitted rows, 0 where that is not known; and of the rows that the new ones were
        drawn from at random, None where all rows were compared.
    warnings, notes, off
        Reasons not to use explanations of these rows, each with advice; such reasons that concern so few rows
        (about 1 % at most) that the others are explained as ever; what could not be compared, and why.
    """

    features: tuple[FeatureCheck, ...]
    distances: Distances | None
    agreement: SampleAgreement | None
    outside_share: float
    n_rows: int
    n_fitted: int
    warnings: tuple[str, ...]
    off: tuple[str, ...]
    n_source: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no warnings."""
        return not self.warnings

    @property
    def verdict(self) -> str:
        """Whether explanations still apply, in a sentence."""
        if not self.n_rows:
            return "there are no rows, so nothing can be said"
        if self.ok and self.notes:
            return "explanations apply, but for a few rows: the others look like those of the fit"
        if self.ok:
            return "explanations apply: these rows look like those that the explainer was fitted on"
        return "explanations may not apply: these rows are not like those that the explainer was fitted on"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; what is not known is None."""
        return dict(plain_value({"ok": self.ok, "verdict": self.verdict, **asdict(self)}))

    def to_frame(self) -> Any:
        """Return a pandas frame with a line per feature."""
        names = FeatureCheck.__dataclass_fields__
        columns = {name: [getattr(feature, name) for feature in self.features] for name in names}
        columns["unseen"] = [", ".join(unseen) for unseen in columns["unseen"]]
        return Origin("pandas").frame(columns | {"shifted": [feature.shifted for feature in self.features]})

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines: the verdict, agreement, distances, and features that changed most."""
        rows = count(self.n_rows, "row")
        if self.n_source is not None:
            rows = f"{self.n_rows:,} of {count(self.n_source, 'row')}, drawn at random"
        yield f"Check of {rows}: {self.verdict}"
        yield from (f"  ! {warning}" for warning in self.warnings)
        yield from (f"  {note}" for note in self.notes)
        if self.agreement is not None:
            a = self.agreement
            yield (
                f"agreement of twin and model on {a.n_rows:,} of them: {a.agreement:.3f} "
                f"({a.low:.3f} to {a.high:.3f}); when fitted {a.fitted_agreement:.3f} "
                f"({a.fitted_low:.3f} to {a.fitted_high:.3f})"
            )
        if self.distances is not None:
            share = self.distances.unusual_share
            yield f"unusually far from the fitted rows: {share:.1%} of rows (fitted rows: 1.0%)"
        yield from (f"not compared: {reason}" for reason in self.off)
        shown = sorted(self.features, key=FeatureCheck._severity, reverse=True)[:SHOWN]
        if shown:
            head = ["", "unseen", "outside", "missing (was)", "shift (limit)"]
            yield Table([head, *(feature._cells() for feature in shown)], "<>>>>", head=True)
        if len(self.features) > len(shown):
            yield f"  … and {count(len(self.features) - len(shown), 'more feature')}"
