// A twin that is a sum of one term for each feature: a number times its slope, or a category's own term.

import { createCodes } from "./codes.js";
import { isMissing } from "./inputs.js";

/** Return the terms that Python packed, as a twin; see `createTwin`. */
export function createLinear(packed) {
  const { categories, slopes, missing, levels, mean, intercept } = packed;
  const [m, s] = [categories.length, intercept.length];
  const width = levels.length / (m * s);
  const codes = createCodes([], categories);

  function term(j, value, o) {
    if (categories[j]) return levels[(j * width + codes.codeOf(j, value)) * s + o];
    return isMissing(value) ? missing[j * s + o] : value * slopes[j * s + o];
  }

  const scores = (values) => Float64Array.from(intercept, (start, o) => values.reduce((sum, value, j) => sum + term(j, value, o), 0) + start);
  const contribution = (j, value) => Float64Array.from(intercept, (_, o) => term(j, value, o) - mean[j * s + o]);

  return {
    base: Float64Array.from(intercept, (start, o) => categories.reduce((sum, _, j) => sum + mean[j * s + o], 0) + start),
    bins: () => null,
    categories: (j) => categories[j] ?? [],
    start: (values) => ({
      scores: scores(values),
      changed(changes) {
        const row = values.slice();
        for (const [j, value] of changes) row[j] = value;
        return scores(row);
      },
      explain: () => ({ values: Float64Array.from(values.flatMap((value, j) => [...contribution(j, value)])) }),
      vary: (j) => (value) => contribution(j, value),
    }),
  };
}
