"""The pages that an explainer writes: report and explorer."""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from illume.errors import LeftOutError

if TYPE_CHECKING:
    from illume.explanations.fitted import Fitted
    from illume.report.widget import ExplorerWidget


class Pages:
    """Pages about the rows of a frame, one HTML file each; modules behind them are imported when needed."""

    fit_rules: Any
    get_params: Any
    _deciding: Any
    _require_fitted: Any
    _without_model: Any

    def report(
        self,
        frame: Any,
        path: str | PathLike[str] | None = None,
        *,
        y: Any = None,
        title: str | None = None,
        rules: bool = True,
        counterfactuals: bool = True,
        n_counterfactuals: int = 2,
        max_rows: int = 10_000,
        max_counterfactual_rows: int = 1_000,
        date: Any = None,
        positive_class: Any = None,
        background: Any = None,
        **options: Any,
    ) -> Path:
        """Write a report on the rows of a frame: one self-contained HTML file, and return its path.

        The file holds the values of the rows it shows. The same rows and the same date give the same file.

        Parameters
        ----------
        path
            File to write or replace; by default `report.html`, or `report-2.html` and so on if that is there.
        y, rules, counterfactuals
            True answers, to show how right the model is; whether to show rules, and (slow) counterfactuals.
        n_counterfactuals, max_rows, max_counterfactual_rows
            Examples per row, rows to show, and rows to search counterfactuals for, evenly spaced.
        title, date, positive_class
            By default the model's class, now, in UTC, and the explainer's positive class.
        background
            Other rows that contributions compare with, a frame, than those of the fit.
        options
            Those of `counterfactuals`, such as `immutable`, `direction`, `desired_class` or `desired_range`.
            With a `threshold`, decisions in all of the report are those of it.
        """
        from illume.explanations.attributions import against
        from illume.report.collect import ReportRequest, require_page
        from illume.report.page import write_report

        page = require_page(path, "report")
        explainer = self._deciding(options.get("threshold"))
        decides = not explainer.fitted_.monotony
        limits = (n_counterfactuals, max_rows, max_counterfactual_rows)
        shown = (rules and decides, counterfactuals and decides)
        request = ReportRequest(*limits, *shown, title, date, y, options)
        fitted = (explainer.fit_rules() if any(shown) else explainer).fitted_
        settings = explainer.get_params(deep=False)
        if positive_class is not None:
            settings["positive_class"] = positive_class
        fitted = against(fitted.towards(positive_class), background)
        return write_report(fitted, settings, frame, request, page)

    def explorer(
        self,
        frame: Any,
        path: str | PathLike[str] | None = None,
        *,
        title: str | None = None,
        counterfactuals: bool = True,
        max_rows: int = 1_000,
        max_counterfactual_rows: int = 1_000,
        date: Any = None,
        hold_model: bool = True,
        rules: bool = True,
        **options: Any,
    ) -> Path:
        """Write a page in which rows can be changed, and are explained anew at once; return its path.

        One HTML file that needs no network. It holds what stands for the model: where that was read exactly,
        the **model itself**, so that who has the page has the model, and all answers are its own; else a
        network that learned it. It holds the values of the rows that it shows, and counterfactuals, too.

        Parameters
        ----------
        path, title, date
            As in `report`.
        counterfactuals
            Whether to search them (slow) on the model; the page finds others by itself.
        max_rows, max_counterfactual_rows
            Rows to show, and rows to search counterfactuals for: those with the unwanted decision first.
        hold_model
            Whether the page may hold the model itself. If not, a learned twin answers; it is trained now, in
            up to half a minute. Of a loaded explainer only if it was fitted with `twin="learned"`.
        rules
            Whether to show rules, and flips that the model confirmed: both train the latent surrogate first,
            where that was not done yet. Without them, a page that holds the model is there in a second.
        options
            Those of `counterfactuals`, such as `immutable`, `direction`, `permitted_range` or
            `desired_class`: what the page's own search for flips starts with, too.
        """
        from illume.report.collect import require_page
        from illume.report.explorer import ExplorerRequest, write_explorer

        page = require_page(path, "explorer")
        limits = (max_rows, max_counterfactual_rows, counterfactuals)
        request = ExplorerRequest(*limits, title, date, hold_model, options)
        explainer = self._deciding(options.get("threshold"))
        fitted = explainer._fit_for_pages(rules, hold_model)
        return write_explorer(fitted, self.get_params(deep=False), frame, request, page)

    def explore(
        self,
        frame: Any,
        *,
        counterfactuals: bool = True,
        max_rows: int = 1_000,
        max_counterfactual_rows: int = 1_000,
        hold_model: bool = True,
        rules: bool = True,
        **options: Any,
    ) -> ExplorerWidget:
        """Return the explorer as a widget of notebooks, with the model behind it; needs the extra `notebook`.

        The page asks the model in the kernel about each changed row, and shows its answer first; what it
        computes itself stands beside it. `widget.row` is the edited row as a frame, and can be set;
        `widget.scenarios` are those that were kept. Rows and options are as in `explorer`.
        """
        from illume.errors import import_extra

        import_extra("anywidget", "notebook")
        from illume.report.explorer import ExplorerRequest, explorer_data
        from illume.report.widget import ExplorerWidget

        request = ExplorerRequest(
            max_rows=max_rows,
            max_counterfactual_rows=max_counterfactual_rows,
            counterfactuals=counterfactuals,
            hold_model=hold_model,
            options=options,
        )
        fitted = self._deciding(options.get("threshold"))._fit_for_pages(rules, hold_model)
        data = explorer_data(fitted, self.get_params(deep=False), frame, request)
        return ExplorerWidget(fitted, data, fitted.as_frame(frame).slice(0, 1))

    def _fit_for_pages(self, rules: bool = True, hold_model: bool = True) -> Fitted:
        """Return what was learned, with rules if there can be some, and the model decides in several ways."""
        fitted: Fitted = self._require_fitted() if hold_model else self._without_model()
        if rules and not fitted.monotony:
            with suppress(LeftOutError):  # of a file that holds none
                fitted.rules()
        return fitted
