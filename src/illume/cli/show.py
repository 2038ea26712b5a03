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

SETTINGS = ("contributions", "effort", "queries", "random_state")
SURROGATE = ("encoder", "objective", "n_latents")


@dataclass(frozen=True, eq=False)
class Shown:
    """An explainer's schema, quality, settings and versions; `manifest` is what the file says of itself."""

    path: Path
    manifest: dict[str, Any]
    explainer: Any

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; what could not be measured is NaN."""
        explainer, manifest = self.explainer, self.manifest
        return {
            "explainer": str(self.path),
            "n_bytes": self.path.stat().st_size,
            "format": manifest["version"],
            "versions": manifest["libraries"],
            "settings": manifest["settings"],
            "rows": manifest["rows"],
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
            "rule_quality": explainer.rule_quality_.to_dict() if self._has_rules else None,
        }

    def __str__(self) -> str:
        explainer, manifest = self.explainer, self.manifest
        held, settings = manifest["rows"], manifest["settings"]
        about = {
            "File": f"{self.path}, {size(self.path.stat().st_size)}, format {manifest['version']}",
            "Explains": " or ".join(map(repr, explainer.class_names_)),
            "Holds": f"{held['held']:,} of {held['of']:,} training rows; not the model",
            "Made with": ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items()),
            "Settings": ", ".join(
                [f"{name} {settings[name]}" for name in SETTINGS]
                + [f"{name} {getattr(explainer.surrogate_options, name)}" for name in SURROGATE]
            ),
        }
        width = max(map(len, about))
        head = "\n".join(f"{name:<{width}}  {text}" for name, text in about.items())
        parts = [head, repr(explainer.schema_), repr(explainer.quality_)]
        return "\n\n".join([*parts, repr(explainer.rule_quality_)] if self._has_rules else parts)

    @property
    def _has_rules(self) -> bool:
        return hasattr(self.explainer, "rule_quality_")


def size(n_bytes: int) -> str:
    """Return a size in units that people read.

    >>> size(999), size(42_309), size(7_250_000)
    ('999 B', '42 kB', '7.2 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} B"
    return f"{n_bytes / 1e3:.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def show(path: Path, voice: Voice) -> Shown:
    """Return what is in an explainer's file; no model is needed."""
    from illume.data import archive

    explainer = load_explainer(path, None, voice)
    return Shown(path, archive.read(path).manifest, explainer)


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
