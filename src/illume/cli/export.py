"""`illume export`: an explainer's forward pass as a file of ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from illume.cli.loading import load_explainer
from illume.cli.options import Debug, ExplainerFile, Quiet, voice_of
from illume.cli.voice import Voice
from illume.cli.writing import require_output


def export(path: Path, out: Path, voice: Voice, *, encoded: bool = False) -> None:
    """Write the graph; no model is needed."""
    from illume import export_onnx

    require_output(out, (".onnx",), path)
    explainer = load_explainer(path, None, voice)
    export_onnx(explainer, out, inputs="encoded" if encoded else "raw")
    voice.say(f"Graph written to {out} ({out.stat().st_size / 1e3:.0f} kB)")


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    out: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="Where to write; replaced if it exists.")],
    *,
    encoded: Annotated[
        bool, typer.Option("--encoded", help="Read encoded inputs instead of raw numbers and categories.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write attributions as a graph of ONNX, for runtimes without Python.

    [b]illume export loans.illume loans.onnx[/]
    """
    export(explainer, out, voice_of(context, quiet, debug), encoded=encoded)
