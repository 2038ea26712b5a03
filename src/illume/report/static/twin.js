// What stands for the model in the page: trees or terms that were read from it, or networks that learned it.

import { createLearned } from "./learned.js";
import { createLinear } from "./linear.js";
import { createTrees } from "./trees.js";

const KINDS = { trees: createTrees, linear: createLinear, learned: createLearned };

/**
 * Return the twin of what Python packed: {base, steps, bins, categories, start}.
 *
 * `base` (outputs) is the mean score of the background rows; `steps` says whether scores go in steps. Then `bins(j, value)`
 * are all other bins that a number can be in, as [nearest, farthest] number of each; else it is null. `categories(j)` are all
 * that the twin tells apart. `start(values)` returns what is asked about a row: its `scores`, those of the row `changed` in a
 * few values, given as [feature, value], what `explain` gives: contributions `values` (features, outputs), and `errors`
 * unless they are exact, and what `vary(j)` gives: feature j's contributions by its value.
 */
export function createTwin(packed, features, inputs, outputs) {
  const twin = KINDS[packed.kind](packed, features, inputs, outputs);
  if (!packed.centred) return twin;
  const s = packed.n_outputs;

  /** Scores, or values (features, outputs), less their mean over the outputs. */
  function center(numbers) {
    const found = Float64Array.from(numbers);
    for (let at = 0; at < found.length; at += s) {
      const mean = found.subarray(at, at + s).reduce((sum, each) => sum + each, 0) / s;
      for (let o = 0; o < s; o += 1) found[at + o] -= mean;
    }
    return found;
  }

  return {
    get base() { return center(twin.base); },
    steps: twin.steps,
    bins: twin.bins,
    categories: twin.categories,
    start(values) {
      const row = twin.start(values);
      return {
        scores: center(row.scores),
        changed: (changes) => center(row.changed(changes)),
        explain: () => ({ values: center(row.explain().values) }),
        vary(j) {
          const vary = row.vary(j);
          return (value) => center(vary(value));
        },
      };
    },
  };
}
