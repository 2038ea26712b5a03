// Importance: bars of all rows together, and a beeswarm with a dot for every row.

const FIRST_BARS = 12;
let allBars = false;

function importanceBars(output) {
  const sizes = data.columns.map((_, feature) =>
    output === null
      ? data.importance.map((each) => each[feature])
      : [data.importance[output][feature]]);
  const total = sizes.map((parts) => parts.reduce((sum, part) => sum + part, 0));
  const order = [...total.keys()].sort((a, b) => total[b] - total[a] || a - b);
  const largest = Math.max(...total, 1e-12);
  const shown = order.slice(0, allBars ? order.length : FIRST_BARS);
  const stacked = output === null && !data.binary && !data.numbers;
  byId("bars").replaceChildren(make("ol", {}, ...shown.map((feature) => barLine(feature, sizes[feature], total[feature], largest, stacked, output))));
  byId("bars-more").hidden = order.length <= FIRST_BARS;
  byId("bars-more").textContent = allBars ? "Show the strongest only" : `Show all ${order.length} features`;
}

function barLine(feature, parts, total, largest, stacked, output) {
  let start = 0;
  const rects = parts.map((part, position) => {
    const width = (100 * part) / largest;
    const rect = draw("rect", { x: start, width, height: 10, class: stacked ? classKind(position) : "for" });
    start += width;
    return rect;
  });
  const { name } = data.columns[feature];
  return make("li", {},
    make("span", { class: "name", title: name }, name),
    make("span", { class: "bar" }, draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...rects)),
    make("span", { class: "number" }, sizeText(total, output)));
}

function classLegend(disagreements) {
  const entries = data.classes.map((name, position) =>
    make("span", {}, classSwatch(position), name));
  if (disagreements) entries.push(make("span", {}, swatch("ring", 0), "surrogate disagrees"));
  return entries;
}

function swatch(kind, shape) {
  const mark = shape % 2
    ? draw("rect", { x: 2, y: 2, width: 8, height: 8, class: kind })
    : draw("circle", { cx: 6, cy: 6, r: 4.2, class: kind });
  return draw("svg", { viewBox: "0 0 12 12", class: "swatch", "aria-hidden": "true" }, mark);
}

function startImportance() {
  let output = data.binary || data.numbers ? 0 : null;
  const select = byId("output");
  const show = () => {
    importanceBars(output);
    drawSwarm(output);
    byId("bars-note").textContent = output === null
      ? "How much each feature moves the log-odds of a row, on average, added up over the classes."
      : `How much each feature moves the ${data.meaning(output)}, on average.`;
    byId("swarm-note").textContent = output === null
      ? "A dot is a row: to the right, the feature supports the class that the model decided. Colour: the feature's value."
      : `A dot is a row: to the right, the feature ${data.numbers ? "raises" : "supports"} ${quote(data.outputs[output])}. Colour: the feature's value.`;
    byId("bars-legend").replaceChildren(...(output === null ? classLegend(false) : []));
  };
  if (!data.binary) {
    byId("output-control").hidden = false;
    if (!data.numbers) select.append(make("option", { value: "" }, "all classes"));
    data.outputs.forEach((name, position) => select.append(make("option", { value: position }, name)));
    select.addEventListener("change", () => {
      output = select.value === "" ? null : Number(select.value);
      show();
    });
  }
  byId("bars-more").addEventListener("click", () => {
    allBars = !allBars;
    importanceBars(output);
  });
  show();
  return show;
}

const SWARM_FEATURES = 8;
const SWARM_LINE = 34;

/** Contributions of a feature to one output, or to each row's decided class. */
function towards(output, feature) {
  if (output !== null) return data.contribution(output, feature);
  const each = data.outputs.map((_, position) => data.contribution(position, feature));
  return Float32Array.from(data.decision, (decided, row) => each[decided][row]);
}

