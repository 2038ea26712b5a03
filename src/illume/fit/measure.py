"""Measuring a fitted explainer on its report rows."""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.assembly.rules import RuleAssembly, RuleOptions
from illume.data.encoding import Encoded
from illume.data.load_rows import LoadedRows
from illume.data.sampling import rows_needed
from illume.errors import FewRowsWarning
from illume.explanations.rule_sample import spread
from illume.fit.pairs import Answered, Material
from illume.fit.trials import Choice
from illume.metrics.fidelity import agreement, fidelity, r_squared
from illume.results.quality import FEW, ClassQuality, Quality, RuleQuality, Sampling
from illume.surrogates.base import TreeSurrogate

JUDGED_RULES = 1_000


def measure(
    choice: Choice,
    Q: FloatArray,
    material: Material,
    class_names: tuple[str, ...],
    *,
    n_asked: int,
    seconds: float,
) -> Quality:
    """Return the fidelity of the chosen pair, whose answers to report rows are Q, and of the global one."""
    report = material.report
    return Quality(
        report=fidelity(report.P, Q),
        baseline=fidelity(report.P, choice.baseline.probabilities(report.X)),
        classes=tuple(_one_class(c, name, report.P, Q) for c, name in enumerate(class_names)),
        encoder=type(choice.pair.encoder).__name__.removesuffix("Encoder").lower(),
        n_latents=choice.pair.n_latents,
        alignment=choice.alignment,
        fell_back=choice.fell_back,
        reason=choice.reason,
        n_training=len(material.training),
        n_validation=len(material.validation),
        n_queries=len(material.queries),
        n_asked=n_asked,
        seconds=seconds,
        majority=_majority(report.P),
    )


def _majority(P: FloatArray) -> float:
    """Return the share of the most common decision; NaN without rows."""
    return float(np.bincount(P.argmax(1)).max()) / len(P) if len(P) else math.nan


def warn_of_few(quality: Quality, sizes: tuple[float, float]) -> None:
    """Warn where trust is measured on next to nothing; `sizes` are shares of rows that choose, report."""
    if quality.few:
        needed = rows_needed(FEW, min(sizes))
        warnings.warn(
            f"{quality.few}; fit with {needed} rows or more "
            f"(or, in Python, larger validation_size, report_size)",
            FewRowsWarning,
            stacklevel=3,
        )


def sampling_of(rows: LoadedRows, random_state: Any) -> Sampling | None:
    """Say how rows were drawn; a seed that is no number has no name."""
    if not rows.partial:
        return None
    seed = int(random_state) if isinstance(random_state, Integral) else None
    return Sampling(rows.n_rows, len(rows.frame), seed)


def _one_class(c: int, name: str, P: FloatArray, Q: FloatArray) -> ClassQuality:
    mine = P.argmax(1) == c
    return ClassQuality(name, agreement(P[mine], Q[mine]), r_squared(P[:, [c]], Q[:, [c]]), int(mine.sum()))


def measure_rules(assembly: RuleAssembly, report: Answered, seconds: float) -> RuleQuality:
    """Return how good the rules of report rows are, each measured on the other report rows."""
    sample = assembly.model.report
    tree = assembly.model.rules
    some = spread(sample.decisions, JUDGED_RULES)
    X = sample.X[some]
    encoded = Encoded.plain(X, len(assembly.encoding.schema))
    P = np.eye(len(assembly.class_names))[sample.decisions[some]]
    rules = assembly.of_rows(encoded, P, RuleOptions())
    others, right = rules.n_covered, rules.n_correct  # other than the row itself, which proves nothing
    known = others > 0
    agreed = tree.decide(tree.encoder.transform(report.X)) == report.P.argmax(1)
    leaves = tree.tree.children_left_ < 0
    return RuleQuality(
        precision=float((right[known] / others[known]).mean()) if known.any() else math.nan,
        coverage=float(others.mean()) / max(len(sample) - 1, 1),
        n_conditions=float(rules.n_conditions.mean()),
        n_rules=len(rules),
        n_rows=len(sample),
        agreement=float(agreed.mean()),
        faithful=float(rules.faithful.mean()),
        source=assembly.model.source,
        reason=assembly.model.reason,
        n_leaves=int(leaves.sum()),
        depth=_depth(tree.tree),
        n_latents=tree.leaves.low.shape[1],
        seconds=seconds,
    )


def _depth(tree: TreeSurrogate) -> int:
    """Return how many questions the longest path asks."""
    level = np.zeros(len(tree.feature_), dtype=np.intp)
    for node in np.flatnonzero(tree.children_left_ >= 0):  # parents come before their children
        level[[tree.children_left_[node], tree.children_right_[node]]] = level[node] + 1
    return int(level.max())
