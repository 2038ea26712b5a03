// What a search for a flip may change: locks, directions and ranges of features.

import { rangeOf, roundStep, valueText, varies } from "./explorer_words.js";
import { make } from "./text.js";

const WAYS = [["", "up and down"], ["1", "only up"], ["-1", "only down"]];

/** Hold the limits of all features, at first those of `start`; `onLimits` is called whenever one changes. */
export function createLimits(engine, start, onLimits) {
  const locked = new Set(start.locked);
  const byFeature = (given) => new Map(Object.entries(given).map(([j, limit]) => [Number(j), limit]));
  const [directions, ranges] = [byFeature(start.directions), byFeature(start.ranges)];

  const summaries = new Map();
  const showLimited = (j) => { summaries.get(j).textContent = directions.has(j) || ranges.has(j) ? "Limits (set)" : "Limits"; };
  const onChange = () => {
    for (const j of summaries.keys()) showLimited(j);
    onLimits();
  };

  function numberLimits(j) {
    const feature = engine.features[j];
    const given = ranges.get(j) ?? [];
    const [low, high] = [Math.min(rangeOf(feature)[0], given[0] ?? Infinity), Math.max(rangeOf(feature)[1], given[1] ?? -Infinity)];
    const step = roundStep(feature);
    const way = make("select", { "aria-label": `Direction of ${feature.label}`, onchange: () => {
      if (way.value) directions.set(j, Number(way.value));
      else directions.delete(j);
      onChange();
    } }, ...WAYS.map(([value, text]) => make("option", { value }, text)));
    const end = (name, value) => make("input", { type: "range", min: low, max: high, step: feature.whole ? step : "any", value, "aria-label": `${name} of ${feature.label}` });
    const [from, to] = [end("Least value", given[0] ?? low), end("Largest value", given[1] ?? high)];
    way.value = String(directions.get(j) ?? "");
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
    const [given, order] = [ranges.get(j) ?? feature.categories, start.directions[j]];
    const boxes = feature.categories.map((value, i) => {
      const tick = make("input", { type: "checkbox", checked: given.includes(value) ? "" : null });
      tick.addEventListener("change", () => {
        const kept = feature.categories.filter((_, at) => boxes[at].firstChild.checked);
        if (kept.length === feature.categories.length) ranges.delete(j);
        else ranges.set(j, kept);
        onChange();
      });
      return make("label", { class: "tick" }, tick, feature.category_labels[i]);
    });
    const forth = order && make("input", { type: "checkbox", checked: "" });
    forth?.addEventListener("change", () => {
      if (forth.checked) directions.set(j, order);
      else directions.delete(j);
      onChange();
    });
    return [make("span", {}, "may become"), ...boxes,
      order && make("label", { class: "tick" }, forth, `only forth in: ${order.map((value) => valueText(feature, value)).join(", ")}`)];
  }

  return {
    isLocked: (j) => locked.has(j),
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
      summaries.set(j, make("summary", {}));
      showLimited(j);
      const details = make("details", { class: "limits" }, summaries.get(j));
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
