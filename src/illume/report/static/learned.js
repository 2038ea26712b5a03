// A twin that learned the model: a network gives scores, another one their contributions.

import { addScaled, dot, transpose, weightsOf } from "./dense.js";
import { once, unpack } from "./packed.js";
import { createShapley } from "./shapley.js";

/** Return the networks that Python packed, as a twin; see `createTwin`. `inputs` encode the rows, `outputs` make answers of scores. */
export function createLearned(packed, features, inputs, outputs) {
  const coding = createCoding(packed, features);
  const model = createModel(packed.model, coding);
  const shapley = createShapley(packed, coding);
  const [unit, center] = [unpack(packed.unit), unpack(packed.center)];
  const unitOf = (o) => unit[unit.length > 1 ? o : 0];
  const centerOf = (o) => center[center.length > 1 ? o : 0];
  const toUsers = (scores) => scores.map((score, o) => centerOf(o) + unitOf(o) * score);
  /** Standardised scores of answers, to which contributions add up; a probability below `least` counts as that. */
  const scaled = (scores) => outputs.scores(outputs.answers(toUsers(scores)), packed.least).map((score, o) => (score - centerOf(o)) / unitOf(o));
  const inUnits = (values) => values.map((value, i) => value * unitOf(i % model.n_outputs));

  /** Values (features, outputs) of coded features among those of all; the others' are 0. */
  function spread(values) {
    const c = model.n_outputs;
    const found = new Float64Array(features.length * c);
    packed.features.forEach((j, f) => found.set(values.subarray(f * c, (f + 1) * c), j * c));
    return found;
  }

  return {
    base: toUsers(unpack(packed.base)),
    bins: () => null,
    categories: () => [],
    start(values) {
      const row = inputs.encode(values);
      const begun = model.start(row);
      const scores = model.scores(begun);
      const game = once(() => shapley.start(row));

      /** Standardised scores of the row with a few features changed; the changed row is left in `other`. */
      const other = { X: Float64Array.from(row.X), codes: Int32Array.from(row.codes) };
      function change(changes) {
        const found = model.changed(begun, changes.map(([j, value]) => {
          inputs.encodeValue(other, j, value);
          return j;
        }), other);
        for (const [j] of changes) inputs.encodeValue(other, j, values[j]);
        return found;
      }

      return {
        scores: toUsers(scores),
        changed: (changes) => toUsers(change(changes)),
        explain() {
          const found = shapley.explain(game(), scaled(scores));
          return { values: spread(inUnits(found.values)), errors: spread(inUnits(found.errors)) };
        },
        vary(j) {
          const vary = shapley.vary(game(), j);
          return (value) => {
            const changed = change([[j, value]]);
            inputs.encodeValue(other, j, value);
            const found = inUnits(vary(other, scaled(changed)));
            inputs.encodeValue(other, j, values[j]);
            return found;
          };
        },
      };
    },
  };
}

/** The network of scores: main values and gated units on embeddings. */
function createModel(packed, { n_features: m, placeOf, createEmbedding }) {
  const last = weightsOf(packed.last); // (h, c)
  const lastBias = weightsOf(packed.last_bias);
  const first = weightsOf(packed.first); // (m d, 2 h)
  const firstBias = weightsOf(packed.first_bias);
  const [c, size] = [lastBias.length, firstBias.length];
  const h = size / 2;
  const d = first.length / size / Math.max(m, 1);
  const columns = transpose(last, h, c);
  const embed = createEmbedding(packed.nodes, c + d);
  const mine = new Float64Array(c + d);
  const units = new Float64Array(h);

  /** Add what coded feature f of a row adds to main values (c), which come first, and to the first layer's sums. */
  function add(sums, row, f, factor) {
    embed(row, f, mine, 0);
    for (let o = 0; o < c; o += 1) sums[o] += factor * mine[o];
    for (let e = 0; e < d; e += 1) addScaled(sums, c, first, (f * d + e) * size, size, factor * mine[c + e]);
  }

  /** Standardised scores (c) from main values and sums. */
  function scores(sums) {
    for (let i = 0; i < h; i += 1) units[i] = (sums[c + i] / (1 + Math.exp(-sums[c + i]))) * sums[c + h + i];
    return Float64Array.from(lastBias, (bias, o) => sums[o] + bias + dot(columns, o * h, units, 0, h));
  }

  return {
    n_outputs: c,
    start(row) {
      const sums = new Float64Array(c + size);
      sums.set(firstBias, c);
      for (let f = 0; f < m; f += 1) add(sums, row, f, 1);
      return { row, sums };
    },
    scores: ({ sums }) => scores(sums),
    /** Scores of another row, which differs in these features. */
    changed({ row, sums }, changed, other) {
      const found = Float64Array.from(sums);
      for (const j of changed) {
        if (!placeOf.has(j)) continue;
        add(found, row, placeOf.get(j), -1);
        add(found, other, placeOf.get(j), 1);
      }
      return scores(found);
    },
  };
}

/** Return what finds a coded feature of a row in tables: its node, and how far it is on the way to the next one. */
function createCoding(packed, features) {
  const knots = unpack(packed.knots);
  const { widths } = packed;
  const [starts, firsts] = [[], []];
  let [node, knot] = [0, 0];
  packed.features.forEach((j, f) => {
    starts.push(node);
    firsts.push(knot);
    node += widths[f] + 1;
    if (features[j].kind === "number") knot += widths[f];
  });

  function coded(row, f) {
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
  }

  return {
    n_features: packed.features.length,
    placeOf: new Map(packed.features.map((j, f) => [j, f])),
    /** Return what writes main values and embedding of one coded feature, `step` numbers, as a table of nodes gives them. */
    createEmbedding(packedNodes, step) {
      const nodes = unpack(packedNodes);
      return (row, f, to, at) => {
        const { node: own, part } = coded(row, f);
        for (let i = 0; i < step; i += 1) {
          const start = nodes[own * step + i];
          to[at + i] = part ? start + part * (nodes[(own + 1) * step + i] - start) : start;
        }
      };
    },
  };
}
