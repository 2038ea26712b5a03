"""`illume rules`: the global view, the leaves of the tree that rules come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from illume.cli.loading import load_explainer
from illume.cli.options import Debug, ExplainerFile, Json, Quiet, voice_of
from illume.cli.voice import Voice
from illume.cli.writing import answer, as_json


def rules(explainer: Path, voice: Voice) -> Any:
    """Return the leaves of the tree, largest first."""
    return load_explainer(explainer, None, voice).rule_set()


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    *,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the global view: what the model decides where, with a typical rule of each region."""
    leaves = rules(explainer, voice_of(context, quiet, debug))
    answer(as_json(leaves.to_frame().to_dict("records"), indent=2) if json else str(leaves))
