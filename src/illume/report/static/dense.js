// Sums over plain arrays, in double precision.

import { unpack } from "./packed.js";

/** Unpack weights into double precision, which processors multiply without converting. */
export const weightsOf = (packed) => new Float64Array(unpack(packed));

/** Return a matrix (rows, columns) with its axes swapped. */
export function transpose(matrix, rows, columns) {
  const turned = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) turned[j * rows + i] = matrix[i * columns + j];
  }
  return turned;
}

/** Add `factor` times `size` numbers of `from`, which begin at `start`, to those of `to`. */
export function addScaled(to, at, from, start, size, factor) {
  for (let i = 0; i < size; i += 1) to[at + i] += factor * from[start + i];
}

export function dot(a, start, b, at, size) {
  let sum = 0;
  for (let i = 0; i < size; i += 1) sum += a[start + i] * b[at + i];
  return sum;
}
