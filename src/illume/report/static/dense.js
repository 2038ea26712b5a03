// Layers of networks on plain arrays: weights by row, sums in double precision.

import { unpack } from "./packed.js";

/** Unpack weights into double precision, which processors multiply without converting. */
export const weightsOf = (packed) => Float64Array.from(unpack(packed));

/**
 * Multiply `n` rows of `from` (n, size) by weights (units, size), add the bias, and write `to` (n, units).
 * Four rows at a time share every weight that is loaded; what is left goes row by row, four units at a time.
 */
export function multiply(from, n, size, weights, bias, to, positive = false) {
  const units = bias.length;
  let row = 0;
  for (; row + 4 <= n; row += 4) {
    const [a, b, c, d] = [row * size, (row + 1) * size, (row + 2) * size, (row + 3) * size];
    for (let unit = 0; unit < units; unit += 1) {
      const first = unit * size;
      let p = bias[unit];
      let q = p;
      let r = p;
      let s = p;
      for (let i = 0; i < size; i += 1) {
        const weight = weights[first + i];
        p += weight * from[a + i];
        q += weight * from[b + i];
        r += weight * from[c + i];
        s += weight * from[d + i];
      }
      const at = row * units + unit;
      to[at] = positive && p < 0 ? 0 : p;
      to[at + units] = positive && q < 0 ? 0 : q;
      to[at + 2 * units] = positive && r < 0 ? 0 : r;
      to[at + 3 * units] = positive && s < 0 ? 0 : s;
    }
  }
  for (; row < n; row += 1) multiplyRow(from, row * size, size, weights, bias, to, row * units, positive);
}

function multiplyRow(from, start, size, weights, bias, to, at, positive) {
  const units = bias.length;
  let unit = 0;
  for (; unit + 4 <= units; unit += 4) {
    const [a, b, c, d] = [unit * size, (unit + 1) * size, (unit + 2) * size, (unit + 3) * size];
    let [p, q, r, s] = [bias[unit], bias[unit + 1], bias[unit + 2], bias[unit + 3]];
    for (let i = 0; i < size; i += 1) {
      const number = from[start + i];
      p += weights[a + i] * number;
      q += weights[b + i] * number;
      r += weights[c + i] * number;
      s += weights[d + i] * number;
    }
    to[at + unit] = positive && p < 0 ? 0 : p;
    to[at + unit + 1] = positive && q < 0 ? 0 : q;
    to[at + unit + 2] = positive && r < 0 ? 0 : r;
    to[at + unit + 3] = positive && s < 0 ? 0 : s;
  }
  for (; unit < units; unit += 1) {
    let sum = bias[unit];
    for (let i = 0; i < size; i += 1) sum += weights[unit * size + i] * from[start + i];
    to[at + unit] = positive && sum < 0 ? 0 : sum;
  }
}

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
