// What moved one answer: a table with a floating bar for each feature, from the base value to the total.

import { countText, make } from "./text.js";

export const FIRST_FEATURES = 10;

/** The contributions to an output of a row, the largest first; small ones are put together unless `all`. */
export function contributionLines(data, row, output, all) {
  const features = data.columns.map((column, feature) => ({
    name: column.name,
    value: data.text(row, feature) + (data.imputed(row).includes(feature) && !data.shapley ? " (filled with the mean)" : ""),
    size: data.contribution(output, feature)[row],
    error: data.error(output, feature, row),
  }));
  features.sort((a, b) => Math.abs(b.size) - Math.abs(a.size));
  const count = all || features.length <= FIRST_FEATURES + 1 ? features.length : FIRST_FEATURES;
  const lines = features.slice(0, count);
  const rest = features.slice(count);
  if (rest.length) lines.push({ name: countText(rest.length, "other feature"), value: "", size: rest.reduce((sum, one) => sum + one.size, 0), quiet: true });
  const offset = data.offset(row, output);
  if (offset) lines.push({ name: "offset of the row", value: "", size: offset, quiet: true });
  return lines;
}

/** One line of the table; only what differs from what it shows is changed, so that it can be updated at every key. */
function createLine() {
  const parts = {
    row: make("tr"), name: make("span", { class: "name" }), value: make("span", { class: "value" }), number: document.createTextNode(""),
    note: make("span", { class: "error" }), zero: make("span", { class: "zero-line" }), bar: make("span"),
  };
  const { row, name, value, number, note, zero, bar } = parts;
  row.append(make("th", { scope: "row" }, name, value), make("td", { class: "number" }, number, note),
    make("td", { class: "bar" }, make("span", { class: "track-line", "aria-hidden": "true" }, zero, bar)));
  const shown = {};
  const changes = {
    kind: (text) => { row.className = text; },
    name(text) {
      name.textContent = text;
      name.title = text;
    },
    value(text) {
      value.textContent = text;
      value.title = text;
      value.hidden = text === "";
    },
    number: (text) => { number.data = text; },
    note(text) {
      note.textContent = text;
      note.hidden = text === "";
    },
    start: (at) => { zero.style.transform = `translateX(${at}%)`; },
    place: (transform) => { bar.style.transform = transform; }, // moving takes no layout
    colour: (kind) => { bar.className = `bar-fill ${kind}`; },
  };
  return {
    row,
    update(next) {
      for (const [key, change] of Object.entries(changes)) {
        if (shown[key] !== next[key]) change(next[key]);
        shown[key] = next[key];
      }
    },
  };
}

/** Return {element, update}: a table of lines {name, value, size, error, note, quiet, changed}.
 *
 * `say` turns numbers into text, and a note takes the place of the error. Bars of base value and total start where the
 * decision changes: at `edge`, or with `fromZero` at zero. */
export function createWaterfall() {
  const body = make("tbody");
  const made = [];
  const element = make("table", { class: "waterfall" },
    make("colgroup", {}, ...["names", "numbers", "charts"].map((kind) => make("col", { class: kind }))),
    make("thead", { class: "unseen" }, make("tr", {}, ...["Feature", "Contribution", "Chart"].map((name) => make("th", { scope: "col" }, name)))),
    body);

  function update({ base, lines, total, fromZero, edge = null, say }) {
    const ends = [base];
    for (const line of lines) ends.push(ends[ends.length - 1] + line.size);
    const score = ends[ends.length - 1];
    // Log-odds start at zero, or at those of a threshold; numbers may be far from it, so their bars start just below the least
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const start = edge !== null ? edge : fromZero ? 0 : least - 0.08 * (most - least || 1);
    const [low, high] = [Math.min(start, least), Math.max(start, most)];
    const scale = (number) => (100 * (number - low)) / (high - low || 1);
    const bar = (from, to, colour = to >= from ? "for" : "against") => {
      const [left, right] = [scale(Math.min(from, to)), scale(Math.max(from, to))];
      return { start: scale(start).toFixed(2), place: `translateX(${left.toFixed(2)}%) scaleX(${(Math.max(right - left, 0.6) / 100).toFixed(4)})`, colour };
    };
    const noteOf = ({ note, error }) => note || (Number.isFinite(error) ? ` ± ${say.size(error)}` : "");
    const wanted = [
      { kind: "quiet", name: "base value", value: "", number: say.total(base), note: "", ...bar(start, base, "base") },
      ...lines.map((one, i) => ({
        kind: one.quiet ? "quiet" : one.changed ? "changed" : "", name: one.name, value: one.value, number: say.score(one.size), note: noteOf(one), ...bar(ends[i], ends[i + 1]),
      })),
      { kind: "sum", name: total, value: "", number: say.total(score), note: "", ...bar(start, score) },
    ];
    while (made.length < wanted.length) made.push(createLine());
    wanted.forEach((one, i) => made[i].update(one));
    if (body.rows.length !== wanted.length) body.replaceChildren(...made.slice(0, wanted.length).map(({ row }) => row));
    return element;
  }

  return { element, update };
}
