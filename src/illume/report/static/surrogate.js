// The surrogate: a network gives every row its own linear map, and scores are weighted sums of the map's latents.

import { addScaled, createLayer, dot, multiply, transpose, weightsOf } from "./dense.js";
import { unpack } from "./packed.js";

const SHORTEST = 1e-8; // length of a direction

/** Return the surrogate whose weights Python packed; `features` are those of the payload. */
export function createSurrogate(packed, features) {
  return packed.slopes ? createConstant(packed) : createLocal(packed, features);
}

/** All rows share one map, so that scores are a weighted sum of inputs. */
function createConstant(packed) {
  const intercept = unpack(packed.intercept);
  const slopes = unpack(packed.slopes); // (s, m)
  const [s, m] = [intercept.length, packed.n_inputs];
  const layer = createLayer(slopes, intercept);
  return {
    sums: () => new Float64Array(0),
    addFeature() {},
    size: 0,
    scores(_, X, n) {
      const found = new Float64Array(n * s);
      multiply(layer, X, n, found);
      return found;
    },
    slopes: () => transpose(slopes, s, m),
  };
}

function createLocal(packed, features) {
  const [m, k] = [packed.n_inputs, packed.n_latents];
  const intercept = unpack(packed.intercept);
  const coef = unpack(packed.coef); // (s, k)
  const s = intercept.length;
  const first = createFirst(packed, features);
  const [second, third] = packed.layers.slice(1).map(({ weight, bias }) => createLayer(weightsOf(weight), weightsOf(bias)));
  const rank = packed.rank === null ? null : createRank(packed);
  const scratch = { rows: 0 };

  function reserve(n) {
    if (scratch.rows >= n) return;
    Object.assign(scratch, {
      rows: n,
      first: new Float64Array(n * first.size),
      second: new Float64Array(n * second.units),
      maps: new Float64Array(n * third.units),
    });
  }

  /** Return the factors (n, k, width) of maps, from the first layer's sums. */
  function factors(sums, n) {
    reserve(n);
    for (let i = 0; i < n * first.size; i += 1) scratch.first[i] = sums[i] > 0 ? sums[i] : 0;
    multiply(second, scratch.first, n, scratch.second, true);
    multiply(third, scratch.second, n, scratch.maps);
    return scratch.maps;
  }

  /** Return the whole map of one row (k, m), with only the largest weights of each direction. */
  function wholeMap(A, at) {
    const V = new Float64Array(k * m);
    if (rank) rank.expand(A, at, V);
    else V.set(A.subarray(at, at + k * m));
    if (packed.alpha < m) keepLargest(V, k, m, packed.alpha);
    return V;
  }

  const dense = !rank && packed.alpha >= m;
  const lengthOf = (square) => Math.max(Math.sqrt(square), SHORTEST);

  /** Write the latents of one row. */
  function latents(A, at, X, start, Z) {
    if (rank && packed.alpha >= m) {
      rank.latents(A, at, X, start, Z);
      return;
    }
    const V = dense ? A : wholeMap(A, at);
    for (let l = 0; l < k; l += 1) {
      const from = (dense ? at : 0) + l * m;
      Z[l] = dot(V, from, X, start, m) / lengthOf(dot(V, from, V, from, m));
    }
  }

  return {
    size: first.size,
    sums: first.sums,
    addFeature: first.addFeature,
    /** Return scores (n, s) of rows X (n, m) whose first layer has these sums. */
    scores(sums, X, n) {
      const A = factors(sums, n);
      const found = new Float64Array(n * s);
      const Z = new Float64Array(k);
      for (let row = 0; row < n; row += 1) {
        latents(A, row * third.units, X, row * m, Z);
        for (let o = 0; o < s; o += 1) found[row * s + o] = intercept[o] + dot(coef, o * k, Z, 0, k);
      }
      return found;
    },
    /** Return slopes (m, s) of one row on its inputs. */
    slopes(sums) {
      const V = wholeMap(factors(sums, 1), 0);
      const found = new Float64Array(m * s);
      for (let l = 0; l < k; l += 1) {
        const length = lengthOf(dot(V, l * m, V, l * m, m));
        for (let o = 0; o < s; o += 1) {
          const weight = coef[o * k + l] / length;
          for (let i = 0; i < m; i += 1) found[i * s + o] += weight * V[l * m + i];
        }
      }
      return found;
    },
  };
}

