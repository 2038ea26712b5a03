// What a search for a flip may change: locks, directions and ranges of features.

import { rangeOf, roundStep, valueText, varies } from "./explorer_words.js";
import { make } from "./text.js";

const WAYS = [["", "up and down"], ["1", "only up"], ["-1", "only down"]];

/** Hold the limits of all features; `onChange` is called whenever one changes. */
export function createLimits(engine, onChange) {
  const locked = new Set();
  const directions = new Map();
  const ranges = new Map();

  function numberLimits(j) {
    const feature = engine.features[j];
    const [low, high, step] = [...rangeOf(feature), roundStep(feature)];
    const way = make("select", { "aria-label": `Direction of ${feature.label}`, onchange: () => {
      if (way.value) directions.set(j, Number(way.value));
      else directions.delete(j);
      onChange();
    } }, ...WAYS.map(([value, text]) => make("option", { value }, text)));
    const end = (name, value) => make("input", { type: "range", min: low, max: high, step: feature.whole ? step : "any", value, "aria-label": `${name} of ${feature.label}` });
    const [from, to] = [end("Least value", low), end("Largest value", high)];
    const said = make("output", {});
    const tell = () => { said.textContent = `${valueText(feature, Number(from.value))} to ${valueText(feature, Number(to.value))}`; };
    const narrow = (moved, other, isLow) => {
      if (isLow === Number(moved.value) > Number(other.value)) other.value = moved.value;
      const [least, most] = [Number(from.value), Number(to.value)];
      if (least <= low && most >= high) ranges.delete(j);
      else ranges.set(j, [least, most]);
      tell();
    };
    for (const [moved, other, isLow] of [[from, to, true], [to, from, false]]) {
      moved.addEventListener("input", () => narrow(moved, other, isLow));
      moved.addEventListener("change", onChange);
    }
    tell();
    return [make("label", {}, "may go ", way), make("div", { class: "range" }, make("span", {}, "from"), from, make("span", {}, "to"), to, said)];
  }

  function categoryLimits(j) {
    const feature = engine.features[j];
    const boxes = feature.categories.map((value, i) => {
      const tick = make("input", { type: "checkbox", checked: "" });
      tick.addEventListener("change", () => {
        const kept = feature.categories.filter((_, at) => boxes[at].firstChild.checked);
        if (kept.length === feature.categories.length) ranges.delete(j);
        else ranges.set(j, kept);
        onChange();
      });
      return make("label", { class: "tick" }, tick, feature.category_labels[i]);
    });
    return [make("span", {}, "may become"), ...boxes];
  }

  return {
    /** Lock or unlock a feature; returns whether it is locked now. */
    toggle(j) {
      if (!locked.delete(j)) locked.add(j);
      onChange();
      return locked.has(j);
    },
    /** A part that opens to directions and ranges of a feature. */
    details(j) {
      const feature = engine.features[j];
      if (!varies(feature)) return null;
      const details = make("details", { class: "limits" }, make("summary", {}, "Limits"));
      details.addEventListener("toggle", () => {
        if (details.children.length > 1) return;
        details.append(make("div", {}, make("p", { class: "quiet" }, "When looking for a flip, this value"),
          ...(feature.kind === "number" ? numberLimits(j) : categoryLimits(j))));
      });
      return details;
    },
    get given() {
      return { locked: [...locked], directions: Object.fromEntries(directions), ranges: Object.fromEntries(ranges) };
    },
    get count() { return new Set([...locked, ...directions.keys(), ...ranges.keys()]).size; },
  };
}
