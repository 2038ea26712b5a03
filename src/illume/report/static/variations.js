// Rows that differ in a few features from one: the first layer of networks is updated, not computed anew.

import { once } from "./packed.js";
import { finish } from "./slices.js";

const AT_ONCE = 64; // rows: so few that even a slow processor is soon free for something else

/** Return what prepares rows and answers variations of them. */
export function createVariations({ features, inputs, outputs, surrogate, shapley }) {
  const [m, s] = [inputs.size, outputs.explained.length];
  let latest = null; // most questions are about the same row

  function prepare(values) {
    if (latest && latest.values.every((value, j) => Object.is(value, values[j]))) return latest;
    const row = inputs.encode(values);
    const sums = surrogate.sums(row.X);
    const answers = outputs.answers(surrogate.scores(sums, row.X, 1), 0);
    latest = { values: [...values], row, sums, answers, shapley: once(() => shapley.start(row)) };
    return latest;
  }

  const slopes = ({ sums }) => surrogate.slopes(sums);

  return {
    prepare,
    slopes,
    /** Contributions (features, outputs) as slopes times inputs, where there are no Shapley values. */
    pullBack(prepared) {
      const [found, { X }] = [slopes(prepared), prepared.row];
      const values = new Float64Array(features.length * s);
      features.forEach(({ start, width }, j) => {
        for (let i = start; i < start + width; i += 1) {
          for (let o = 0; o < s; o += 1) values[j * s + o] += found[i * s + o] * X[i];
        }
      });
      return { values, errors: values.map(() => NaN), remainder: new Float64Array(s) };
    },
    /** Return the answers to variations of a row: each is a list of changes [feature, value]. */
    answers: (prepared, variations) => finish(answersInSteps(prepared, variations)),
    answersInSteps,
  };

  function* answersInSteps({ row, sums }, variations) {
    const found = [];
    const codes = Int32Array.from(row.codes);
    const size = Math.min(AT_ONCE, variations.length);
    const X = new Float64Array(size * m);
    const all = new Float64Array(size * surrogate.size);
    for (let first = 0; first < variations.length; first += AT_ONCE) {
      const n = Math.min(AT_ONCE, variations.length - first);
      for (let v = 0; v < n; v += 1) {
        const [own, at] = [X.subarray(v * m, (v + 1) * m), v * surrogate.size];
        own.set(row.X);
        all.set(sums, at);
        for (const [j, value] of variations[first + v]) {
          surrogate.addFeature(all, at, j, own, -1);
          inputs.encodeValue({ X: own, codes }, j, value);
          surrogate.addFeature(all, at, j, own, 1);
        }
      }
      const scores = surrogate.scores(all, X, n);
      for (let v = 0; v < n; v += 1) found.push(outputs.answers(scores, v));
      yield;
    }
    return found;
  }
}
