"""Write a report about the rows of a frame."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from illume.data import archive
from illume.errors import SchemaError
from illume.explanations.fitted import Fitted
from illume.report.card import model_name
from illume.report.collect import ReportRequest, explain_rows
from illume.report.page import Report, render


def write_report(fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ReportRequest) -> Path:
    """Write a report about the rows of a frame, and return its path; see `Explainer.report`."""
    rows, date, model = fitted.as_frame(frame), date_text(request.date), model_name(settings["model"])
    if not len(rows):
        raise SchemaError("the frame holds no rows; a report needs at least one")
    title = f"How {model.split(' (')[0]} decides" if request.title is None else str(request.title)
    explained = explain_rows(fitted, rows, request, settings["verbose"])
    page = render(Report(title, date, model, fitted, settings, explained))
    archive.write(request.path, page.encode("utf-8", "xmlcharrefreplace"))
    return request.path


def date_text(date: Any) -> str:
    """Return a date, or now, in UTC; a text is kept as it is.

    >>> date_text(dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))))
    '2026-01-31 11:30 UTC'
    >>> date_text(dt.date(2026, 1, 31)), date_text("today")
    ('2026-01-31', 'today')
    """
    if date is None:
        date = dt.datetime.now(dt.UTC)
    if isinstance(date, dt.datetime):
        known = date if date.tzinfo is not None else date.replace(tzinfo=dt.UTC)
        return f"{known.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(date, (dt.date, str)):
        return str(date)
    raise TypeError(f"date must be a date, a datetime or a string, found {type(date).__name__}")
