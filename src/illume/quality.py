"""Measuring a fitted explainer on its report rows."""

from __future__ import annotations

from illume._typing import FloatArray
from illume.fitting import Choice, Material
from illume.metrics.fidelity import agreement, fidelity, r_squared
from illume.results.quality import ClassQuality, Quality


def measure(
    choice: Choice, material: Material, class_names: tuple[str, ...], n_asked: int, seconds: float
) -> Quality:
    """Return the fidelity of the chosen pair, and of the global one beside it."""
    report = material.report
    Q = choice.pair.probabilities(report.X)
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
    )


def _one_class(c: int, name: str, P: FloatArray, Q: FloatArray) -> ClassQuality:
    mine = P.argmax(1) == c
    return ClassQuality(name, agreement(P[mine], Q[mine]), r_squared(P[:, [c]], Q[:, [c]]), int(mine.sum()))
