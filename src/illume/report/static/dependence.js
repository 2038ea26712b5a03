// How contributions depend on values: a small chart for each of the strongest features.

import { ranks, valueColours } from "./charts.js";
import { once } from "./packed.js";
import { colour, extent, finder, fitCanvas, make, shortNumber, swatch } from "./text.js";

const N_FEATURES = 6;
const CHART_HEIGHT = 170;
const GOLDEN = 0.6180339887498949;
const N_GROUPS = 12; // of rows with like values
const N_COLOURED = 8; // categories with a colour; of more, the rarest share one
const LEAST_SHARE = 0.15; // of what values leave open that a partner must explain to be shown

/** Groups of rows by value: categories, or equally many rows each; the missing ones are a group. */
function groupRows({ categories, values }, n) {
  const numbers = values();
  if (categories) return { of: numbers, count: categories.length };
  const known = Float64Array.from(numbers).filter((number) => !Number.isNaN(number)).sort();
  const cuts = Array.from({ length: n - 1 }, (_, i) => known[Math.floor(((i + 1) * known.length) / n)]);
  const of = Uint8Array.from(numbers, (number) => (Number.isNaN(number) ? n : cuts.reduce((place, cut) => place + (number >= cut), 0)));
  return { of, count: n + 1 };
}

/** The sum of squares within the cells of two groupings. */
function within(heights, first, second) {
  const size = first.count * second.count;
  const [sums, squares, counts] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  heights.forEach((height, row) => {
    const cell = first.of[row] * second.count + second.of[row];
    sums[cell] += height;
    squares[cell] += height * height;
    counts[cell] += 1;
  });
  let rest = 0;
  let used = 0;
  counts.forEach((count, cell) => {
    if (count) {
      rest += squares[cell] - (sums[cell] * sums[cell]) / count;
      used += 1;
    }
  });
  return rest / Math.max(heights.length - used, 1); // fewer rows a cell explain more by chance
}

/** The feature whose values explain most of what the values of another leave open; -1 if none does.
 * `thirds` are the groups of each column. */
export function findPartner(data, feature, heights, thirds) {
  const own = groupRows(data.columns[feature], N_GROUPS);
  const open = within(heights, own, { of: new Uint8Array(data.n), count: 1 });
  let best = -1;
  let least = (1 - LEAST_SHARE) * open;
  data.columns.forEach((column, other) => {
    if (other === feature || (column.categories && column.categories.length > N_GROUPS)) return;
    const rest = within(heights, own, thirds[other]());
    if (rest < least) [best, least] = [other, rest];
  });
  return open > 1e-12 ? best : -1;
}

/** The ends of an axis, its marks [number, text, kind], and how far equal values are spread. */
function scale(known) {
  const distinct = [...new Set(known)];
  if (distinct.length <= 10) {
    const gap = Math.min(...distinct.slice(1).map((number, i) => number - distinct[i]), 1e300);
    const room = distinct.length > 1 ? gap / 2 : Math.abs(distinct[0]) || 1;
    return [distinct[0] - room, distinct[distinct.length - 1] + room, distinct.map((number) => [number, shortNumber(number), ""]), room];
  }
  const last = known.length - 1;
  const [least, most, low, high] = [known[0], known[last], known[Math.floor(0.01 * last)], known[Math.ceil(0.99 * last)]];
  // Where a few far values would squeeze all others, they stand at the edge
  const cut = high > low && high - low < 0.6 * (most - least);
  if (!cut) return [least, most, [[least, shortNumber(least), "start"], [most, shortNumber(most), "end"]], 0];
  const first = low > least ? "≤ " : "";
  return [low, high, [[low, first + shortNumber(low), "start"], [high, `≥ ${shortNumber(high)}`, "end"]], 0];
}

