// Responses to one feature, and to two: what the twin answers over their range or categories.

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

export function createCurves(features, outputs, variations) {
  return {
    /** Answers and feature j's contributions (outputs) of a row, over the range or categories of the feature. */
    curve(values, j, points = 60) {
      const prepared = variations.prepare(values);
      const x = valuesOver(features[j], points);
      const answers = variations.answers(prepared, x.map((value) => [[j, value]]));
      const vary = prepared.row.vary(j);
      return { x, answers, contributions: x.map((value) => vary(value).map((each) => outputs.sign * each)) };
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
