"""`illume show`: what is in an explainer's file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from illume.cli.loading import load_explainer
from illume.cli.options import Debug, ExplainerFile, Json, Quiet, voice_of
from illume.cli.voice import Voice
from illume.cli.writing import answer, as_json


@dataclass(frozen=True, eq=False)
class Shown:
    """An explainer's schema, quality and versions."""

    path: Path
    explainer: Any

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; what could not be measured is NaN."""
        explainer = self.explainer
        rule_quality = getattr(explainer, "rule_quality_", None)
        return {
            "explainer": str(self.path),
            "classes": list(explainer.class_names_),
            "features": [
                {
                    "name": feature.name,
                    "kind": feature.kind.value,
                    "categories": list(feature.labels),
                    "low": feature.low if feature.numeric else None,
                    "high": feature.high if feature.numeric else None,
                }
                for feature in explainer.schema_.features
            ],
            "quality": explainer.quality_.to_dict(),
            "rule_quality": None if rule_quality is None else rule_quality.to_dict(),
        }

    def __str__(self) -> str:
        explainer = self.explainer
        parts = [
            f"{self.path}: explains {' or '.join(map(repr, explainer.class_names_))}",
            repr(explainer.schema_),
            repr(explainer.quality_),
        ]
        if hasattr(explainer, "rule_quality_"):
            parts.append(repr(explainer.rule_quality_))
        return "\n\n".join(parts)


def show(path: Path, voice: Voice) -> Shown:
    """Return what is in an explainer's file; no model is needed."""
    return Shown(path, load_explainer(path, None, voice))


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    *,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what is in an explainer's file: features, quality, versions."""
    shown = show(explainer, voice_of(context, quiet, debug))
    answer(as_json(shown.to_dict(), indent=2) if json else str(shown))
