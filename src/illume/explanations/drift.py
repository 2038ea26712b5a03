"""Compare new rows with the fitted ones: features, distances and agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoding
from illume.data.frames import Frame, chunks
from illume.data.load_rows import RowLimit, sample_frame
from illume.data.require import require_int
from illume.data.row_sources import is_row_source
from illume.data.sampling import evenly_spaced
from illume.data.schema import Feature
from illume.errors import BlackBoxError, rows_after
from illume.explanations.fitted import Fitted, TwinBlackBox
from illume.explanations.places import MEASURED_ROWS, UNUSUAL, Places
from illume.explanations.reference import Reference, category_counts, cumulative
from illume.metrics.fidelity import wilson
from illume.results.check import Check, Distances, FeatureCheck, SampleAgreement
from illume.results.dictionary import DataDictionary

MOST_ROWS = 200_000  # of a source; with this many, the standard error of a share is at most .001
EFFECT = 0.1  # smaller shifts are ignored
KNOWN_NAMES = 10  # unseen categories that are named
NO_ROWS = "how far rows are from the fitted ones, for the explainer was saved with rows='none'"
NO_MODEL = "agreement with the black box, for the explainer was loaded without it"
NOT_ASKED = "agreement with the black box, for it was asked about no row"
FAILED = (
    "agreement with the black box, for it fails on a sample of these rows; explain some of them to see why"
)


def check_drift(fitted: Fitted, data: Any, sample: int, verbose: bool | None = None) -> Check:
    """Compare rows with those of the fit: a frame, or a source of rows that are read piece by piece."""
    if not is_row_source(data):
        return _check_frame(fitted, fitted.as_frame(data), sample)
    source, like = fitted.open_source(data)
    limit = RowLimit(MOST_ROWS, seed=0, backend=fitted.backend or "numpy", verbose=verbose)
    frame, n_rows = sample_frame(source.select(fitted.columns), limit, like)
    with rows_after(0, "the rows drawn" if len(frame) < n_rows else ""):
        found = _check_frame(fitted, fitted.as_frame(frame), sample)
    return found if found.n_rows == n_rows else replace(found, n_source=n_rows)


def _check_frame(fitted: Fitted, frame: Frame, sample: int) -> Check:
    require_int("sample", sample, least=0)
    encoding = replace(fitted.encoding, unknown="ignore")
    features, reference = frame.select(encoding.schema.names), fitted.reference()
    distance, outside, unseen = _look_up(fitted, encoding, features)
    explicable = np.flatnonzero(~unseen | (fitted.encoding.unknown != "error"))
    rows = explicable[evenly_spaced(len(explicable), int(sample))]
    agreement, off = _agreement(fitted, encoding, frame, rows)
    found = Check(
        features=tuple(_check_features(encoding, features, reference, fitted.dictionary)),
        distances=_distances(distance, fitted.places(), min(fitted.facts.n_training, MEASURED_ROWS)),
        agreement=agreement,
        outside_share=float(outside.mean()) if len(outside) else 0.0,
        n_rows=len(frame),
        n_fitted=reference.n_rows,
        warnings=(),
        off=(() if len(fitted.places().distances) else (NO_ROWS,)) + ((off,) if off else ()),
    )
    reasons = list(drift_reasons(found, fitted.encoding.unknown, off == FAILED))
    few, many = (tuple(text for rare, text in reasons if rare is wanted) for wanted in (True, False))
    return replace(found, warnings=many, notes=few)


def _look_up(fitted: Fitted, encoding: Encoding, frame: Frame) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return the rows' distances, which are outside, and which have a category that was never seen."""
    distance, outside = np.full(len(frame), np.nan), np.zeros(len(frame), dtype=bool)
    unseen = np.zeros(len(frame), dtype=bool)
    category = np.array([not feature.numeric for feature in encoding.schema.features], dtype=bool)
    for rows, piece in chunks(frame, BATCH_ROWS):
        with rows_after(rows.start):
            encoded = encoding.transform(piece)
        distance[rows] = fitted.places().distance(encoded.X)
        odd = encoded.odd | (encoded.imputed & ~fitted.missing)
        outside[rows] = fitted.novelty_detector.find(odd, distance[rows]).outside
        unseen[rows] = encoded.odd[:, category].any(1)
    return distance, outside, unseen


