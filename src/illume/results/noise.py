"""How far a model's answers to the same rows are apart."""

from __future__ import annotations

from dataclasses import dataclass

from illume.data.outputs import Outputs


@dataclass(frozen=True)
class Noise:
    """How far a model's answers to the same rows are apart when it is asked again.

    Parameters
    ----------
    largest, typical
        The largest difference, and the median over the rows: of probabilities, or of numbers in standard
        deviations of the model's answers.
    decisions
        Share of the rows that are decided otherwise, or whose numbers do not agree.
    n_rows
        Number of rows that were asked again.
    """

    largest: float
    typical: float
    decisions: float
    n_rows: int

    def describe(self, outputs: Outputs) -> str:
        """Return the figures as text, those of a single number in its own unit.

        >>> from illume.data.class_outputs import Classes
        >>> print(Noise(0.12, 0.05, 0.25, 64).describe(Classes(("no", "yes"))))
        asked again, the model answers otherwise, by up to 0.12, typically by 0.05; 25% of 64 decisions differ
        """
        single = len(outputs.unit) == 1
        unit = float(outputs.unit[0]) if single else 1.0
        scale = "" if single else " standard deviations"
        what = "decisions differ" if outputs.decides else "answers are clearly apart"
        return (
            f"asked again, the model answers otherwise, by up to {self.largest * unit:.2g}{scale}, typically "
            f"by {self.typical * unit:.2g}; {self.decisions:.0%} of {self.n_rows} {what}"
        )
