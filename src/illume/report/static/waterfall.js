// What moved one answer: a table with a floating bar for each feature, from the base value to the total.

import { countText, draw, make } from "./text.js";

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
  if (offset) lines.push({ name: "offset of the refinement", value: "", size: offset, quiet: true });
  return lines;
}

/** Draw lines {name, value, size, error, quiet} as a table; `say` turns numbers into text. Bars of base value and total
 * start where the decision changes: at `edge`, or with `fromZero` at zero. */
export function waterfallTable({ base, lines, total, fromZero, edge = null, say }) {
  const ends = [base];
  for (const line of lines) ends.push(ends[ends.length - 1] + line.size);
  const score = ends[ends.length - 1];
  // Log-odds start at zero, or at those of a threshold; numbers may be far from it, so their bars start just below the least
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const start = edge !== null ? edge : fromZero ? 0 : least - 0.08 * (most - least || 1);
  const [low, high] = [Math.min(start, least), Math.max(start, most)];
  const scale = (number) => (100 * (number - low)) / (high - low || 1);
  const bar = (from, to, kind) => {
    const [left, right] = [scale(Math.min(from, to)), scale(Math.max(from, to))];
    return draw("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("rect", { x: scale(start) - 0.15, y: 0, width: 0.3, height: 12, class: "zero" }),
      draw("rect", { x: left, y: 1.5, width: Math.max(right - left, 0.6), height: 9, class: kind || (to >= from ? "for" : "against") }));
  };
  const line = (kind, name, value, numbers, chart) => make("tr", { class: kind },
    make("th", { scope: "row" }, make("span", { class: "name", title: name }, name),
      value === "" ? null : make("span", { class: "value", title: value }, value)),
    make("td", { class: "number" }, ...numbers), make("td", { class: "bar" }, chart));
  const withError = ({ size, error }) => [say.score(size), Number.isFinite(error) ? make("span", { class: "error" }, ` ± ${say.size(error)}`) : null];
  return make("table", { class: "waterfall" },
    make("colgroup", {}, ...["names", "numbers", "charts"].map((kind) => make("col", { class: kind }))),
    make("thead", { class: "unseen" }, make("tr", {}, ...["Feature", "Contribution", "Chart"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {},
      line("quiet", "base value", "", [say.total(base)], bar(start, base, "base")),
      ...lines.map((one, i) => line(one.quiet ? "quiet" : "", one.name, one.value, withError(one), bar(ends[i], ends[i + 1]))),
      line("sum", total, "", [say.total(score)], bar(start, score))));
}