def _distances(distance: FloatArray, places: Places, n_training: int) -> Distances | None:
    usual = places.distances
    if not len(distance) or not len(usual) or np.isnan(distance).any():
        return None
    return Distances(
        unusual_share=float((distance > usual[UNUSUAL]).mean()),
        far_share=float((distance > places.limit).mean()),
        median=float(np.median(distance)),
        fitted_median=float(usual[0]),
        n_training=n_training,
    )


def _agreement(
    fitted: Fitted, encoding: Encoding, frame: Frame, some: IntArray
) -> tuple[SampleAgreement | None, str]:
    """Return the agreement on some rows, or why it is not known."""
    if not fitted.has_model:
        return None, NO_MODEL
    if not len(some):
        return None, NOT_ASKED
    rows = frame.take(some)
    try:
        P = fitted.black_box(rows)
    except BlackBoxError:  # its message may hold values of rows
        return None, FAILED
    Q = TwinBlackBox(encoding, fitted.outputs, fitted.twin)(rows)
    agreed = float(fitted.outputs.alike(P, Q).mean())
    low, high = wilson(agreed, len(some))
    report = fitted.facts.report
    if math.isnan(report.agreement):  # the latent surrogate is the twin
        report = fitted.latents().quality.report
    return SampleAgreement(agreed, low, high, len(some), report.agreement, *report.interval), ""


def _check_features(
    encoding: Encoding, frame: Frame, reference: Reference, dictionary: DataDictionary
) -> Iterator[FeatureCheck]:
    start = 0
    for j, feature in enumerate(encoding.schema.features):
        was_missing = float(reference.missing[j])
        label = dictionary.label(feature.name)
        check = FeatureCheck(feature.name, feature.kind.value, label, fitted_missing_share=was_missing)
        if feature.numeric:
            yield _check_numbers(check, feature, encoding.numbers(frame, feature), reference, j)
        else:
            stop = start + len(feature.categories)
            yield _check_categories(check, feature, frame, reference.shares[start:stop], reference.n_rows)
            start = stop


def _check_numbers(
    check: FeatureCheck, feature: Feature, numbers: FloatArray, reference: Reference, j: int
) -> FeatureCheck:
    there = np.sort(numbers[~np.isnan(numbers)])
    n = max(len(numbers), 1)
    outside = (there < feature.low) | (there > feature.high) | math.isnan(feature.low)
    shift = threshold = math.nan
    if len(there) and not np.isnan(reference.knots[j]).any():
        below, at_most = cumulative(there, reference.knots[j])
        shift = float(np.abs([below - reference.below[j], at_most - reference.at_most[j]]).max())
        seen = max(reference.n_rows * (1 - reference.missing[j]), 1)
        threshold = EFFECT + 1.63 * math.sqrt(1 / len(there) + 1 / seen)  # Kolmogorov-Smirnov at 1 %
    return replace(
        check,
        outside_share=float(outside.sum() / n),
        beyond=_widths_beyond(feature, there),
        missing_share=1 - len(there) / n if len(numbers) else 0.0,
        shift=shift,
        threshold=threshold,
    )


def _widths_beyond(feature: Feature, there: FloatArray) -> float:
    """Return how far the farthest of ascending numbers is outside of the range, in widths of that range."""
    if not len(there) or not math.isfinite(feature.low) or not math.isfinite(feature.high):
        return 0.0
    # Halves, since the difference of two large numbers may overflow.
    excess = max(feature.low / 2 - there[0] / 2, there[-1] / 2 - feature.high / 2, 0.0)
    width = feature.high / 2 - feature.low / 2
    if not excess:
        return 0.0
    return math.inf if width == 0 or excess > 1e300 * width else float(excess / width)


def _check_categories(
    check: FeatureCheck, feature: Feature, frame: Frame, shares: FloatArray, n_fitted: int
) -> FeatureCheck:
    counts, n = category_counts(feature, frame), max(len(frame), 1)
    here = np.array([counts[category] / n for category in feature.categories])
    unseen = {
        str(value): count
        for value, count in counts.items()
        if count and value is not None and value not in feature.categories
    }
    shift = threshold = math.nan
    if len(frame) and n_fitted:
        unknown = max(1 - float(here.sum()), 0.0)
        shift = (float(np.abs(here - shares).sum()) + unknown) / 2
        chance = math.sqrt(1 / n + 1 / n_fitted)
        threshold = EFFECT + (0.5 * math.sqrt(max(len(here) - 1, 0)) + 1.5) * chance
    return replace(
        check,
        unseen=tuple(sorted(unseen, key=lambda name: (-unseen[name], name))[:KNOWN_NAMES]),
        unseen_share=sum(unseen.values()) / n,
        missing_share=counts[None] / n,
        shift=shift,
        threshold=threshold,
    )