/** Show dependence below `root`; the result draws it for an output, or with null for the decided class. */
export function createDependence(root, data) {
  const box = finder(root)("dependence");
  const partners = new Map();
  const thirds = data.columns.map((column) => once(() => groupRows(column, 3)));

  function partnerOf(output, feature, heights) {
    const key = `${output} ${feature}`;
    if (!partners.has(key)) partners.set(key, findPartner(data, feature, heights, thirds));
    return partners.get(key);
  }

  /** Where values stand from 0 to 1, with marks below; missing numbers stand in a band of their own. */
  function places({ categories, values }) {
    const numbers = values();
    if (categories) {
      const width = 1 / categories.length;
      const marks = categories.map((name, i) => [(i + 0.5) * width, name, ""]);
      return { at: (row) => (numbers[row] + 0.5 + 0.6 * ((row * GOLDEN) % 1 - 0.5)) * width, marks: width < 0.08 ? [] : marks };
    }
    const known = Float64Array.from(numbers).filter((number) => !Number.isNaN(number)).sort();
    if (!known.length) return { at: () => 0.5, marks: [[0.5, "missing"]] };
    const room = known.length < numbers.length ? 0.83 : 1;
    const [low, high, marks, gap] = scale(known);
    const spread = (row) => (row * GOLDEN) % 1 - 0.5;
    const share = (number) => (room * (Math.min(Math.max(number, low), high) - low)) / (high - low);
    const placed = marks.map(([number, text, kind]) => [share(number), text, kind]);
    if (room < 1) placed.push([0.95, "missing", ""]);
    return { at: (row) => (Number.isNaN(numbers[row]) ? 0.95 + 0.06 * spread(row) : share(numbers[row] + gap * spread(row))), marks: placed };
  }

  function words(feature, heights) {
    const { name, categories } = data.columns[feature];
    const { of, count } = groupRows(data.columns[feature], categories ? 1 : 4);
    const means = Array.from({ length: count }, (_, group) => {
      const some = heights.filter((__, row) => of[row] === group);
      return some.length ? some.reduce((sum, one) => sum + one, 0) / some.length : NaN;
    });
    const parts = categories || ["lowest quarter", "second quarter", "third quarter", "highest quarter", "missing"];
    const said = parts.map((part, i) => [part, means[i]]).filter(([, mean]) => Number.isFinite(mean)).slice(0, 12);
    return `Mean contribution of ${name} by value: ${said.map(([part, mean]) => `${part} ${data.scoreText(mean, null)}`).join(", ")}.`;
  }

  function colouring(canvas, partner) {
    if (partner < 0) return { of: () => colour(canvas, "for"), legend: [] };
    const column = data.columns[partner];
    if (column.categories) {
      const codes = column.values();
      const counts = column.categories.map(() => 0);
      for (const code of codes) counts[code] += 1;
      const often = [...counts.keys()].filter((code) => counts[code]).sort((a, b) => counts[b] - counts[a] || a - b);
      const shown = often.length > N_COLOURED ? often.slice(0, N_COLOURED - 1) : often;
      const legend = shown.map((code, i) => make("span", {}, swatch(`class-${i}`), column.categories[code]));
      if (shown.length < often.length) legend.push(make("span", {}, swatch("no-value"), "other"));
      const colours = column.categories.map((_, code) => colour(canvas, shown.includes(code) ? `c${shown.indexOf(code)}` : "none"));
      return { of: (row) => colours[codes[row]], legend };
    }
    const [value, colourOf] = [ranks(column), valueColours(canvas)];
    return { of: (row) => colourOf(value[row]), legend: [make("span", {}, swatch("low-value"), "small"), make("span", {}, swatch("high-value"), "large")] };
  }

  function chart(feature, output) {
    const { name } = data.columns[feature];
    const heights = data.towards(output, feature);
    const partner = partnerOf(output, feature, heights);
    const { at, marks } = places(data.columns[feature]);
    const canvas = make("canvas", { role: "img", "aria-label": words(feature, heights) });
    const [low, high] = extent(heights, 0, 0);
    const wordy = marks.length <= 5 && marks.some(([, text]) => text.length > 12); // there is room for lines
    const axis = make("p", { class: `marks ${wordy ? "wordy" : ""}`, "aria-hidden": "true" }, ...marks.map(([share, text, kind]) => {
      const mark = make("span", { title: text, class: kind }, text);
      mark.style.left = `${100 * share}%`;
      if (data.columns[feature].categories) mark.style.maxWidth = `${100 / marks.length}%`;
      return mark;
    }));
    const legend = make("p", { class: "legend" });
    const figure = make("figure", {},
      make("figcaption", {}, make("b", { title: name }, name), make("span", {}, `${data.scoreText(low, output)} to ${data.scoreText(high, output)}`)),
      make("div", { class: "plot" }, canvas, axis), legend);
    return { figure, paint: () => {
      const { of, legend: entries } = colouring(canvas, partner);
      legend.replaceChildren(...(partner < 0 ? [] : [make("span", {}, `Colour: ${data.columns[partner].name}`), ...entries]));
      paintDots(canvas, heights, at, of, [low, high]);
    } };
  }

  return (output) => {
    const charts = data.strongest(output).slice(0, N_FEATURES).map((feature) => chart(feature, output));
    box.replaceChildren(...charts.map(({ figure }) => figure));
    for (const { paint } of charts) paint();
  };
}

function paintDots(canvas, heights, at, colourOf, [low, high]) {
  const { brush, width, height } = fitCanvas(canvas, CHART_HEIGHT);
  const span = high - low || 1;
  const up = (number) => height - 8 - ((number - low) / span) * (height - 16);
  brush.fillStyle = colour(canvas, "none");
  brush.fillRect(0, up(0) - 0.5, width, 1);
  const size = heights.length > 4000 ? 1.5 : heights.length > 800 ? 2 : 2.6;
  brush.globalAlpha = heights.length > 800 ? 0.6 : 0.8;
  heights.forEach((number, row) => {
    brush.fillStyle = colourOf(row);
    brush.beginPath();
    brush.arc(5 + at(row) * (width - 10), up(number), size, 0, 2 * Math.PI);
    brush.fill();
  });
  brush.globalAlpha = 1;
}
