// Bars of global importance.

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
  const stacked = output === null && !data.binary;
  byId("bars").replaceChildren(make("ol", {}, ...shown.map((feature) => barLine(feature, sizes[feature], total[feature], largest, stacked))));
  byId("bars-more").hidden = order.length <= FIRST_BARS;
  byId("bars-more").textContent = allBars ? "Show the strongest only" : `Show all ${order.length} features`;
}

function barLine(feature, parts, total, largest, stacked) {
  let start = 0;
  const rects = parts.map((part, output) => {
    const width = (100 * part) / largest;
    const rect = draw("rect", { x: start, width, height: 10, class: stacked ? classKind(output) : "for" });
    start += width;
    return rect;
  });
  const { name } = data.columns[feature];
  return make("li", {},
    make("span", { class: "name", title: name }, name),
    make("span", { class: "bar" }, draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...rects)),
    make("span", { class: "number" }, fixed(total)));
}

function classLegend(disagreements) {
  const entries = data.classes.map((name, position) =>
    make("span", {}, classSwatch(position), name));
  if (disagreements) entries.push(make("span", {}, swatch("ring", 0), "surrogate decided otherwise"));
  return entries;
}

function swatch(kind, shape) {
  const mark = shape % 2
    ? draw("rect", { x: 2, y: 2, width: 8, height: 8, class: kind })
    : draw("circle", { cx: 6, cy: 6, r: 4.2, class: kind });
  return draw("svg", { viewBox: "0 0 12 12", class: "swatch", "aria-hidden": "true" }, mark);
}

function startImportance() {
  let output = data.binary ? 0 : null;
  const select = byId("output");
  const show = () => {
    importanceBars(output);
    drawSwarm(output);
    byId("bars-note").textContent = output === null
      ? "How much each feature moves the log-odds of a row, on average, added up over the classes."
      : `How much each feature moves the ${data.meaning(output)}, on average.`;
    byId("swarm-note").textContent = output === null
      ? "A dot is a row: to the right, the feature speaks for the class that the model decided. Colour: the feature's value."
      : `A dot is a row: to the right, the feature speaks for ${inQuotes(data.outputs[output])}. Colour: the feature's value.`;
    byId("bars-legend").replaceChildren(...(output === null ? classLegend(false) : []));
  };
  if (!data.binary) {
    byId("output-control").hidden = false;
    select.append(make("option", { value: "" }, "all classes"));
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
