"""The method of an explainer that writes a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from illume.errors import SchemaError


class Reporting:
    """Gives an explainer its `report`."""

    def report(
        self,
        frame: Any,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        rules: bool = True,
        counterfactuals: bool = True,
        n_counterfactuals: int = 2,
        max_rows: int = 10_000,
        max_counterfactual_rows: int = 1_000,
        date: Any = None,
    ) -> Path:
        """Write a report on the rows of a frame: one HTML file that needs nothing else, and return its path.

        The file holds the values of the rows it shows. The same rows and the same date give the same file.

        Parameters
        ----------
        title
            What to call it; by default after the model's class.
        rules, counterfactuals
            Whether to show rules, and counterfactuals: these take most of the time, for the model is asked
            about some hundred changed rows for each row.
        n_counterfactuals
            How many examples each row gets.
        max_rows
            Of a longer frame, so many rows are shown, evenly spaced.
        max_counterfactual_rows
            Counterfactuals are searched for so many of the shown rows, evenly spaced.
        date
            A date, a time or a text to put into the report; by default now, in UTC.
        """
        from illume.report.content import content
        from illume.report.explained import Options, explain
        from illume.report.page import page
        from illume.report.writing import destination, write

        target = destination(path)
        options = Options(rules, counterfactuals, n_counterfactuals, max_rows, max_counterfactual_rows)
        rows = self._checked(frame)  # type: ignore[attr-defined]
        if not len(rows):
            raise SchemaError("the frame holds no rows; a report needs at least one")
        return write(target, page(content(self, explain(self, rows, options), title, date)))
