// From values of features to inputs of networks: scaled numbers and indicators of categories, as Python encodes rows.

import { unpack } from "./packed.js";

/** Python compares true with 1 and false with 0. */
export const keyOf = (value) => (typeof value === "boolean" ? Number(value) : value);

export const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

/** Return what encodes rows: arrays of values in the order of the features. */
export function createInputs({ features, inputs }) {
  const mean = unpack(inputs.mean);
  const scale = unpack(inputs.scale);
  const positions = features.map(({ categories }) =>
    categories && new Map(categories.map((value, position) => [keyOf(value), position])));
  const elsewhere = features.map(({ other }) => other ?? -1);

  /** The position of a category, -1 for an unknown one. */
  function position(j, value) {
    return positions[j].get(isMissing(value) ? null : keyOf(value)) ?? elsewhere[j];
  }

  function scaled(number, input) {
    let found = (number - mean[input]) / scale[input];
    if (Math.abs(found) === Infinity) found = number / scale[input] - mean[input] / scale[input];
    return Math.min(Math.max(found, -inputs.largest), inputs.largest);
  }

  /** Encode one value into X; `codes` gets the category, or -2 for a missing and -1 for any other number. */
  function encodeValue(row, j, value) {
    const { kind, start, width } = features[j];
    if (kind === "number") {
      const missing = isMissing(value);
      row.codes[j] = missing ? -2 : -1;
      if (width) row.X[start] = missing ? 0 : scaled(value, start);
      return;
    }
    const code = position(j, value);
    row.codes[j] = code;
    for (let i = 0; i < width; i += 1) row.X[start + i] = (Number(i === code) - mean[start + i]) / scale[start + i];
  }

  /** Whether a value is outside of what was seen while fitting; a missing number, if none was missing. */
  function isOdd(j, value) {
    const { kind, low, high, empty, missing } = features[j];
    if (kind === "category") return position(j, value) < 0;
    if (isMissing(value)) return !missing;
    return empty || (low !== null && value < low) || (high !== null && value > high);
  }

  return {
    size: mean.length,
    mean,
    encodeValue,
    isOdd,
    /** Whether a value is one of the known categories, not counting what is taken for "(other)". */
    known: (j, value) => positions[j].get(isMissing(value) ? null : keyOf(value)) ?? -1,
    encode(values) {
      const row = { X: new Float64Array(mean.length), codes: new Int32Array(features.length) };
      values.forEach((value, j) => encodeValue(row, j, value));
      return row;
    },
  };
}
