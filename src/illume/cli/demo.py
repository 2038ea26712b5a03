"""`illume demo`: explain a model of breast cancer, in text and in pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from illume.cli.options import Debug, Quiet, voice_of
from illume.errors import MissingExtraError


def demo(folder: Path, quiet: bool = False) -> None:
    """Run the demonstration; pictures go to the folder."""
    for package, extra in (("pandas", "demo"), ("matplotlib", "demo")):
        try:
            __import__(package)
        except ImportError as error:
            raise MissingExtraError.of(package, extra) from error
    import matplotlib as mpl

    from illume.demo import main

    mpl.use("Agg")
    main(str(folder), verbose=not quiet)


def command(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where pictures go.")] = Path("demo"),
    *,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Explain a model of breast cancer, in text and in pictures; takes about half a minute."""
    voice_of(context, quiet, debug)
    demo(folder, quiet)
