"""What the figures of a drift check mean, in sentences with advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from illume.results.check import Check

SHOWN = 5
RARE = 0.01  # a share of rows outside of a range that is ignored
WIDE = 1.0  # widths of the range
LEVEL = 0.01  # of significance


def drift_warnings(check: Check, unknown: str, failed: bool) -> Iterator[str]:
    """Yield the reasons not to use explanations of the rows."""
    if not check.n_rows:
        return
    yield from _unseen(check, unknown)
    yield from _outside(check)
    yield from _missing(check)
    yield from _shifted(check)
    yield from _distant(check)
    if failed:
        yield "the model fails on a sample of these rows; explain some of them to see its message"
    yield from _disagreeing(check)


def _unseen(check: Check, unknown: str) -> Iterator[str]:
    for feature in check.features:
        if feature.unseen:
            then = (
                "explaining such rows raises an error"
                if unknown == "error"
                else "explanations take them for no category at all"
            )
            yield (
                f"{feature.name} has categories never seen while fitting ({_listed(feature.unseen)}), in "
                f"{feature.unseen_share:.1%} of rows; {then}: map them to known ones, or fit again with such "
                f"rows"
            )


def _outside(check: Check) -> Iterator[str]:
    usual = max(RARE, 2 / (check.n_fitted + 1) if check.n_fitted else RARE)
    n = check.n_rows
    numbers = [feature for feature in check.features if feature.outside_share > 0]
    for feature in numbers:
        count = round(feature.outside_share * n)
        often = more_than_chance(count, n, usual, len(check.features))
        if not often and feature.beyond <= WIDE:
            continue
        how = (
            f", the farthest by {feature.beyond:.3g} times its width" if math.isfinite(feature.beyond) else ""
        )
        yield (
            f"{feature.name} is outside of the fitted range in {feature.outside_share:.1%} of rows{how}; "
            f"look for changed units or faults in the data, or fit again with such rows"
        )


def _missing(check: Check) -> Iterator[str]:
    for feature in check.features:
        was, now = feature.fitted_missing_share, feature.missing_share
        if now and not was and check.n_fitted:
            yield (
                f"{feature.name} is missing in {now:.1%} of rows and never was while fitting; fill it in, or "
                f"fit again with such rows"
            )
        elif check.n_fitted and now - was > 0.1 + 1.63 * math.sqrt(1 / check.n_rows + 1 / check.n_fitted):
            yield (
                f"{feature.name} is missing in {now:.1%} of rows, {was:.1%} while fitting; find out why, or "
                f"fit again with such rows"
            )


def _shifted(check: Check) -> Iterator[str]:
    shifted = sorted((f for f in check.features if f.shifted), key=lambda f: -f.shift)
    if shifted:
        named = _listed([f"{feature.name} ({feature.shift:.2f})" for feature in shifted])
        yield (
            f"the distribution of {named} is another than while fitting; the figures of quality may not hold "
            f"for these rows: fit again with recent rows"
        )


def _distant(check: Check) -> Iterator[str]:
    found = check.distances
    if found is None or found.unusual_share <= 0.05:
        return
    # Of few training rows, the distance that 99 % of all rows are within is not known exactly.
    n = max(found.n_training, 1)
    usual = RARE + 3 * math.sqrt(RARE / n) + 1 / n
    if more_than_chance(round(found.unusual_share * check.n_rows), check.n_rows, min(usual, 1.0), 1):
        yield (
            f"{found.unusual_share:.1%} of rows are farther from the fitted rows than 99% of these were: "
            f"they combine values in new ways; fit again with such rows"
        )


def _disagreeing(check: Check) -> Iterator[str]:
    found = check.agreement
    if found is not None and found.high < found.fitted_low:
        yield (
            f"surrogate and black box decide alike on {found.agreement:.1%} of a sample of these rows, on "
            f"{found.fitted_agreement:.1%} while fitting; rules and slopes do not describe the model here, "
            f"and errors of contributions were not measured on such rows: fit again"
        )


def more_than_chance(count: int, n: int, share: float, n_tests: int) -> bool:
    """Test whether `count` of n rows is more than a share explains: binomial tail, Bonferroni-corrected.

    >>> more_than_chance(5, 100, 0.01, 1), more_than_chance(5, 100, 0.01, 30)
    (True, False)
    """
    from scipy.stats import binom  # type: ignore[import-untyped]

    return bool(binom.sf(count - 1, n, share) < LEVEL / max(n_tests, 1))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
