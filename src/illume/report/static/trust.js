// Where not to trust: how well the surrogate does around a row, and whether the row is like the fitted ones.

import { dot } from "./dense.js";
import { unpack } from "./packed.js";

/** Return what looks up the figures around an encoded row X. */
export function createTrustMap(packed, m) {
  const anchors = Float64Array.from(unpack(packed.anchors)); // (a, m)
  const agreement = unpack(packed.agreement);
  const error = unpack(packed.error);
  const half = Float64Array.from(agreement, (_, a) => 0.5 * dot(anchors, a * m, anchors, a * m, m));
  const limit = packed.limit ?? Infinity;
  return function lookUp(X) {
    const unknown = { agreement: NaN, error: NaN, distance: NaN, far: false, rows: packed.n_rows };
    if (!packed.n_rows) return unknown;
    const mine = Float64Array.from(X, Math.fround);
    // Half the squared distance, without the part that all anchors share.
    const parts = half.map((square, a) => square - dot(mine, 0, anchors, a * m, m));
    const nearest = nearestOf(parts, packed.n_nearest);
    const distance = Math.sqrt(Math.max(dot(mine, 0, mine, 0, m) + 2 * parts[nearest[0]], 0));
    const mean = (figures) => nearest.reduce((sum, a) => sum + figures[a], 0) / nearest.length;
    return { ...unknown, agreement: mean(agreement), error: mean(error), distance, far: limit < distance };
  };
}

/** The positions of the smallest numbers, the smallest first. */
function nearestOf(numbers, n) {
  if (n > 1) return [...numbers.keys()].sort((a, b) => numbers[a] - numbers[b]).slice(0, n);
  let least = 0;
  for (let i = 1; i < numbers.length; i += 1) if (numbers[i] < numbers[least]) least = i;
  return [least];
}

/** Why a row is outside of what the explainer was fitted on, in Python's words; empty if it is not. */
export function outsideReasons(names, odd, far) {
  const found = names.filter((_, j) => odd[j]);
  const values = found.length ? [`${found.join(", ")} ${found.length === 1 ? "has a value" : "have values"} not seen while fitting`] : [];
  return far ? [...values, "far from all fitted rows"] : values;
}
