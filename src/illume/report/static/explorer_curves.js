// Response curves: the answer, and the feature's contribution, over the feature's whole range.

import { isSame, rangeOf, valueText } from "./explorer_words.js";
import { draw, formatGrouped, make, percent } from "./text.js";

const POINTS = 33;
const PAUSE = 120; // milliseconds without an edit before curves are drawn anew
const [WIDE, HIGH] = [100, 40];
const FLAT = 0.01; // as a share of all probabilities, or of a standard deviation

const later = (work) => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: 500 }) : setTimeout(work, 16));

/** What is above or below zero of a line of points [x, y], as a closed path. */
function areaPath(points, zero, sign) {
  const kept = points.map(([x, y]) => [x, sign > 0 ? Math.min(y, zero) : Math.max(y, zero)]);
  return `M${kept[0][0]} ${zero}${kept.map(([x, y]) => `L${x.toFixed(2)} ${y.toFixed(2)}`).join("")}L${kept[kept.length - 1][0]} ${zero}z`;
}

/** Draw curves of features that are on the screen, in idle time; `output` gives the explained output. */
export function createCurve(engine, state, output) {
  const { outputs } = engine;
  const stale = new Set();
  const visible = new Set();
  const parts = new Map();
  const owners = new Map(); // the feature of an observed element
  let waiting = 0;
  let running = false;
  const watcher = typeof IntersectionObserver === "undefined" ? null : new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const j = owners.get(target);
      if (isIntersecting) visible.add(j);
      else visible.delete(j);
    }
    schedule();
  }, { rootMargin: "100px" });

  /** The answer that is drawn for an explained output: a probability, or a number. */
  const answerOf = (answers, o) => (outputs.classes && outputs.names.length === 2 ? answers[outputs.positive] : answers[o]);

  function schedule() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (!running) {
        running = true;
        later(work);
      }
    }, PAUSE);
  }

  const next = () => [...stale].find((j) => !watcher || visible.has(j));

  function work(deadline) {
    running = false;
    const began = performance.now();
    for (let j = next(); j !== undefined; j = next()) {
      paint(j);
      if (performance.now() - began > 4 || (deadline && deadline.timeRemaining && deadline.timeRemaining() < 4)) break;
    }
    if (next() !== undefined && !running) {
      running = true;
      later(work);
    }
  }

  function paint(j) {
    stale.delete(j);
    const feature = engine.features[j];
    const o = output();
    const found = engine.curve(state.values, j, POINTS);
    if (found.x.length < 2) return;
    const heights = found.contributions.map((each) => each[o]);
    const answers = found.answers.map((each) => answerOf(each, o));
    const part = parts.get(j);
    part.drawing.replaceChildren(...(feature.kind === "number" ? numberCurve(found.x, heights, answers, part) : categoryBars(found.x, heights, answers, part)));
    part.flat.textContent = flatWords(answers, o);
    part.element.setAttribute("aria-label", words(feature, found.x, answers, o));
    move(j);
  }

  function scales(heights, answers) {
    const most = Math.max(...heights.map(Math.abs), 1e-9);
    const [low, high] = outputs.classes ? [0, 1] : [Math.min(...answers), Math.max(...answers)];
    return {
      up: (height) => HIGH / 2 - (height / most) * (HIGH / 2 - 2),
      level: (answer) => HIGH - 2 - ((answer - low) / (high - low || 1)) * (HIGH - 4),
    };
  }

  function numberCurve(x, heights, answers, part) {
    const [low, high] = rangeOf(engine.features[part.j]);
    const { up, level } = scales(heights, answers);
    part.at = (value) => (WIDE * (value - low)) / (high - low || 1);
    const points = x.map((value, i) => [part.at(value), up(heights[i])]);
    const line = x.map((value, i) => `${i ? "L" : "M"}${part.at(value).toFixed(2)} ${level(answers[i]).toFixed(2)}`).join("");
    return [
      draw("path", { d: areaPath(points, HIGH / 2, 1), class: "for" }),
      draw("path", { d: areaPath(points, HIGH / 2, -1), class: "against" }),
      draw("path", { d: `M0 ${HIGH / 2}H${WIDE}`, class: "axis-line" }),
      draw("path", { d: line, class: "answer-line" }),
    ];
  }

  function categoryBars(x, heights, answers, part) {
    const { up, level } = scales(heights, answers);
    const width = WIDE / x.length;
    part.at = (value) => (x.findIndex((one) => isSame(one, value)) + 0.5) * width;
    const bars = heights.map((height, i) => draw("rect", {
      x: (i + 0.15) * width, width: 0.7 * width, y: Math.min(up(height), HIGH / 2), height: Math.max(Math.abs(up(height) - HIGH / 2), 0.4), class: height >= 0 ? "for" : "against",
    }));
    const levels = answers.map((answer, i) => `M${(i + 0.15) * width} ${level(answer)}h${0.7 * width}`);
    return [...bars, draw("path", { d: `M0 ${HIGH / 2}H${WIDE}`, class: "axis-line" }), draw("path", { d: levels.join(""), class: "answer-line" })];
  }

  /** Put the mark to the feature's present value. */
  function move(j) {
    const part = parts.get(j);
    const value = state.values[j];
    const at = value === null && engine.features[j].kind === "number" ? NaN : part.at(value);
    const known = Number.isFinite(at) && at >= 0;
    part.mark.setAttribute("visibility", known ? "visible" : "hidden");
    if (known) part.mark.setAttribute("d", `M${Math.min(at, WIDE).toFixed(2)} 0V${HIGH}`);
  }

  /** Say so where the answer is much the same for all values: a line at the edge looks like none. */
  function flatWords(answers, o) {
    const [low, high] = [Math.min(...answers), Math.max(...answers)];
    if (high - low > FLAT * (outputs.classes ? 1 : outputs.spread[o])) return "";
    const [least, most] = [low, high].map((answer) => (outputs.classes ? percent(answer) : formatGrouped(answer, outputs.answer_decimals[o])));
    return least === most ? `Flat: ${least} for all of its values.` : `Nearly flat: ${least} to ${most}.`;
  }

  function words(feature, x, answers, o) {
    const tell = (i) => `${outputs.classes ? `${(100 * answers[i]).toFixed(0)} %` : answers[i].toFixed(outputs.answer_decimals[o])} at ${valueText(feature, x[i])}`;
    const shown = x.length <= 6 ? x.map((_, i) => i) : [0, Math.floor(x.length / 2), x.length - 1];
    return `Response to ${feature.label}: ${shown.map(tell).join(", ")}`;
  }

  return {
    /** Make the place of a feature's curve. */
    add(j) {
      const drawing = draw("g");
      const mark = draw("path", { class: "now-line", visibility: "hidden" });
      const element = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", class: "curve", role: "img", "aria-label": `Response to ${engine.features[j].label}` }, drawing, mark);
      const labels = engine.features[j].kind === "category" && engine.features[j].categories.length <= 5
        ? make("p", { class: "curve-labels", "aria-hidden": "true" }, ...engine.features[j].category_labels.map((label) => make("span", { title: label }, label))) : null;
      const flat = make("p", { class: "curve-flat quiet" });
      parts.set(j, { j, element, drawing, mark, flat, at: () => NaN });
      stale.add(j);
      return {
        element: make("div", { class: "curve-box" }, element, labels, flat),
        move: () => move(j),
        observe(target) {
          owners.set(target, j);
          if (watcher) watcher.observe(target);
        },
      };
    },
    /** The row or the output changed: draw what is visible again, soon. */
    refresh() {
      for (const j of parts.keys()) stale.add(j);
      schedule();
    },
    /** Draw everything now, for printing. */
    drawAll() {
      for (const j of [...stale]) paint(j);
    },
  };
}
