// The elements of the views of all rows: importance, map, filters and table; other modules fill them.

import { make } from "./text.js";

const MAP_KEYS = "Map of the rows. Arrow keys go to the nearest row in that direction, Enter selects it. The table below lists the same rows.";
const TABLE_KEYS = "Keys: ↑ ↓ move, Page Up and Page Down turn pages, Home and End go to the first and last row, ← → scroll, Enter selects.";

const figureOf = (name, note, ...parts) => make("figure", {}, make("figcaption", {}, make("b", {}, name), note), ...parts);
const ghost = (id, text, attributes = {}) => make("button", { type: "button", id, class: "ghost", ...attributes }, text);

/** The bars and the beeswarm that `createImportance` draws. */
export function importanceView() {
  const note = (id) => make("span", { id });
  const more = ghost("bars-more", "");
  more.hidden = true;
  return make("div", { class: "pair" },
    figureOf("Mean size of contributions", note("bars-note"),
      make("div", { id: "bars", class: "bars" }), make("p", { class: "legend", id: "bars-legend" }), make("p", {}, more)),
    figureOf("Every row's contributions", note("swarm-note"),
      make("div", { id: "swarm", class: "swarm" }), make("p", { class: "legend", id: "swarm-legend" })));
}

/** The map that `createMap` draws, and the filters and the table that `createTable` fills. */
export function rowsView(data) {
  const tip = make("div", { id: "tip", class: "tip" });
  tip.hidden = true;
  const canvas = make("canvas", { id: "map", tabindex: 0, role: "application", "aria-roledescription": "map", "aria-label": MAP_KEYS });
  const map = figureOf("Map of the rows", make("span", {}, `${data.mapNote} Drag over the map to keep only the rows in a rectangle.`),
    make("div", { class: "canvas" }, canvas, tip),
    make("p", { class: "legend", id: "map-legend" }), make("p", { class: "unseen", id: "said", "aria-live": "polite" }));
  map.className = "map";
  const choice = (id, name, options) => make("p", { id: `${id}-box` }, make("label", { for: id }, name),
    make("select", { id }, ...[["", "all"], ...options].map(([value, text]) => make("option", { value }, text))));
  const find = make("input", { type: "search", id: "find", placeholder: `row, ${data.noun} or value`, autocomplete: "off", spellcheck: "false" });
  const tools = make("div", { class: "tools", role: "search", "aria-label": "Find rows" },
    make("p", {}, make("label", { for: "find" }, "Search"), find),
    choice("by-decision", data.noun[0].toUpperCase() + data.noun.slice(1), data.classes.map((name, position) => [position, name])),
    choice("by-right", "Model", [["right", "right"], ["wrong", "wrong"]]),
    choice("by-trust", "Trust", [["low", "low"], ["fine", "not low"]]),
    choice("by-example", "Counterfactual", [["found", "found"]]));
  const under = make("div", { class: "under" }, make("p", { id: "shown", class: "shown", role: "status" }), ghost("reset", "Reset filters"));
  const table = make("div", { class: "wide", id: "table-box" },
    make("table", { id: "table", role: "grid", "aria-label": "Rows. Arrow keys move, Enter selects.", "aria-describedby": "table-help" }, make("thead"), make("tbody")));
  const turn = (id, name, sign) => ghost(id, sign, { "aria-label": name });
  const pager = make("p", { class: "pager" }, turn("first", "First page", "«"), turn("back", "Page before", "‹"),
    make("span", { id: "page-now" }), turn("next", "Next page", "›"), turn("last", "Last page", "»"));
  return { map, table: make("div", {}, tools, under, table, pager, make("p", { id: "table-help", class: "quiet help" }, TABLE_KEYS)) };
}
