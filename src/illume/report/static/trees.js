// A twin made of trees: the model's own scores and exact contributions.

import { createCodes } from "./codes.js";
import { createForest } from "./forest.js";
import { once } from "./packed.js";

/** Split numbers into lists of these lengths. */
function split(numbers, lengths) {
  let end = 0;
  return Array.from(lengths, (length) => {
    end += length;
    return numbers.subarray(end - length, end);
  });
}

/** Return the trees that Python packed, as a twin; see `createTwin`. */
export function createTrees(packed) {
  const m = packed.categories.length;
  const cuts = split(packed.cuts, packed.n_cuts);
  const codes = createCodes(cuts, packed.categories);
  const forest = createForest({ ...packed, n_features: m });
  const game = once(() => forest.against(split(Int32Array.from(packed.background, (code) => code - 1), new Array(m).fill(packed.background.length / m))));
  const plus = (sums) => sums.map((sum, o) => sum + packed.start[o]);

  /** The bins of a number beside its own as [nearest, farthest] number in each, the nearest first on either side. */
  function bins(j, value) {
    const edges = cuts[j];
    const own = codes.codeOf(j, value);
    const above = (at) => [nextUp(edges[at - 1]), edges[at] ?? Infinity];
    const below = (at) => [edges[at], at ? nextUp(edges[at - 1]) : -Infinity];
    return Array.from({ length: edges.length + 1 }, (_, at) => at)
      .filter((at) => at !== own)
      .map((at) => (own < 0 || at > own ? (at ? above(at) : below(at)) : below(at)));
  }

  return {
    get base() { return plus(game().base); },
    steps: true,
    bins: (j, value) => (packed.categories[j] ? null : bins(j, value)),
    categories: (j) => packed.categories[j] ?? [],
    start(values) {
      const own = codes.of(values);
      return {
        scores: plus(forest.scores(own)),
        changed(changes) {
          const row = own.slice();
          for (const [j, value] of changes) row[j] = codes.codeOf(j, value);
          return plus(forest.scores(row));
        },
        explain: () => ({ values: game().explain(own) }),
        vary(j) {
          const found = game().vary(own, j);
          return (value) => found(codes.codeOf(j, value));
        },
      };
    },
  };
}

const view = new DataView(new ArrayBuffer(8));

/** The number after a finite one. */
export function nextUp(number) {
  if (number === 0) return Number.MIN_VALUE;
  view.setFloat64(0, number);
  view.setBigInt64(0, view.getBigInt64(0) + (number > 0 ? 1n : -1n));
  return view.getFloat64(0);
}
