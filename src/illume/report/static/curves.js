// Responses to one feature, and to two: what the surrogate answers over their range or categories.

import { finish } from "./slices.js";

/** Values of a feature to show: its categories, or numbers evenly spaced over the seen range. */
export function valuesOver(feature, points) {
  if (feature.kind === "category") return feature.categories;
  const low = feature.low ?? feature.knots[0];
  const high = feature.high ?? feature.knots[feature.knots.length - 1];
  if (feature.empty || low === undefined || !(high > low)) return low === undefined || feature.empty ? [] : [low];
  if (feature.whole && high - low < points) return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const even = Array.from({ length: points }, (_, i) => (i === points - 1 ? high : low + ((high - low) * i) / (points - 1)));
  return feature.whole ? [...new Set(even.map(Math.round))] : even;
}

export function createCurves({ features, inputs, outputs, shapley }, variations) {
  /** Contributions of feature j to rows that differ in it from a prepared one, by its values and the answers to them. */
  function contributions(prepared, j, x, answers) {
    const row = { X: Float64Array.from(prepared.row.X), codes: Int32Array.from(prepared.row.codes) };
    const vary = shapley && shapley.vary(prepared.shapley(), j);
    const s = outputs.explained.length;
    return x.map((value, at) => {
      if (shapley) {
        inputs.encodeValue(row, j, value);
        return vary(row, shapley.standardise(outputs.scores(answers[at], shapley.least))).map((each) => outputs.sign * each);
      }
      const changed = variations.prepare(prepared.values.map((each, i) => (i === j ? value : each)));
      return variations.pullBack(changed).values.slice(j * s, (j + 1) * s).map((each) => outputs.sign * each);
    });
  }

  return {
    /** Answers and feature j's contributions (outputs) of a row, over the range or categories of the feature. */
    curve(values, j, points = 60) {
      const prepared = variations.prepare(values);
      const x = valuesOver(features[j], points);
      const answers = variations.answers(prepared, x.map((value) => [[j, value]]));
      return { x, answers, contributions: contributions(prepared, j, x, answers) };
    },
    grid: (...question) => finish(gridInSteps(...question)),
    gridInSteps,
  };

  /** Answers of a row over two features: by the values x of the first, then by the values y of the second. */
  function* gridInSteps(values, i, j, size = 24) {
    const [x, y] = [valuesOver(features[i], size), valuesOver(features[j], size)];
    const flat = yield* variations.answersInSteps(variations.prepare(values), x.flatMap((a) => y.map((b) => [[i, a], [j, b]])));
    return { x, y, answers: x.map((_, a) => flat.slice(a * y.length, (a + 1) * y.length)) };
  }
}