function drawSwarm(output) {
  const box = byId("swarm");
  const added = (feature) => data.importance.reduce((sum, one) => sum + one[feature], 0);
  const sizes = output === null ? data.columns.map((_, feature) => added(feature)) : data.importance[output];
  const order = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b).slice(0, SWARM_FEATURES);
  const columns = order.map((feature) => towards(output, feature));
  const [low, high] = columns.reduce(([least, most], column) => extent(column, least, most), [-1e-12, 1e-12]);
  const at = (number) => (number - low) / (high - low);
  const lines = order.map((feature, line) => {
    const { name } = data.columns[feature];
    const canvas = make("canvas", { role: "img", "aria-label": `${name}: ${swarmWords(columns[line])}` });
    return [make("div", { class: "line" }, make("span", { class: "name", title: name }, name), canvas), canvas, feature];
  });
  box.replaceChildren(...lines.map(([line]) => line),
    swarmAxis(low, high, at, output));
  lines.forEach(([, canvas, feature], line) => drawLine(canvas, columns[line], feature, at));
  byId("swarm-legend").replaceChildren(
    make("span", {}, swatch("low-value", 0), "small value"),
    make("span", {}, swatch("high-value", 0), "large value"),
    make("span", {}, swatch("no-value", 0), "category or missing"));
}

function swarmAxis(low, high, at, output) {
  const ends = [low, 0, high].filter((number) => number === 0 || Math.abs(at(number) - at(0)) > 0.12);
  const marks = ends.map((number) => {
    const mark = make("span", {}, number === 0 ? "0" : data.numbers ? scoreText(number, output) : formatSigned(number, 1));
    mark.style.left = `${100 * at(number)}%`;
    return mark;
  });
  return make("div", { class: "line" }, make("span", {}), make("p", { class: "axis" }, ...marks));
}

function swarmWords(column) {
  const [low, high] = extent(column);
  return `contributions from ${formatSigned(low)} to ${formatSigned(high)}`;
}

/** Fit a canvas to its place on the screen, with sharp pixels. */
function fitCanvas(canvas, height) {
  const width = canvas.clientWidth || 300;
  const ratio = Math.max(window.devicePixelRatio || 1, 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const brush = canvas.getContext("2d");
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.clearRect(0, 0, width, height);
  return { brush, width, height };
}

/** Values scaled from the 5 % to the 95 % quantile to 0 to 1; NaN for categories and missing values. */
function ranks(feature) {
  const { categories, values } = data.columns[feature];
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

function mixColours(from, to, share) {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((hex) => parseInt(hex.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * share);
  });
  return `rgb(${parts.join(",")})`;
}

function drawLine(canvas, column, feature, share) {
  const { brush, width, height } = fitCanvas(canvas, SWARM_LINE);
  const middle = height / 2;
  const at = (number) => 4 + share(number) * (width - 8);
  brush.fillStyle = colour("none");
  brush.fillRect(at(0) - 0.5, 0, 1, height);
  const colours = Array.from({ length: 21 }, (_, i) => mixColours(colour("small"), colour("large"), i / 20));
  const grey = colour("none");
  const value = ranks(feature);
  const taken = new Uint16Array(Math.ceil(width / 2) + 1);
  const most = new Uint16Array(taken.length);
  for (const number of column) most[Math.round(at(number) / 2)] += 1;
  const crowd = Math.max(...most);
  const step = Math.min(2, (height - 6) / Math.max(crowd, 1));
  column.forEach((number, row) => {
    const x = at(number);
    const bin = Math.round(x / 2);
    const place = taken[bin];
    taken[bin] += 1;
    const y = middle + (place % 2 ? 1 : -1) * Math.ceil(place / 2) * step;
    brush.fillStyle = Number.isNaN(value[row]) ? grey : colours[Math.round(20 * value[row])];
    brush.beginPath();
    brush.arc(x, y, 1.7, 0, 2 * Math.PI);
    brush.fill();
  });
}
