// From values of features to what a twin reads: the bin among a number's cuts, or the place of a category.

import { isMissing, keyOf } from "./inputs.js";

/** Return what codes values; `cuts` (features) ascend, and a cut belongs to the bin below. Missing numbers are -1. */
export function createCodes(cuts, categories) {
  const places = categories.map((known) => known && new Map(known.map((value, place) => [keyOf(value), place])));

  function codeOf(j, value) {
    if (places[j]) return places[j].get(isMissing(value) ? null : keyOf(value)) ?? places[j].size;
    if (isMissing(value)) return -1;
    let [low, high] = [0, cuts[j].length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cuts[j][middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return { codeOf, of: (values) => Int32Array.from(values, (value, j) => codeOf(j, value)) };
}
