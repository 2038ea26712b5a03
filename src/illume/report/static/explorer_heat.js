// A heat map: the answer for all values of two features, the others as they are.

import { isSame, valueText, varies } from "./explorer_words.js";
import { createSlices, finish } from "./slices.js";
import { colour, fitCanvas, make, mixColours } from "./text.js";

const SIZE = 24;
const HEAT_HEIGHT = 360;

/** Draw the heat map in `box`; a click gives both features the values under it. */
export function createHeat(box, { engine, state, words, order, output }) {
  const { features, outputs } = engine;
  const usable = order.filter((j) => varies(features[j]));
  box.hidden = usable.length < 2;
  const choice = (name) => make("label", {}, name, make("select", { onchange: refresh }, ...usable.map((j) => make("option", { value: j }, features[j].label))));
  const [acrossBox, upBox] = [choice("Across"), choice("Up")];
  const [across, up] = [acrossBox, upBox].map((label) => label.querySelector("select"));
  const canvas = make("canvas", { role: "img", "aria-label": "Heat map of two features" });
  const point = make("p", { class: "tip" });
  point.hidden = true;
  const ends = { left: make("span"), right: make("span"), top: make("span"), bottom: make("span") };
  const legend = make("p", { class: "legend heat-legend" });
  let grid = null;
  let drawn = null; // the values that it was drawn for
  let waiting = 0;
  const slices = createSlices();
  let shown = typeof IntersectionObserver === "undefined";
  box.append(make("h3", {}, "Two features at once"),
    make("p", { class: "quiet" }, `What ${engine.exact ? "the model" : "the network"} says for all values of two features, the others as they are now. The ring is the row. Click to go there.`),
    make("p", { class: "heat-choice" }, acrossBox, upBox),
    make("div", { class: "heat" }, make("p", { class: "heat-up", "aria-hidden": "true" }, ends.top, ends.bottom),
      make("div", { class: "canvas" }, canvas, point), make("p", { class: "heat-across", "aria-hidden": "true" }, ends.left, ends.right)), legend);
  if (usable.length > 1) up.value = usable[1];

  const answerAt = (answers) => (words.two ? answers[outputs.positive] : answers[output()]);
  const nameOf = () => (words.two ? outputs.names[outputs.positive] : outputs.names[output()]);

  function* compute() {
    const [i, j] = [Number(across.value), Number(up.value)];
    const { values } = state;
    if (i === j || !usable.length) {
      grid = null;
      return;
    }
    const found = yield* engine.gridInSteps(values, i, j, SIZE);
    const levels = found.answers.map((line) => line.map(answerAt)); // by the first feature, then the second
    const flat = levels.flat();
    grid = { i, j, x: found.x, y: found.y, levels, low: outputs.classes ? 0 : Math.min(...flat), high: outputs.classes ? 1 : Math.max(...flat) };
    drawn = values;
  }

  const placeOf = (values, feature, value) => {
    if (feature.kind === "category") return (values.findIndex((one) => isSame(one, value)) + 0.5) / values.length;
    return value === null ? NaN : (0.5 + ((values.length - 1) * (value - values[0])) / (values[values.length - 1] - values[0])) / values.length;
  };

  function paint() {
    const { brush, width, height } = fitCanvas(canvas, HEAT_HEIGHT);
    if (!grid) return;
    const [from, middle, to] = outputs.classes ? [colour(canvas, "against"), colour(canvas, "card"), colour(canvas, "for")] : [colour(canvas, "small"), null, colour(canvas, "large")];
    const turn = words.two && outputs.threshold ? (outputs.threshold.class === outputs.positive ? outputs.threshold.value : 1 - outputs.threshold.value) : 0.5;
    const shade = (level) => {
      if (!outputs.classes) return mixColours(from, to, (level - grid.low) / (grid.high - grid.low || 1));
      return level < turn ? mixColours(from, middle, level / turn) : mixColours(middle, to, (level - turn) / (1 - turn));
    };
    const [wide, tall] = [width / grid.x.length, height / grid.y.length];
    grid.levels.forEach((line, a) => line.forEach((level, b) => {
      brush.fillStyle = shade(level);
      const [x, y] = [Math.floor(a * wide), Math.floor(height - (b + 1) * tall)];
      brush.fillRect(x, y, Math.ceil((a + 1) * wide) - x, Math.ceil(height - b * tall) - y);
    }));
    ring(brush, width, height);
    const [first, second] = [features[grid.i], features[grid.j]];
    for (const [end, feature, values, last] of [["left", first, grid.x, 0], ["right", first, grid.x, 1], ["bottom", second, grid.y, 0], ["top", second, grid.y, 1]]) {
      ends[end].textContent = valueText(feature, values[last ? values.length - 1 : 0]);
    }
    legend.replaceChildren(make("span", { class: outputs.classes ? "ramp" : "ramp numbers" }), make("span", {}, `${nameOf()}: ${words.one(grid.low, output())} to ${words.one(grid.high, output())}`));
    canvas.setAttribute("aria-label", `${nameOf()} over ${first.label} and ${second.label}: ${corners()}`);
  }

  const corners = () => {
    const [last, top] = [grid.x.length - 1, grid.y.length - 1];
    const tell = (a, b) => `${words.one(grid.levels[a][b], output())} at ${valueText(features[grid.i], grid.x[a])} and ${valueText(features[grid.j], grid.y[b])}`;
    return [[0, 0], [last, 0], [0, top], [last, top]].map(([a, b]) => tell(a, b)).join("; ");
  };

  function ring(brush, width, height) {
    const [x, y] = [placeOf(grid.x, features[grid.i], state.values[grid.i]), placeOf(grid.y, features[grid.j], state.values[grid.j])];
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    const at = [Math.min(Math.max(x, 0), 1) * width, height - Math.min(Math.max(y, 0), 1) * height];
    for (const [style, line] of [[colour(canvas, "card"), 5], [colour(canvas, "text"), 2]]) {
      brush.strokeStyle = style;
      brush.lineWidth = line;
      brush.beginPath();
      brush.arc(...at, 7, 0, 2 * Math.PI);
      brush.stroke();
    }
  }

  function cellAt(event) {
    const frame = canvas.getBoundingClientRect();
    const share = (place, size, n) => Math.min(Math.max(Math.floor((place / size) * n), 0), n - 1);
    return [share(event.clientX - frame.left, frame.width, grid.x.length), share(frame.bottom - event.clientY, frame.height, grid.y.length)];
  }

  canvas.addEventListener("click", (event) => {
    if (!grid) return;
    const [a, b] = cellAt(event);
    state.apply([{ j: grid.i, to: grid.x[a] }, { j: grid.j, to: grid.y[b] }]);
  });
  canvas.addEventListener("pointermove", (event) => {
    point.hidden = !grid;
    if (!grid) return;
    const [a, b] = cellAt(event);
    point.textContent = `${valueText(features[grid.i], grid.x[a])}, ${valueText(features[grid.j], grid.y[b])}: ${words.one(grid.levels[a][b], output())}`;
  });
  canvas.addEventListener("pointerleave", () => { point.hidden = true; });

  function refresh() {
    clearTimeout(waiting);
    slices.stop();
    waiting = setTimeout(() => {
      if (shown && !box.hidden) slices.start(compute(), paint);
    }, 200);
  }

  if (!shown) {
    new IntersectionObserver((entries) => {
      shown = entries.some((entry) => entry.isIntersecting);
      if (shown && drawn !== state.values) refresh();
    }, { rootMargin: "200px" }).observe(canvas);
  }
  return {
    update: refresh,
    redraw: () => { if (grid) paint(); },
    drawNow() {
      shown = true;
      if (box.hidden) return;
      slices.stop();
      finish(compute());
      paint();
    },
  };
}
