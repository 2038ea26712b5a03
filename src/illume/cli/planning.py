"""What `illume fit` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from illume.cli.csv_files import MISSING, Reading
from illume.cli.errors import UsageError
from illume.cli.learning import require_csv
from illume.cli.loading import model_beside
from illume.cli.writing import require_output


@dataclass(frozen=True)
class Plan:
    """What to fit, on what, and where to."""

    train: Path
    out: Path
    target: str | None = None
    model: Path | None = None
    trainer: str | None = None
    trusted: bool = False
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    n_latents: int | str = "auto"
    rank: int | str | None = "auto"
    queries: int | str = "auto"
    effort: str = "standard"
    objective: str = "aligned"
    seed: int = 0
    held: int | str = 20_000
    unknown: Literal["error", "ignore"] = "error"
    row_budget: int | None = None
    checkpoints: Path | None = None

    @property
    def model_out(self) -> Path:
        """Where a model that is trained here goes: beside the explainer."""
        return model_beside(self.out)

    def check(self) -> None:
        """Refuse, before any work is done, what cannot work."""
        if self.model is None and self.trainer is None:
            raise UsageError(
                "which model? give yours with --model model.joblib, or let illume train one with --train gbm"
            )
        if self.model is not None and self.trainer is not None:
            raise UsageError("--model brings a model and --train makes one; give one of the two")
        if self.trainer is not None and self.target is None:
            raise UsageError("--train needs --target, the column that holds the classes")
        require_csv(self.train, self.text or None, self.number or None, self.missing)
        require_output(self.out, (".illume",), self.train, self.model)

    @property
    def reading(self) -> Reading:
        """How the cells of CSV are read."""
        return Reading(self.text, self.number, MISSING if self.missing is None else self.missing)
