"""What pictures say about a result."""

from __future__ import annotations

from illume.plots.axes import as_text
from illume.results import text
from illume.results.attribution import Attribution
from illume.results.attributions import Attributions


def log_odds(batch: Attributions, i: int) -> str:
    """Say which log-odds are meant, with class names that fit on a line."""
    outputs, classes = (tuple(map(as_text, names)) for names in (batch.output_names, batch.class_names))
    return text.output(outputs, classes, i).replace("\\\\$", "\\$")


def contribution(batch: Attributions, i: int) -> str:
    """Say to what contributions are."""
    return f"contribution to the log-odds of '{as_text(batch.output_names[i])}'"


def verdict(attribution: Attribution) -> str:
    """Say what black box and surrogate decide about a row."""
    return (
        f"{as_text(attribution.decision)}, probability {attribution.probability:.3f}\n"
        f"(surrogate {attribution.surrogate_probability:.3f}, {attribution.verdict})"
    )


def row_label(batch: Attributions, row: int) -> str:
    """Name a row as the user's frame does."""
    index = batch.origin.index
    return as_text(f"row {row if index is None else index[row]}")
