// Importance: bars of all rows together, and a beeswarm with a dot for every row.

import { colour, draw, extent, finder, fitCanvas, formatSigned, make, mixColours, quote, swatch } from "./text.js";

const FIRST_BARS = 12;
const SWARM_FEATURES = 8;
const SWARM_LINE = 34;

/** The names and colours of the classes. */
export const classLegend = (data) => data.classes.map((name, position) => make("span", {}, data.swatch(position), name));

/** Values scaled from the 5 % to the 95 % quantile to 0 to 1; NaN for categories and missing values. */
export function ranks({ categories, values }) {
  const numbers = values();
  const result = new Float32Array(numbers.length).fill(NaN);
  if (categories) return result;
  const known = Float64Array.from(numbers).filter((number) => !Number.isNaN(number)).sort();
  if (!known.length) return result;
  const low = known[Math.floor(0.05 * (known.length - 1))];
  const high = known[Math.ceil(0.95 * (known.length - 1))];
  const span = high - low || 1;
  numbers.forEach((number, row) => {
    if (!Number.isNaN(number)) result[row] = Math.min(Math.max((number - low) / span, 0), 1);
  });
  return result;
}

/** What gives a value from 0 to 1 its colour, or NaN the colour of what has none. */
export function valueColours(element) {
  const colours = Array.from({ length: 21 }, (_, i) => mixColours(colour(element, "small"), colour(element, "large"), i / 20));
  const none = colour(element, "none");
  return (share) => (Number.isNaN(share) ? none : colours[Math.round(20 * share)]);
}

/** Show importance below `root`, and return a function that draws it again; `changed` is told the output. */
export function createImportance(root, data, changed = () => {}) {
  const byId = finder(root);
  let output = data.binary || data.numbers ? 0 : data.positive;
  let allBars = false;

  function drawBars() {
    const sizes = data.columns.map((_, feature) =>
      (output === null ? data.importance : [data.importance[output]]).map((each) => each[feature]));
    const total = sizes.map((parts) => parts.reduce((sum, part) => sum + part, 0));
    const order = data.strongest(output);
    const largest = Math.max(...total, 1e-12);
    const shown = order.slice(0, allBars ? order.length : FIRST_BARS);
    byId("bars").replaceChildren(make("ol", {}, ...shown.map((feature) => barLine(feature, sizes[feature], total[feature], largest))));
    byId("bars-more").hidden = order.length <= FIRST_BARS;
    byId("bars-more").textContent = allBars ? "Show the strongest only" : `Show all ${order.length} features`;
  }

  function barLine(feature, parts, total, largest) {
    let start = 0;
    const rects = parts.map((part, position) => {
      const width = (100 * part) / largest;
      const rect = draw("rect", { x: start, width, height: 10, class: output === null ? data.kind(position) : "for" });
      start += width;
      return rect;
    });
    const { name } = data.columns[feature];
    return make("li", {},
      make("span", { class: "name", title: name }, name),
      make("span", { class: "bar" }, draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...rects)),
      make("span", { class: "number" }, data.sizeText(total, output)));
  }

  function drawSwarm() {
    const order = data.strongest(output).slice(0, SWARM_FEATURES);
    const columns = order.map((feature) => data.towards(output, feature));
    const [low, high] = columns.reduce(([least, most], column) => extent(column, least, most), [-1e-12, 1e-12]);
    const at = (number) => (number - low) / (high - low);
    const lines = order.map((feature, line) => {
      const { name } = data.columns[feature];
      const canvas = make("canvas", { role: "img", "aria-label": `${name}: ${words(columns[line])}` });
      return [make("div", { class: "line" }, make("span", { class: "name", title: name }, name), canvas), canvas, feature];
    });
    byId("swarm").replaceChildren(...lines.map(([line]) => line), axis(low, high, at));
    lines.forEach(([, canvas, feature], line) => drawLine(canvas, columns[line], data.columns[feature], at));
    byId("swarm-legend").replaceChildren(
      make("span", {}, swatch("low-value"), "small value"),
      make("span", {}, swatch("high-value"), "large value"),
      make("span", {}, swatch("no-value"), "category or missing"));
  }

  const words = (column) => {
    const [low, high] = extent(column);
    return `contributions from ${data.scoreText(low, output)} to ${data.scoreText(high, output)}`;
  };

  function axis(low, high, at) {
    const ends = [low, 0, high].filter((number) => number === 0 || Math.abs(at(number) - at(0)) > 0.12);
    const marks = ends.map((number) => {
      const mark = make("span", {}, number === 0 ? "0" : data.numbers ? data.scoreText(number, output) : formatSigned(number, 1));
      mark.style.left = `${100 * at(number)}%`;
      return mark;
    });
    return make("div", { class: "line" }, make("span", {}), make("p", { class: "axis" }, ...marks));
  }

  function show() {
    drawBars();
    drawSwarm();
    byId("bars-note").textContent = output === null
      ? `How much each feature moves the ${data.scaleName} of a row, on average, added up over the classes.`
      : `How much each feature moves the ${data.meaning(output)}, on average.`;
    byId("swarm-note").textContent = output === null
      ? "A dot is a row: to the right, the feature supports the class that the model decided. Colour: the feature's value."
      : `A dot is a row: to the right, the feature ${data.numbers ? "raises" : "supports"} ${quote(data.outputs[output])}. Colour: the feature's value.`;
    byId("bars-legend").replaceChildren(...(output === null ? classLegend(data) : []));
    changed(output);
  }

  if (!data.binary) {
    const select = byId("output");
    byId("output-control").hidden = false;
    if (!data.numbers) select.append(make("option", { value: "" }, "all classes"));
    data.outputs.forEach((name, position) => select.append(make("option", { value: position }, name)));
    select.value = output === null ? "" : output;
    select.addEventListener("change", () => {
      output = select.value === "" ? null : Number(select.value);
      show();
    });
  }
  byId("bars-more").addEventListener("click", () => {
    allBars = !allBars;
    drawBars();
  });
  return show;
}

function drawLine(canvas, numbers, column, share) {
  const { brush, width, height } = fitCanvas(canvas, SWARM_LINE);
  const middle = height / 2;
  const at = (number) => 4 + share(number) * (width - 8);
  brush.fillStyle = colour(canvas, "none");
  brush.fillRect(at(0) - 0.5, 0, 1, height);
  const colourOf = valueColours(canvas);
  const value = ranks(column);
  const taken = new Uint16Array(Math.ceil(width / 2) + 1);
  const most = new Uint16Array(taken.length);
  for (const number of numbers) most[Math.round(at(number) / 2)] += 1;
  const step = Math.min(2, (height - 6) / Math.max(...most, 1));
  numbers.forEach((number, row) => {
    const x = at(number);
    const bin = Math.round(x / 2);
    const place = taken[bin];
    taken[bin] += 1;
    const y = middle + (place % 2 ? 1 : -1) * Math.ceil(place / 2) * step;
    brush.fillStyle = colourOf(value[row]);
    brush.beginPath();
    brush.arc(x, y, 1.7, 0, 2 * Math.PI);
    brush.fill();
  });
}
