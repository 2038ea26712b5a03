// Shapley values: a network on embeddings of features, made to add up to the surrogate's score.

import { addScaled, dot, transpose, weightsOf } from "./dense.js";
import { once, unpack } from "./packed.js";

/** Return the network of Shapley values that Python packed; `features` are those of the payload. */
export function createShapley(packed, features) {
  const [c, d] = [packed.n_outputs, packed.n_embedding];
  const [m, step] = [packed.features.length, c + d];
  const nodes = unpack(packed.nodes);
  const coded = createCoding(packed, features);
  const first = weightsOf(packed.first); // (m d, 3 u)
  const firstBias = weightsOf(packed.first_bias);
  const [size, u] = [firstBias.length, firstBias.length / 3];
  const last = transpose(weightsOf(packed.last), 2 * u, m * d * c); // (m d c, 2 u)
  const lastBias = weightsOf(packed.last_bias);
  const constant = weightsOf(packed.constant); // (m, c)
  const base = unpack(packed.base);
  const unit = unpack(packed.unit);
  const center = unpack(packed.center);
  const unitOf = (o) => unit[unit.length > 1 ? o : 0];
  const centerOf = (o) => center[center.length > 1 ? o : 0];
  const [share, variance, weights, remainderSize] = ["share", "variance", "weights", "remainder"].map((name) => unpack(packed[name]));

  /** Write main values (c) and embedding (d) of one coded feature. */
  function embed(row, f, to, at) {
    const { node, part } = coded(row, f);
    for (let i = 0; i < step; i += 1) {
      const start = nodes[node * step + i];
      to[at + i] = part ? start + part * (nodes[(node + 1) * step + i] - start) : start;
    }
  }

  /** Add what the embedding of a coded feature adds to the first layer's sums. */
  function addEmbedding(sums, embedding, at, f, factor) {
    for (let e = 0; e < d; e += 1) addScaled(sums, 0, first, (f * d + e) * size, size, factor * embedding[at + c + e]);
  }

  /** Return the gated units, and those beside them, from the first layer's sums. */
  function gate(sums, units) {
    for (let i = 0; i < u; i += 1) {
      units[i] = (sums[i] / (1 + Math.exp(-sums[i]))) * sums[u + i];
      units[u + i] = sums[2 * u + i];
    }
  }

  /** The raw value of a coded feature for output o, before values are made to add up. */
  function rawValue(units, embedding, at, f, o) {
    let sum = embedding[at + o] + constant[f * c + o];
    for (let e = 0; e < d; e += 1) {
      const column = (f * d + e) * c + o;
      sum += embedding[at + c + e] * (lastBias[column] + dot(last, column * 2 * u, units, 0, 2 * u));
    }
    return sum;
  }

  const units = new Float64Array(2 * u);
  const placeOf = new Map(packed.features.map((j, f) => [j, f]));

  /** Add what coded feature f adds to the weights of units in the sum of all raw values, and to its constant part. */
  function addTotal(total, embedding, at, f, factor) {
    for (let o = 0; o < c; o += 1) {
      total.constant[o] += factor * (embedding[at + o] + constant[f * c + o]);
      for (let e = 0; e < d; e += 1) {
        const [column, weight] = [(f * d + e) * c + o, factor * embedding[at + c + e]];
        total.constant[o] += weight * lastBias[column];
        addScaled(total.units, o * 2 * u, last, column * 2 * u, 2 * u, weight);
      }
    }
  }

  return {
    features: packed.features,
    least: packed.least,
    base: Float64Array.from({ length: c }, (_, o) => centerOf(o) + unitOf(o) * base[o]),
    /** Standardised scores of scores in the users' unit. */
    standardise: (scores) => scores.map((score, o) => (score - centerOf(o)) / unitOf(o)),
    /** Return what all explanations of an encoded row, and of rows that differ in one feature, start from. */
    start(row) {
      const embedding = new Float64Array(m * step);
      const sums = Float64Array.from(firstBias);
      for (let f = 0; f < m; f += 1) {
        embed(row, f, embedding, f * step);
        addEmbedding(sums, embedding, f * step, f, 1);
      }
      const total = once(() => {
        const found = { constant: new Float64Array(c), units: new Float64Array(c * 2 * u) };
        for (let f = 0; f < m; f += 1) addTotal(found, embedding, f * step, f, 1);
        return found;
      });
      return { embedding, sums, total };
    },
    /** Return values and standard errors (n features, c) of a row with these standardised scores. */
    explain({ embedding, sums }, scores) {
      gate(sums, units);
      const values = new Float64Array(features.length * c);
      const errors = new Float64Array(features.length * c);
      const remainder = new Float64Array(c);
      for (let o = 0; o < c; o += 1) {
        const raw = Float64Array.from({ length: m }, (_, f) => rawValue(units, embedding, f * step, f, o));
        const left = scores[o] - base[o] - raw.reduce((sum, value) => sum + value, 0);
        const growth = weights[0] + weights[1] * (left / remainderSize[o]) ** 2;
        remainder[o] = left * unitOf(o);
        for (let f = 0; f < m; f += 1) {
          const value = raw[f] + left * share[f * c + o];
          const at = packed.features[f] * c + o;
          values[at] = value * unitOf(o);
          errors[at] = Math.sqrt(growth * variance[f * c + o] + weights[2] * value ** 2) * unitOf(o);
        }
      }
      return { values, errors, remainder };
    },
    /** Return what gives feature j's values (c) of rows that differ from the started one in this feature alone. */
    vary({ embedding, sums, total }, j) {
      const f = placeOf.get(j);
      if (f === undefined) return () => new Float64Array(c);
      const others = { constant: Float64Array.from(total().constant), units: Float64Array.from(total().units) };
      const before = Float64Array.from(sums);
      const mine = new Float64Array(step);
      const changed = new Float64Array(size);
      addTotal(others, embedding, f * step, f, -1);
      addEmbedding(before, embedding, f * step, f, -1);
      return (row, scores) => {
        embed(row, f, mine, 0);
        changed.set(before);
        addEmbedding(changed, mine, 0, f, 1);
        gate(changed, units);
        return scores.map((score, o) => {
          const raw = rawValue(units, mine, 0, f, o);
          const all = raw + others.constant[o] + dot(others.units, o * 2 * u, units, 0, 2 * u);
          return (raw + (score - base[o] - all) * share[f * c + o]) * unitOf(o);
        });
      };
    },
  };
}

/** Return what finds a coded feature of a row in the table: its node, and how far it is on the way to the next one. */
function createCoding(packed, features) {
  const knots = unpack(packed.knots);
  const { widths } = packed;
  const starts = [];
  const firsts = [];
  let [node, knot] = [0, 0];
  packed.features.forEach((j, f) => {
    starts.push(node);
    firsts.push(knot);
    node += widths[f] + 1;
    if (features[j].kind === "number") knot += widths[f];
  });
  return (row, f) => {
    const j = packed.features[f];
    const [width, start, begin] = [widths[f], starts[f], firsts[f]];
    if (features[j].kind === "category") return { node: start + (row.codes[j] < 0 ? width : row.codes[j]), part: 0 };
    if (row.codes[j] === -2) return { node: start + width, part: 0 };
    const x = Math.fround(row.X[features[j].start]);
    let at = 0;
    while (at + 2 < width && knots[begin + at + 1] <= x) at += 1;
    const low = knots[begin + at];
    const steepness = Math.fround(1 / Math.fround(knots[begin + at + 1] - low));
    const inside = Math.fround(Math.fround(x - low) * steepness);
    return { node: start + at, part: Math.min(Math.max(inside, 0), 1) };
  };
}
