// A control for every feature: slider or list, number box, what it was, reset, lock, limits and response curve.

import { createCurve } from "./explorer_curves.js";
import { createLimits } from "./explorer_limits.js";
import { featureTitle, isSame, rangeOf, roundStep, valueText, varies } from "./explorer_words.js";
import { draw, make } from "./text.js";

const RESET = "M4 4v5h5M4.5 9a8 8 0 1 1-1 6";
const LOCKED = "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3";
const OPEN = "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 6.6-1.6";

export const icon = (path) => draw("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, draw("path", { d: path }));

/** How many training rows have which number, as bars from 0 to 1 in both directions. */
function histogramOf(feature) {
  const { histogram } = feature;
  if (!histogram) return null;
  const [low, high] = rangeOf(feature);
  const { counts } = histogram;
  const most = Math.max(...counts, 1e-12);
  const at = (number) => (number - low) / (high - low || 1);
  const step = (histogram.high - histogram.low) / counts.length;
  const bars = counts.map((count, i) => {
    const [from, to] = [histogram.low + i * step, histogram.low + (i + 1) * step].map((edge) => 100 * Math.min(Math.max(at(edge), 0), 1));
    const top = (20 - 20 * Math.sqrt(count / most)).toFixed(2);
    return count ? `M${from.toFixed(2)} 20V${top}H${to.toFixed(2)}V20z` : "";
  });
  return draw("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", class: "histogram", "aria-hidden": "true" }, draw("path", { d: bars.join("") }));
}

/** The slider and the number box of a numeric feature. */
function numberInput(feature, state, j) {
  const step = roundStep(feature);
  const decimals = Math.max(0, -Math.floor(Math.log10(step)));
  const usable = varies(feature);
  const [low, high] = usable ? rangeOf(feature) : [0, 1];
  const slider = make("input", { type: "range", min: Math.floor(low / step) * step, max: Math.ceil(high / step) * step, step, "aria-label": featureTitle(feature) });
  const box = make("input", { type: "number", step: feature.whole ? 1 : "any", "aria-label": `${featureTitle(feature)}, as a number`, class: "box" });
  const missing = make("input", { type: "checkbox" });
  const missingBox = make("label", { class: "missing" }, missing, "missing");
  let known = null; // the number to return to from "missing"
  const round = (number) => Math.min(Math.max(Number(number.toFixed(decimals)), low), high);

  slider.addEventListener("input", () => state.set(j, round(Number(slider.value))));
  slider.addEventListener("change", state.settle);
  box.addEventListener("input", () => {
    if (box.value !== "" && Number.isFinite(box.valueAsNumber)) state.set(j, box.valueAsNumber);
  });
  box.addEventListener("change", () => {
    state.settle();
    update(state.values[j], true);
  });
  missing.addEventListener("change", () => {
    const middle = feature.knots && feature.knots.length ? feature.knots[Math.floor(feature.knots.length / 2)] : low;
    state.set(j, missing.checked ? null : known ?? state.original[j] ?? middle);
    state.settle();
  });

  function update(value, force = false) {
    const none = value === null;
    if (!none) known = value;
    missing.checked = none;
    missingBox.hidden = !feature.missing && state.original[j] !== null && !none;
    slider.disabled = none || !usable;
    if (!none) slider.value = value;
    slider.setAttribute("aria-valuetext", valueText(feature, value));
    // What is being typed is left alone
    if (force || box !== box.getRootNode().activeElement || !isSame(box.valueAsNumber, value)) box.value = none ? "" : Number(value.toPrecision(12));
    box.placeholder = none ? "missing" : "";
  }
  const track = make("div", { class: "track" }, usable ? histogramOf(feature) : null, slider);
  return { face: box, body: [track], extra: missingBox, update };
}

/** The list of a feature with categories. */
function categoryInput(feature, state, j) {
  const select = make("select", { "aria-label": featureTitle(feature) });
  let options = [];
  select.addEventListener("change", () => {
    state.set(j, options[Number(select.value)]);
    state.settle();
  });
  const unknown = (value) => !feature.categories.some((known) => isSame(known, value));
  function update(value) {
    const wanted = [...feature.categories, ...new Set([state.original[j], value].filter(unknown))];
    if (wanted.length !== options.length || wanted.some((one, i) => !isSame(one, options[i]))) {
      options = wanted;
      select.replaceChildren(...options.map((one, i) => make("option", { value: i }, valueText(feature, one))));
    }
    select.value = options.findIndex((one) => isSame(one, value));
  }
  return { face: select, body: [], extra: null, update };
}

/** Show all controls in `box`; `output` gives the output that curves are for, `start` are the first locks and limits, `onLimits` hears of others. */
export function createControls(box, { engine, state, order, output, start, onLimits }) {
  const list = make("ol", { class: "controls" });
  const curves = createCurve(engine, state, output);
  const limits = createLimits(engine, start, onLimits);
  const cards = engine.features.map((feature, j) => card(feature, j));

  function card(feature, j) {
    const input = feature.kind === "number" ? numberInput(feature, state, j) : categoryInput(feature, state, j);
    const was = make("span", { class: "was" });
    const odd = make("span", { class: "low-mark" }, "outside the data");
    const reset = make("button", { type: "button", class: "plain-icon", "aria-label": `Reset ${feature.label}`, title: "Reset to the row's own value", onclick: () => {
      state.reset([j]);
      input.face.focus();
    } }, icon(RESET));
    const lock = make("button", { type: "button", class: "plain-icon lock", "aria-pressed": "false", "aria-label": `Lock ${feature.label}`, title: "Locked features stay as they are when looking for a flip" }, icon(OPEN));
    const showLock = (locked) => {
      lock.setAttribute("aria-pressed", String(locked));
      lock.replaceChildren(icon(locked ? LOCKED : OPEN));
    };
    lock.addEventListener("click", () => showLock(limits.toggle(j)));
    showLock(limits.isLocked(j));
    const curve = curves.add(j);
    const element = make("li", { class: "control-card" },
      make("div", { class: "control-head" },
        make("span", { class: "name", title: feature.name }, featureTitle(feature)), odd, make("span", { class: "gap" }), reset, lock, input.face),
      ...input.body, curve.element,
      make("div", { class: "control-foot" }, input.extra, limits.details(j), was));
    curve.observe(element);
    let shown = {}; // what the card shows: most cards stay as they are when one value changes
    function update(trust) {
      const next = { value: state.values[j], before: state.original[j], odd: trust.odd[j] };
      if (Object.keys(next).every((key) => key in shown && isSame(shown[key], next[key]))) return;
      shown = next;
      const changed = state.isChanged(j);
      input.update(state.values[j]);
      element.classList.toggle("changed", changed);
      was.textContent = changed ? `was ${valueText(feature, state.original[j])}` : "";
      reset.style.visibility = changed ? "visible" : "hidden";
      odd.hidden = !trust.odd[j];
      curve.move();
    }
    return { element, update, name: `${feature.label} ${feature.name}`.toLowerCase() };
  }

  const find = make("input", { type: "search", class: "find-feature", placeholder: "Find a feature", "aria-label": "Find a feature", autocomplete: "off", spellcheck: "false" });
  find.addEventListener("input", () => {
    const word = find.value.trim().toLowerCase();
    for (const one of cards) one.element.hidden = !one.name.includes(word);
  });
  find.hidden = cards.length <= 6;
  list.append(...order.map((j) => cards[j].element));
  box.append(find, list);
  return {
    limits,
    update(trust) {
      for (const one of cards) one.update(trust);
      curves.refresh();
    },
    redraw: curves.refresh,
    drawAll: curves.drawAll,
  };
}
