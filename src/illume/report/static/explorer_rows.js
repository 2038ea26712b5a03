// All rows: importance, beeswarm, map and table, with the report's own modules; choosing a row opens it.

import { classLegend, createImportance } from "./charts.js";
import { createMap } from "./map.js";
import { createTable } from "./table.js";
import { make } from "./text.js";
import { importanceView, rowsView } from "./views.js";

/** Show all rows in `box`; `onChoose` hears which one to open. */
export function createPopulation(box, { data, onChoose }) {
  const views = rowsView(data);
  const select = make("p", { class: "control", id: "output-control" }, make("label", { for: "output" }, data.numbers ? "Output" : "Class"), make("select", { id: "output" }));
  select.hidden = true;
  box.append(
    make("p", { class: "lead" }, "Choose a row on the map or in the table to open it. Drag over the map, search or filter to narrow them down."),
    make("div", { class: "rows-pair" }, make("div", {}, views.map), make("div", {}, views.table)),
    make("h3", { class: "overall" }, "What matters over all rows"), select, importanceView());
  const map = createMap(box, data, onChoose, (mask) => table.only(mask));
  const table = createTable(box, data, onChoose, (mask) => map.only(mask));
  const showImportance = createImportance(box, data);
  box.querySelector("#map-legend").replaceChildren(...classLegend(data));
  return {
    redraw() {
      showImportance();
      map.show();
    },
    select(row) {
      table.select(row);
      map.choose(row);
    },
    neighbour: table.neighbour,
  };
}
