// Values, answers and differences between answers as text, for the explorer.

import { formatGrouped, percent, shortNumber } from "./text.js";

export const isSame = (a, b) => Object.is(a, b) || (a ?? null) === (b ?? null);

/** A value of a feature as people read it. */
export function valueText(feature, value) {
  if (value === null || value === undefined) return "(missing)";
  if (feature.kind === "category") {
    const at = feature.categories.indexOf(value);
    return at < 0 ? String(value) : feature.category_labels[at];
  }
  return feature.unit ? `${shortNumber(value)} ${feature.unit}` : shortNumber(value);
}

/** The name of a feature with its unit. */
export const featureTitle = (feature) => (feature.unit ? `${feature.label} [${feature.unit}]` : feature.label);

/** The seen range of a number: not finite where nothing was seen. */
export function rangeOf({ low, high, knots, empty }) {
  if (empty) return [NaN, NaN];
  return [low ?? knots[0] ?? NaN, high ?? knots[knots.length - 1] ?? NaN];
}

/** Whether a feature has more than one value to choose from. */
export function varies(feature) {
  if (feature.kind === "category") return feature.categories.length > 1;
  const [low, high] = rangeOf(feature);
  return low < high;
}

/** A step that gives round numbers, about 200 of them over a range. */
export function roundStep(feature) {
  const [low, high] = rangeOf(feature);
  if (feature.whole || !(low < high)) return 1;
  return 10 ** Math.floor(Math.log10((high - low) / 100 || 1));
}

/** How answers are told; `outputs` are the engine's. */
export function createAnswerWords(outputs) {
  const { classes, names, positive, answer_decimals: decimals } = outputs;
  const two = classes && names.length === 2;
  const number = (value, i) => formatGrouped(value, decimals[i]);
  const { threshold } = outputs;
  return {
    two,
    /** The share of the positive one of two classes at which the decision turns. */
    edge: threshold ? (threshold.class === positive ? threshold.value : 1 - threshold.value) : 0.5,
    /** The class that a probability is shown of: the positive one of two, else the decided one. */
    shown: (answers) => (two ? positive : outputs.decide(answers)),
    number,
    /** One answer of output i: a share or a number. */
    one: (value, i) => (classes ? percent(value) : number(value, i)),
    /** What was decided or predicted, in short. */
    short(answers) {
      if (!classes) return names.map((name, i) => (names.length > 1 ? `${name} ${number(answers[i], i)}` : number(answers[i], i))).join(", ");
      const decided = outputs.decide(answers);
      return `${names[decided]} (${percent(answers[decided])})`;
    },
    /** How far two answers are apart. */
    difference(from, to) {
      if (!classes) return names.map((name, i) => `${names.length > 1 ? `${name} ` : ""}${formatGrouped(to[i] - from[i], decimals[i], "+")}`).join(", ");
      const at = two ? positive : outputs.decide(to);
      return `${formatGrouped(100 * (to[at] - from[at]), 1, "+")} points`;
    },
    /** Whether two answers come to the same: the same class, or numbers within a tenth of a standard deviation. */
    alike: (a, b) => (classes ? outputs.decide(a) === outputs.decide(b) : names.every((_, i) => Math.abs(a[i] - b[i]) <= 0.1 * outputs.spread[i])),
  };
}
