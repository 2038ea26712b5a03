// Connect the parts of the report.

import { classLegend, createImportance } from "./charts.js";
import { readData } from "./data.js";
import { createDependence } from "./dependence.js";
import { createMap } from "./map.js";
import { createPanel } from "./row.js";
import { createTable } from "./table.js";
import { finder } from "./text.js";
import { startTheme } from "./theme.js";
import { importanceView, rowsView } from "./views.js";

function startReport() {
  const byId = finder(document);
  const source = byId("data");
  const data = readData(JSON.parse(source.textContent));
  source.remove();
  const views = rowsView(data);
  byId("importance-view").append(importanceView());
  byId("rows-view").append(views.map, views.table);
  const narrow = matchMedia("(max-width: 75rem)");

  function choose(row, { scroll = true } = {}) {
    table.select(row);
    map.choose(row);
    panel.show(row);
    byId("said").textContent = `Row ${data.label(row)} is shown: ${data.answer(row)}`;
    if (scroll && narrow.matches) panel.panel.scrollIntoView({ block: "start" });
  }

  const showImportance = createImportance(document, data, createDependence(document, data));
  const map = createMap(document, data, choose, (mask) => table.only(mask));
  const panel = createPanel(document, data, (row, by) => choose(table.neighbour(row, by), { scroll: false }));
  const table = createTable(document, data, choose, (mask) => map.only(mask));
  byId("map-legend").replaceChildren(...classLegend(data));

  const redraw = () => {
    showImportance();
    map.show();
    panel.stick();
  };
  redraw();
  startTheme(byId("theme"), redraw);
  window.addEventListener("resize", panel.stick);
  choose(data.firstRow, { scroll: false });
}

startReport();
