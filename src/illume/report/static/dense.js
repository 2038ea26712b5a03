// Layers of networks on plain arrays, with sums in double precision.

import { unpack } from "./packed.js";

/** Unpack weights into double precision, which processors multiply without converting. */
export const weightsOf = (packed) => new Float64Array(unpack(packed));

const BLOCK = 4; // units that are computed together

/** Return a layer with weights (units, size), an input's weights of four units side by side. */
export function createLayer(weights, bias) {
  const units = bias.length;
  const size = weights.length / units;
  const blocks = new Float64Array(Math.ceil(units / BLOCK) * BLOCK * size);
  for (let unit = 0; unit < units; unit += 1) {
    const first = (unit - (unit % BLOCK)) * size + (unit % BLOCK);
    for (let i = 0; i < size; i += 1) blocks[first + i * BLOCK] = weights[unit * size + i];
  }
  return { units, size, bias, blocks, places: new Int32Array(size), numbers: new Float64Array(2 * size) };
}

/**
 * Multiply `n` rows of `from` (n, size) by a layer's weights, add its bias and write `to` (n, units), with
 * `positive` 0 in the place of negative sums.
 *
 * Four units of two rows at a time share what is loaded, since loading takes longer than multiplying. About half of
 * the numbers that come from a rectified layer are 0 and left out. Arrays are not kept in closures: browsers load
 * those again in every turn of the loop.
 */
export function multiply(layer, from, n, to, positive = false) {
  const { units, size, blocks, places, numbers } = layer;
  for (let row = 0; row < n; row += 2) {
    const other = row + 1 < n ? row + 1 : row;
    const active = findActive(layer, from, row * size, other * size);
    for (let unit = 0; unit < units; unit += BLOCK) {
      const first = unit * size;
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      let e = 0;
      let f = 0;
      let g = 0;
      let h = 0;
      for (let i = 0; i < active; i += 1) {
        const at = first + places[i];
        const p = numbers[2 * i];
        const q = numbers[2 * i + 1];
        const w = blocks[at];
        const x = blocks[at + 1];
        const y = blocks[at + 2];
        const z = blocks[at + 3];
        a += w * p;
        b += x * p;
        c += y * p;
        d += z * p;
        e += w * q;
        f += x * q;
        g += y * q;
        h += z * q;
      }
      writeBlock(layer, to, row * units, unit, positive, a, b, c, d);
      writeBlock(layer, to, other * units, unit, positive, e, f, g, h);
    }
  }
}

/** List the inputs that are not 0 in two rows, which begin at a and b. */
function findActive({ size, places, numbers }, from, a, b) {
  let n = 0;
  for (let i = 0; i < size; i += 1) {
    const p = from[a + i];
    const q = from[b + i];
    if (p === 0 && q === 0) continue;
    places[n] = i * BLOCK;
    numbers[2 * n] = p;
    numbers[2 * n + 1] = q;
    n += 1;
  }
  return n;
}

function writeBlock({ units, bias }, to, start, unit, positive, a, b, c, d) {
  const at = start + unit;
  const kept = units - unit;
  to[at] = rectified(a + bias[unit], positive);
  if (kept > 1) to[at + 1] = rectified(b + bias[unit + 1], positive);
  if (kept > 2) to[at + 2] = rectified(c + bias[unit + 2], positive);
  if (kept > 3) to[at + 3] = rectified(d + bias[unit + 3], positive);
}

const rectified = (sum, positive) => (positive && sum < 0 ? 0 : sum);

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
