// Shapley values: a network on embeddings of features, made to add up to a row's score.

import { addScaled, dot, transpose, weightsOf } from "./dense.js";
import { once, unpack } from "./packed.js";

/** Return the network of standardised Shapley values of coded features that Python packed. */
export function createShapley(packed, { n_features: m, placeOf, createEmbedding }) {
  const [c, d] = [packed.n_outputs, packed.n_embedding];
  const step = c + d;
  const embed = createEmbedding(packed.nodes, step);
  const first = weightsOf(packed.first); // (m d, 3 u)
  const firstBias = weightsOf(packed.first_bias);
  const [size, u] = [firstBias.length, firstBias.length / 3];
  const last = transpose(weightsOf(packed.last), 2 * u, m * d * c); // (m d c, 2 u)
  const lastBias = weightsOf(packed.last_bias);
  const constant = weightsOf(packed.constant); // (m, c)
  const base = unpack(packed.base);
  const [share, variance, weights, remainderSize] = ["share", "variance", "weights", "remainder"].map((name) => unpack(packed[name]));

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
    /** Return values and standard errors (m, c) of a row with these standardised scores. */
    explain({ embedding, sums }, scores) {
      gate(sums, units);
      const values = new Float64Array(m * c);
      const errors = new Float64Array(m * c);
      for (let o = 0; o < c; o += 1) {
        const raw = Float64Array.from({ length: m }, (_, f) => rawValue(units, embedding, f * step, f, o));
        const left = scores[o] - base[o] - raw.reduce((sum, value) => sum + value, 0);
        const growth = weights[0] + weights[1] * (left / remainderSize[o]) ** 2;
        for (let f = 0; f < m; f += 1) {
          const value = raw[f] + left * share[f * c + o];
          values[f * c + o] = value;
          errors[f * c + o] = Math.sqrt(growth * variance[f * c + o] + weights[2] * value ** 2);
        }
      }
      return { values, errors };
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
          return raw + (score - base[o] - all) * share[f * c + o];
        });
      };
    },
  };
}
