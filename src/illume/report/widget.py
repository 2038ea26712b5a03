"""The explorer as a widget of notebooks, with the kernel's model behind it and its row shared with Python."""

from __future__ import annotations

import json
import re
from typing import Any

import anywidget
import traitlets

from illume.data.frames import Frame
from illume.data.schema import Other
from illume.errors import SchemaError
from illume.explanations.fitted import Fitted
from illume.report.assemble import STYLES, bundle_module, lean, modules, read_static
from illume.report.explorer_values import json_categories, page_values
from illume.report.payload import Json
from illume.results.scenarios import read_scenarios


class PageRows:
    """Rows between a frame with the fitted columns and types, and the plain values that the page knows."""

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted
        features = fitted.schema.features
        self._known = [None if each.numeric else json_categories(each.categories) for each in features]

    def to_page(self, frame: Frame) -> list[Any]:
        """Return the values of a frame's only row."""
        (row,) = page_values(self.fitted.schema, self.fitted.row_values(frame))
        return row

    def to_frame(self, rows: list[list[Any]]) -> Frame:
        """Return rows of the page as a frame of the library and types of the fitted one."""
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in self.fitted.columns}
        for j, (feature, known) in enumerate(zip(self.fitted.schema.features, self._known, strict=True)):
            values = [row[j] for row in rows]
            if known is not None:
                back = dict(zip(known, feature.categories, strict=True))
                values = [
                    value if (found := back.get(value, value)) is Other.OTHER else found for value in values
                ]
            columns[feature.name] = values
        return self.fitted.dtypes.frame(columns)


class ExplorerWidget(anywidget.AnyWidget):
    """The explorer in a notebook; `Explainer.explore` makes it.

    Attributes
    ----------
    row
        The row as it is edited: a frame of one row with the fitted columns and types. It can be set, to
        whatever the explainer takes as a row, and observed: `widget.observe(function, "row")`.
    """

    _esm = bundle_module(modules("explorer_widget"), "{ render: renderWidget }")
    _page = traitlets.Unicode().tag(sync=True)
    _style = traitlets.Unicode().tag(sync=True)
    _live = traitlets.Bool().tag(sync=True)
    _row = traitlets.Dict().tag(sync=True)
    _scenarios = traitlets.Unicode().tag(sync=True)
    row = traitlets.Any()

    def __init__(self, fitted: Fitted, data: Json, first: Frame) -> None:
        self._rows = PageRows(fitted)
        start: Json = {"row": 0, "values": self._rows.to_page(first), "by": "python", "turn": 0}
        super().__init__(
            _page=json.dumps(data, allow_nan=False),
            _style=notebook_style(),
            _live=fitted.has_model,
            _row=start,
        )
        self.row = self._rows.to_frame([start["values"]]).native
        self.on_msg(self._answer)

    @property
    def scenarios(self) -> Any:
        """The scenarios that were kept, as `illume.load_scenarios` returns them; None if there are none."""
        return read_scenarios(self._scenarios.encode()) if self._scenarios else None

    @traitlets.validate("row")
    def _require_row(self, proposal: Any) -> Any:
        frame = self._rows.fitted.as_frame(proposal["value"])
        if len(frame) != 1:
            raise SchemaError(f"row must be one row, found {len(frame):,}; take one, such as X[:1]")
        self._rows.fitted.encode(frame)  # values that cannot be explained are refused
        return frame.native

    @traitlets.observe("row")
    def _tell_page(self, change: Any) -> None:
        values = self._rows.to_page(self._rows.fitted.as_frame(change["new"]))
        if values != self._row["values"]:
            turn = self._row["turn"] + 1
            self._row = {"row": self._row["row"], "values": values, "by": "python", "turn": turn}

    @traitlets.observe("_row")
    def _hear_page(self, change: Any) -> None:
        if change["new"]["by"] != "python":
            self.row = self._rows.to_frame([change["new"]["values"]]).native

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Answer the page's question about rows with the model's answers, or with what went wrong."""
        try:
            answers = self._rows.fitted.black_box(self._rows.to_frame(content["rows"]))
            self.send({"id": content["id"], "answers": answers.tolist()})
        except Exception as error:
            self.send({"id": content["id"], "problem": f"{type(error).__name__}: {error}"})


def notebook_style() -> str:
    """Return the page's style for a shadow root, in which widths are those of its cell.

    >>> ":root" in notebook_style() or "@media (max-width" in notebook_style()
    False
    """
    style = lean("".join(map(read_static, (*STYLES, "explorer.css"))))
    style = re.sub(r":root((?:\[[^]]*\]|:not\([^)]*\))+)", r":host(\1)", style).replace(":root", ":host")
    style = re.sub(r"(?m)^( *)body \{", r"\1.notebook {", style)
    return style.replace("@media (max-width", "@container (max-width") + read_static("widget.css")