/** Maps as a constant part (k, m) plus factors (k, r) times a basis (r, m); they are not made whole for latents. */
function createRank(packed) {
  const [m, k, r] = [packed.n_inputs, packed.n_latents, packed.rank];
  const base = weightsOf(packed.base);
  const basis = weightsOf(packed.basis);
  const gram = new Float64Array(r * r);
  const mixed = new Float64Array(k * r);
  const layer = createLayer(basis, new Float64Array(r));
  multiply(layer, basis, r, gram);
  multiply(layer, base, k, mixed);
  const square = Float64Array.from({ length: k }, (_, l) => dot(base, l * m, base, l * m, m));
  const seen = new Float64Array(r);
  const turned = new Float64Array(r);
  return {
    expand(A, at, V) {
      V.set(base);
      for (let l = 0; l < k; l += 1) {
        for (let f = 0; f < r; f += 1) addScaled(V, l * m, basis, f * m, m, A[at + l * r + f]);
      }
    },
    latents(A, at, X, start, Z) {
      for (let f = 0; f < r; f += 1) seen[f] = dot(basis, f * m, X, start, m);
      for (let l = 0; l < k; l += 1) {
        const from = at + l * r;
        for (let f = 0; f < r; f += 1) turned[f] = dot(gram, f * r, A, from, r) + 2 * mixed[l * r + f];
        const length = Math.sqrt(Math.max(square[l] + dot(turned, 0, A, from, r), SHORTEST ** 2));
        Z[l] = (dot(base, l * m, X, start, m) + dot(A, from, seen, 0, r)) / length;
      }
    },
  };
}

/** Keep the `alpha` largest absolute weights of each direction; of equal ones, the first stay. */
function keepLargest(V, k, m, alpha) {
  for (let l = 0; l < k; l += 1) {
    const sizes = Float32Array.from(V.subarray(l * m, (l + 1) * m), Math.abs);
    const order = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b);
    for (const i of order.slice(alpha)) V[l * m + i] = 0;
  }
}

/**
 * The first layer, feature by feature: its sums are the bias plus what each feature adds. A number adds its own
 * weights, those of all soft bins below and above it, and part of those of the bin that it is in.
 */
function createFirst(packed, features) {
  const [m, layer] = [packed.n_inputs, packed.layers[0]];
  const [size, height] = [layer.n, packed.height];
  const bias = weightsOf(layer.bias);
  const column = unpack(packed.bins.column);
  const low = unpack(packed.bins.low);
  const steepness = unpack(packed.bins.steepness);
  // An input's weights side by side, those of bins behind those of the inputs themselves.
  const weights = new Float64Array((m + low.length) * size);
  weights.set(transpose(weightsOf(layer.weight), size, m));
  weights.set(transpose(weightsOf(packed.bins.weight), size, low.length), m * size);
  const bins = features.map(({ kind, start, width }) => {
    const begin = kind === "number" && width ? column.indexOf(start) : -1;
    if (begin < 0) return null;
    let end = begin;
    while (end < column.length && column[end] === start) end += 1;
    const n = end - begin;
    const outside = new Float64Array((n + 1) * size); // what all bins but the one at a place add, and half of it
    for (let b = 0; b < n; b += 1) addScaled(outside, 0, weights, (m + begin + b) * size, size, -0.5 * height);
    for (let b = 0; b < n; b += 1) {
      outside.copyWithin((b + 1) * size, b * size, (b + 1) * size);
      addScaled(outside, (b + 1) * size, weights, (m + begin + b) * size, size, height);
    }
    return { begin, n, outside };
  });

  /** Add what a feature of an encoded row adds to the sums; with `factor` -1, take it away. */
  function addFeature(sums, at, j, X, factor) {
    const { start, width } = features[j];
    for (let i = start; i < start + width; i += 1) {
      const clipped = Math.min(Math.max(X[i], -packed.farthest), packed.farthest);
      addScaled(sums, at, weights, i * size, size, factor * Math.fround(clipped));
    }
    if (!bins[j]) return;
    const { begin, n, outside } = bins[j];
    const x = Math.fround(Math.min(Math.max(X[start], -packed.farthest), packed.farthest));
    let b = 0;
    while (b + 1 < n && low[begin + b + 1] <= x) b += 1;
    const inside = Math.fround(Math.fround(x - low[begin + b]) * steepness[begin + b]);
    addScaled(sums, at, outside, b * size, size, factor);
    const part = Math.min(Math.max(inside, 0), 1);
    if (part) addScaled(sums, at, weights, (m + begin + b) * size, size, factor * part * height);
  }

  return {
    size,
    addFeature,
    sums(X) {
      const found = Float64Array.from(bias);
      features.forEach((_, j) => addFeature(found, 0, j, X, 1));
      return found;
    },
  };
}
