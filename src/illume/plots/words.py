"""What pictures say about a result."""

from __future__ import annotations

from illume.plots.axes import as_text
from illume.plots.names import class_labels
from illume.results import text
from illume.results.attributions import Attribution, Attributions
from illume.results.predictions import Labels


def log_odds(batch: Attributions, i: int) -> str:
    """Say which log-odds are meant, with class names that fit on a line."""
    classes = tuple(class_labels(batch.class_names))
    said = f"{text.owner(batch)} " + text.output(classes[-len(batch.output_names) :], classes, i).replace(
        "\\\\$", "\\$"
    )
    return said if len(said) < 45 else said.replace(" against ", "\nagainst ", 1)


def contribution(batch: Attributions, i: int) -> str:
    """Say to what contributions are."""
    name = output_label(batch.labels, i)
    return f"contribution to {text.owner(batch)} log-odds{chr(10) if len(name) > 12 else ' '}of '{name}'"


def output_label(labels: Labels, i: int) -> str:
    """Return the short name of an output."""
    return class_labels(labels.classes)[labels.classes.index(labels.outputs[i])]


def verdict(attribution: Attribution) -> str:
    """Say what black box and surrogate decide about a row."""
    batch = attribution.batch
    decision = class_labels(batch.class_names)[int(batch.decisions[0])]
    return (
        f"{decision}, probability {attribution.probability:.3f}\n"
        f"(surrogate {attribution.surrogate_probability:.3f}, {attribution.verdict})"
    )


def row_label(batch: Attributions, row: int) -> str:
    """Name a row as the user's frame does."""
    index = batch.origin.index
    return as_text(f"row {row if index is None else index[row]}")
