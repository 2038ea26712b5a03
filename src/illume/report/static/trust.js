// Where not to trust: whether a row is like the fitted ones.

import { dot } from "./dense.js";
import { unpack } from "./packed.js";

/** Return what finds how far an encoded row X is from the nearest fitted rows, and whether that is far. */
export function createPlaces(packed, m) {
  const anchors = Float64Array.from(unpack(packed.anchors)); // (a, m)
  const half = Float64Array.from({ length: anchors.length / Math.max(m, 1) }, (_, a) => 0.5 * dot(anchors, a * m, anchors, a * m, m));
  const limit = packed.limit ?? Infinity;
  return function lookUp(X) {
    if (!half.length) return { distance: NaN, far: false };
    const mine = Float64Array.from(X, Math.fround);
    // Half the squared distance, without the part that all anchors share.
    const least = half.reduce((most, square, a) => Math.min(most, square - dot(mine, 0, anchors, a * m, m)), Infinity);
    const distance = Math.sqrt(Math.max(dot(mine, 0, mine, 0, m) + 2 * least, 0));
    return { distance, far: limit < distance };
  };
}

/** Why a row is outside of what the explainer was fitted on, in Python's words; empty if it is not. */
export function outsideReasons(names, odd, far) {
  const found = names.filter((_, j) => odd[j]);
  const values = found.length ? [`${found.join(", ")} ${found.length === 1 ? "has a value" : "have values"} not seen while fitting`] : [];
  return far ? [...values, "far from all fitted rows"] : values;
}