SHOWN = 5
RARE = 0.01  # a share of rows outside of a range that is ignored
WIDE = 1.0  # widths of the range
LEVEL = 0.01  # of significance


Reason = tuple[bool, str]  # whether it is about a few rows only, and its text


def drift_reasons(check: Check, unknown: str, failed: bool) -> Iterator[Reason]:
    """Yield the reasons not to use explanations, of all rows or only of a few."""
    if not check.n_rows:
        return
    for feature in check.features:
        if feature.unseen:
            yield _is_rare(check, feature.unseen_share), _describe_unseen(feature, unknown)
    yield from _range_reasons(check)
    yield from _missing_reasons(check)
    yield from ((False, text) for text in _shift_warnings(check))
    yield from ((False, text) for text in _distance_warnings(check))
    if failed:
        yield False, "the model fails on a sample of these rows; explain some of them to see its message"
    yield from ((False, text) for text in _agreement_warnings(check))


def _is_rare(check: Check, share: float, usual: float = RARE) -> bool:
    """Whether a share of rows is no more than what `usual` explains by chance, and not the half of them."""
    count, n_tests = round(share * check.n_rows), len(check.features)
    return share < 0.5 and not more_than_chance(count, check.n_rows, usual, n_tests)


def _describe_unseen(feature: FeatureCheck, unknown: str) -> str:
    then = "explanations take them for no category at all"
    if unknown == "error":
        then = "explaining such rows raises an error"
    return (
        f"{feature.called} has categories never seen while fitting ({_join_names(feature.unseen)}), in "
        f"{feature.unseen_share:.1%} of rows; {then}: map them to known ones, or fit again with such rows"
    )


def _range_reasons(check: Check) -> Iterator[Reason]:
    usual = max(RARE, 2 / (check.n_fitted + 1) if check.n_fitted else RARE)
    for feature in check.features:
        share, beyond = feature.outside_share, feature.beyond
        rare = _is_rare(check, share, usual)
        if share and (not rare or beyond > WIDE):
            how = f", the farthest by {beyond:.3g} times its width" if math.isfinite(beyond) else ""
            yield (
                rare,
                f"{feature.called} is outside of the fitted range in {share:.1%} of rows{how}; "
                f"look for changed units or faults in the data, or fit again with such rows",
            )


def _missing_reasons(check: Check) -> Iterator[Reason]:
    for feature in check.features:
        was, now = feature.fitted_missing_share, feature.missing_share
        if now and not was and check.n_fitted:
            yield (
                _is_rare(check, now),
                f"{feature.called} is missing in {now:.1%} of rows and never was while fitting; fill it in, "
                f"or fit again with such rows",
            )
        elif check.n_fitted and now - was > 0.1 + 1.63 * math.sqrt(1 / check.n_rows + 1 / check.n_fitted):
            yield (
                False,
                f"{feature.called} is missing in {now:.1%} of rows, {was:.1%} while fitting; find out why, "
                f"or fit again with such rows",
            )


def _shift_warnings(check: Check) -> Iterator[str]:
    shifted = sorted((f for f in check.features if f.shifted), key=lambda f: -f.shift)
    if shifted:
        named = _join_names([f"{feature.called} ({feature.shift:.2f})" for feature in shifted])
        yield (
            f"the distribution of {named} is another than while fitting; the figures of quality may not hold "
            f"for these rows: fit again with recent rows"
        )


def _distance_warnings(check: Check) -> Iterator[str]:
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


def _agreement_warnings(check: Check) -> Iterator[str]:
    found = check.agreement
    if found is not None and found.high < found.fitted_low:
        yield (
            f"twin and model agree on {found.agreement:.1%} of a sample of these rows, on "
            f"{found.fitted_agreement:.1%} while fitting; rules and slopes do not describe the model here, "
            f"and errors of contributions were not measured on such rows: fit again"
        )


def more_than_chance(count: int, n: int, share: float, n_tests: int) -> bool:
    """Test whether `count` of n rows is more than a share explains: binomial tail, Bonferroni-corrected.

    >>> more_than_chance(5, 100, 0.01, 1), more_than_chance(5, 100, 0.01, 30)
    (True, False)
    """
    from scipy.stats import binom

    return bool(binom.sf(count - 1, n, share) < LEVEL / max(n_tests, 1))


def _join_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
