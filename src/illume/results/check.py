"""Whether explanations still apply to new rows: what was compared, and what that means."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from illume.data.frames import Origin

SHOWN = 12


@dataclass(frozen=True)
class FeatureCheck:
    """One feature of new rows against the fitted ones; shares are of rows.

    Parameters
    ----------
    unseen, unseen_share
        Categories that no fitted row has, most frequent first, and how many rows have one.
    outside_share, beyond
        How many rows have a number outside of the fitted range, and by how many widths of that range the
        farthest of them is outside.
    missing_share, fitted_missing_share
        How many rows lack the feature, and how many of the fitted ones did.
    shift, threshold
        How far the distribution moved: the largest difference of the cumulative shares of numbers
        (Kolmogorov and Smirnov's), or the share of rows that would have to change category (total
        variation); and from where on that is more than chance. NaN where it is not known.
    """

    name: str
    kind: str
    unseen: tuple[str, ...]
    unseen_share: float
    outside_share: float
    beyond: float
    missing_share: float
    fitted_missing_share: float
    shift: float
    threshold: float

    @property
    def shifted(self) -> bool:
        """Whether the distribution moved by more than chance would."""
        return self.shift > self.threshold

    @property
    def odd_share(self) -> float:
        """The share of rows whose value no fitted row could have."""
        return self.unseen_share + self.outside_share


@dataclass(frozen=True)
class Distances:
    """How far new rows are from the fitted ones.

    Parameters
    ----------
    unusual_share
        Share of rows that are farther from the nearest place where trust was measured than 99 % of the
        training rows are; about 0.01 where nothing has changed.
    far_share
        Share of rows that are flagged as far from all fitted rows.
    median, fitted_median
        The median distance, of new rows and of training rows.
    n_training
        How many training rows the distances are compared with.
    """

    unusual_share: float
    far_share: float
    median: float
    fitted_median: float
    n_training: int


@dataclass(frozen=True)
class SampleAgreement:
    """On what share of a sample of the new rows surrogate and black box decide alike.

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
class Check:
    """New rows held against those that an explainer was fitted on.

    Parameters
    ----------
    features
        What was found per feature.
    distances, agreement
        Of the rows as a whole, and of the surrogate; None where they could not be had, see `off`.
    outside_share
        Share of rows that are flagged as outside of what the explainer was fitted on.
    n_rows, n_fitted
        How many new rows there are, and how many the explainer was fitted on; 0 where that is not known.
    warnings
        What speaks against using explanations of these rows, each with advice.
    off
        What could not be compared, and why.
    n_source
        Of how many rows these were drawn at random; None where all rows were compared.
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

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against using explanations of these rows."""
        return not self.warnings

    @property
    def verdict(self) -> str:
        """Whether explanations still apply, in a sentence."""
        if not self.n_rows:
            return "there are no rows, so nothing can be said"
        if self.ok:
            return "explanations apply: these rows look like those that the explainer was fitted on"
        return "explanations may not apply: these rows are not like those that the explainer was fitted on"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; what is not known is None."""
        values: dict[str, Any] = _known({"ok": self.ok, "verdict": self.verdict, **asdict(self)})
        return values

    def to_frame(self) -> Any:
        """Return a pandas frame with a line per feature."""
        columns: dict[str, list[Any]] = {name: [] for name in FeatureCheck.__dataclass_fields__}
        for feature in self.features:
            for name, value in asdict(feature).items():
                columns[name].append(", ".join(value) if name == "unseen" else value)
        columns["shifted"] = [feature.shifted for feature in self.features]
        return Origin("pandas").frame(columns)

    def __repr__(self) -> str:
        of = "" if self.n_source is None else f" of {self.n_source:,}"
        drawn = "" if self.n_source is None else ", drawn at random"
        named = "row" if self.n_rows == 1 and not of else "rows"
        lines = [f"Check of {self.n_rows:,}{of} {named}{drawn}: {self.verdict}"]
        lines += [f"  ! {warning}" for warning in self.warnings]
        if self.agreement is not None:
            a = self.agreement
            lines.append(
                f"agreement of surrogate and black box on {a.n_rows:,} of them: {a.agreement:.3f} "
                f"({a.low:.3f} to {a.high:.3f}); when fitted {a.fitted_agreement:.3f} "
                f"({a.fitted_low:.3f} to {a.fitted_high:.3f})"
            )
        if self.distances is not None:
            d = self.distances
            lines.append(
                f"unusually far from the fitted rows: {d.unusual_share:.1%} of rows (fitted rows: 1.0%)"
            )
        lines += [f"not compared: {reason}" for reason in self.off]
        return "\n".join([*lines, *self._table()])

    def _table(self) -> list[str]:
        worst = sorted(self.features, key=_gravity, reverse=True)
        shown = worst[:SHOWN]
        width = max((len(feature.name) for feature in shown), default=0)
        lines = [f"  {'':<{width}}  unseen  outside  missing (was)   shift (limit)"] if shown else []
        for f in shown:
            lines.append(
                f"  {f.name:<{width}}  {_share(f.unseen_share, f.kind != 'numeric')}  "
                f"{_share(f.outside_share, f.kind == 'numeric'):>7}  {f.missing_share:>7.1%} "
                f"({_was(f.fitted_missing_share)})  {_figure(f.shift)} ({_figure(f.threshold)})"
            )
        more = len(self.features) - len(shown)
        return [*lines, *([f"  … and {more} more features"] if more else [])]


def _gravity(feature: FeatureCheck) -> tuple[float, float]:
    excess = 0.0 if math.isnan(feature.shift) else feature.shift - feature.threshold
    return feature.odd_share, excess


def _share(share: float, applies: bool) -> str:
    return f"{share:>6.1%}" if applies else f"{'':>6}"


def _was(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.0%}"


def _figure(number: float) -> str:
    return "   –" if math.isnan(number) else f"{number:.2f}"


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _known(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
