// The least change of a row that the twin answers as desired: few features first, then a small distance.

import { isMissing } from "./inputs.js";

const [SHORT, TRIED, BEAM] = [3, 192, 24]; // values of a feature to add to others, sets to try, those to go on from
const NEAREST = 3; // examples to make smaller, beside those of other features
const [SECTIONS, ROUNDS] = [8, 3]; // into which a step is divided, how often
const FINEST = 1000; // numbers are rounded to such parts of their range,
const MORE = [0, 1, 2, 4, 6]; // or to as many digits more as it takes
const SURE = 1e-9; // by how much a goal is reached at least, so that rounding does not matter

/** How far answers are beyond what is desired: log-odds, or standard deviations of numbers; negative before it. */
function createGoal(outputs, answers, { desired, output, probability }) {
  if (!outputs.classes) {
    const [low, high] = [desired[0] ?? -Infinity, desired[1] ?? Infinity];
    return (each) => Math.min(each[output] - low, high - each[output]) / outputs.spread[output];
  }
  const decided = outputs.decide(answers);
  const wanted = desired === null ? outputs.names.map((_, k) => k).filter((k) => k !== decided) : [desired];
  const log = (share) => Math.log(Math.max(share, 1e-300));
  const beyond = (share, edge) => log(share) - log(1 - share) - log(edge) + log(1 - edge);
  const lead = (each, k) => {
    const { threshold } = outputs;
    const sure = probability > 0 ? beyond(each[k], probability) : Infinity;
    if (threshold) return Math.min(sure, beyond(each[k], k === threshold.class ? threshold.value : 1 - threshold.value));
    return Math.min(sure, log(each[k]) - each.reduce((most, share, other) => (other === k ? most : Math.max(most, log(share))), -Infinity));
  };
  return (each) => wanted.reduce((most, k) => Math.max(most, lead(each, k)), -Infinity);
}

/**
 * Return the values that a feature may take instead of its own, those nearest to it first, each with the farthest that does the same:
 * where the twin goes in steps, one in each of its bins that reaches into the seen range, else quantiles of what was seen.
 */
export function createChoices({ features, inputs, twin }, { locked = [], directions = {}, ranges = {} }) {
  const fixed = new Set(locked);

  function limits(j) {
    const [low, high] = [ranges[j]?.[0] ?? -Infinity, ranges[j]?.[1] ?? Infinity];
    return features[j].whole ? [Math.ceil(low), Math.floor(high)] : [low, high];
  }

  /** Whether a feature may go from a value to another. */
  function permits(j, from, to) {
    const way = directions[j];
    if (fixed.has(j)) return false;
    if (features[j].kind === "category") return (!ranges[j] || ranges[j].includes(to)) && (!way || (way.includes(from) && way.indexOf(to) > way.indexOf(from)));
    const [low, high] = limits(j);
    return to >= low && to <= high && (!way || (!isMissing(from) && way * (to - from) > 0));
  }

  function categories(j, value) {
    const { categories: known, other } = features[j];
    const common = known.filter((each, at) => at !== inputs.known(j, value) && (ranges[j] || (at !== other && each !== null)));
    const rare = twin.categories(j).filter((each) => each !== null && each !== value && inputs.known(j, each) < 0);
    return [...common, ...rare].filter((to) => permits(j, value, to)).map((to) => ({ to, far: to }));
  }

  /** The number that distances from a missing value are measured from. */
  const usual = (j) => inputs.mean[features[j].start];

  /** Steps of the twin, cut to what is permitted and to the seen range, or to numbers that were asked for beyond it. */
  function steps(j, value) {
    const { low: seenLow, high: seenHigh, whole } = features[j];
    const [low, high] = limits(j);
    const [least, most] = [Number.isFinite(low) ? low : seenLow ?? -Infinity, Number.isFinite(high) ? high : seenHigh ?? Infinity];
    return twin.bins(j, value).map(([near, far]) => {
      const up = far > near;
      const [from, to] = (up ? [near, far] : [far, near]).map((end) => Math.min(Math.max(end, least), most));
      const [first, last] = whole ? [Math.ceil(from), Math.floor(to)] : [from, to];
      const inside = first <= last && (up ? near <= most && far >= least : far <= most && near >= least);
      if (inside && isMissing(value)) return { to: Math.min(Math.max(whole ? Math.round(usual(j)) : usual(j), first), last), far: last };
      return inside ? (up ? { to: first, far: last } : { to: last, far: first }) : null;
    }).filter((step) => step && permits(j, value, step.to));
  }

  function quantiles(j, value) {
    const [low, high] = limits(j);
    const ends = [low, high, features[j].low, features[j].high].filter((end) => Number.isFinite(end));
    return [...new Set([...features[j].knots, ...ends])].filter((each) => each !== value && permits(j, value, each)).map((to) => ({ to, far: to }));
  }

  function numbers(j, value) {
    const inside = twin.bins(j, value) ? steps(j, value) : quantiles(j, value);
    const start = isMissing(value) ? usual(j) : value;
    return inside.sort((a, b) => Math.abs(a.to - start) - Math.abs(b.to - start));
  }

  return {
    permits,
    of: (j, value) => (fixed.has(j) || !features[j].width ? [] : (features[j].kind === "category" ? categories : numbers)(j, value)),
    /** The permitted number that is nearest to a value. */
    nearest: (j, value) => Math.min(Math.max(value, limits(j)[0]), limits(j)[1]),
  };
}

/** Return the search for least changes; see `engine.recourse`. */
export function createRecourse({ features, inputs, outputs, twin }, variations) {
  const scratch = { X: new Float64Array(inputs.size), codes: new Int32Array(features.length) };

  /** How far a value is from another: standard deviations, or 1 for another category. */
  function step(j, from, to) {
    if (features[j].kind === "category") return 1;
    const [a, b] = [from, to].map((value) => {
      inputs.encodeValue(scratch, j, value);
      return scratch.X[features[j].start];
    });
    return Math.abs(b - a);
  }

  /**
   * Return up to `n` examples of different features, those with fewest changes and then the nearest first. `desired` is a class as a
   * position, null for any other class, or [low, high] for numbers, null for an open end. `directions` are 1 or -1
   * by feature, or the order of categories, `ranges` [low, high] or a list of categories. Answers are to go `margin`
   * beyond what is desired, and a class is to have at least this `probability`.
   */
  return function* recourse(values, { desired = null, output = 0, maxChanges = 3, n = 3, margin = 0, probability = 0, ...limits } = {}) {
    const prepared = variations.prepare(values);
    if (!outputs.classes && !desired) throw new Error("for numbers, desired must be [low, high]");
    const goal = createGoal(outputs, prepared.answers, { desired, output, probability });
    if (goal(prepared.answers) >= 0) return [];
    const bar = Math.max(margin, SURE);
    const choices = createChoices({ features, inputs, twin }, limits);
    function* judge(many) {
      return (yield* variations.answersInSteps(prepared, many)).map(goal);
    }

    const distance = (changes) => Math.hypot(...changes.map(([j, to]) => step(j, values[j], to)));

    const isNumber = ([j]) => features[j].kind === "number" && !isMissing(values[j]);
    const between = (j, near, far, share) => (features[j].whole ? Math.round(near + share * (far - near)) : near + share * (far - near));

    /** Return the example with the least share of a change, from 0 to 1, that reaches the goal; all of it does. */
    function* least(example) {
      let [out, good] = [0, 1];
      for (let round = 0; round < ROUNDS; round += 1) {
        const shares = Array.from({ length: SECTIONS - 1 }, (_, i) => out + ((good - out) * (i + 1)) / SECTIONS);
        const first = (yield* judge(shares.map(example))).findIndex((found) => found > bar);
        [out, good] = first < 0 ? [shares[SECTIONS - 2], good] : [first ? shares[first - 1] : out, shares[first]];
      }
      return example(good);
    }

    /** Move one number of an example as near to a value as the goal allows, and round it, up to `farthest`. */
    function* shrinkOne(changes, at, near, farthest) {
      if (!isNumber(changes[at])) return changes;
      const [j, far] = changes[at];
      const start = choices.nearest(j, near);
      const put = (value) => changes.map((change, i) => (i === at ? [j, value] : change));
      return yield* shorten(yield* least((share) => put(between(j, start, far, share))), at, farthest);
    }

    /** Round one number of an example, up to `farthest`. */
    function* shorten(changes, at, farthest) {
      const [j, to] = changes[at];
      if (features[j].kind !== "number" || features[j].whole) return changes;
      const rounded = roundBeyond(to, farthest, features[j]).map((value) => changes.map((change, i) => (i === at ? [j, value] : change)));
      const good = (yield* judge(rounded)).findIndex((found) => found > bar);
      return good < 0 ? changes : rounded[good];
    }

    /** Make the changes of an example smaller: all numbers together, then one after the other. */
    function* shrink(changes) {
      const joint = yield* least((share) => changes.map((change) =>
        (isNumber(change) ? [change[0], between(change[0], choices.nearest(change[0], values[change[0]]), change[1], share)] : change)));
      const moved = joint.filter(([j, to]) => to !== values[j]);
      const farthest = new Map(changes);
      let smaller = moved;
      for (const [at, [j]] of moved.entries()) smaller = yield* shrinkOne(smaller, at, values[j], farthest.get(j));
      return smaller;
    }

    /** Return the least change of each single feature that reaches the goal, and all others by feature. */
    function* singles() {
      const options = features.flatMap((_, j) => choices.of(j, values[j]).map((each) => ({ j, ...each })));
      const tried = options.map(({ j, to }) => [[j, to]]);
      const found = yield* judge(tried);
      const best = [];
      const others = features.map(() => []);
      for (const [j, feature] of features.entries()) {
        const mine = [...options.keys()].filter((i) => options[i].j === j);
        const sides = feature.kind === "category" || isMissing(values[j]) ? [() => true] : [(to) => to > values[j], (to) => to < values[j]];
        for (const side of sides) {
          const own = mine.filter((i) => side(tried[i][0][1]));
          const good = feature.kind === "category" ? own.reduce((most, i) => (found[i] > bar && !(found[i] <= found[most]) ? i : most), -1) : own.find((i) => found[i] > bar) ?? -1;
          if (good < 0) continue;
          if (twin.bins(j, values[j])) {
            best.push(yield* shorten(tried[good], 0, options[good].far));
            continue;
          }
          const before = own.indexOf(good) - 1;
          best.push(yield* shrinkOne(tried[good], 0, before < 0 ? values[j] : tried[own[before]][0][1], tried[good][0][1]));
        }
        others[j] = mine.filter((i) => !(found[i] > bar)).sort((a, b) => found[b] - found[a] || a - b).slice(0, SHORT).map((i) => ({ changes: tried[i], found: found[i] }));
      }
      return { best, others };
    }

    /** Return the best of several examples with the same features each, as many as `most`. */
    function leading(examples, most, order) {
      const seen = new Set();
      return examples.sort(order).filter(({ changes }) => {
        const key = changes.map(([j]) => j).sort((a, b) => a - b).join();
        return !seen.has(key) && seen.add(key);
      }).slice(0, most);
    }

    /** Return up to `n` examples, each with as few features of those before it as possible. */
    function diverse(all) {
      const [left, kept, used] = [[...all], [], new Set()];
      const shared = ({ changes }) => changes.filter(([j]) => used.has(j)).length / changes.length;
      while (left.length && kept.length < n) {
        const next = left.reduce((first, one) => (shared(one) < shared(first) ? one : first));
        left.splice(left.indexOf(next), 1);
        kept.push(next);
        for (const [j] of next.changes) used.add(j);
      }
      return kept.sort(inOrder);
    }

    const inOrder = (a, b) => a.changes.length - b.changes.length || a.distance - b.distance;
    const { best, others } = yield* singles();
    const enough = new Set(best.map(([[j]]) => j)); // features that need no others
    const steps = others.flat().filter(({ changes }) => !enough.has(changes[0][0]));
    const own = goal(prepared.answers);
    let examples = best;
    let beam = steps;
    for (let size = 2; size <= maxChanges && examples.length < n && beam.length; size += 1) {
      // What changes reach together is about the sum of what each does; the most promising sets are tried.
      const sets = beam.flatMap(({ changes, found }) => steps
        .filter((one) => one.changes[0][0] > changes[changes.length - 1][0] || (size > 2 && changes.every(([j]) => j !== one.changes[0][0])))
        .map((one) => ({ changes: [...changes, ...one.changes], found: found + one.found - own })));
      const tried = sets.sort((a, b) => b.found - a.found).slice(0, TRIED);
      (yield* judge(tried.map(({ changes }) => changes))).forEach((found, i) => { tried[i].found = found; });
      const reached = tried.filter(({ found }) => found > bar).map((one) => ({ ...one, distance: distance(one.changes) }));
      const before = examples.map((changes) => changes.map(([j]) => j));
      const fresh = reached.filter(({ changes }) => !before.some((own) => own.every((j) => changes.some(([k]) => k === j))));
      const near = leading(fresh, fresh.length, (a, b) => a.distance - b.distance);
      for (const { changes } of new Set([...near.slice(0, NEAREST), ...diverse(near)])) examples.push(yield* shrink(changes));
      beam = leading(tried, BEAM, (a, b) => b.found - a.found);
    }
    return diverse(leading(examples.map((changes) => ({ changes, distance: distance(changes) })), examples.length, inOrder))
      .map(({ changes, distance: far }) => {
        const row = values.map((value, j) => changes.find(([changed]) => changed === j)?.[1] ?? value);
        const listed = changes.map(([j, to]) => ({ j, from: values[j], to }));
        return { row, changes: listed, answers: variations.answers(prepared, [changes])[0], distance: far };
      });
  };
}

/** Return shorter numbers at `number` or a little farther, up to `far`, the shortest first. */
function roundBeyond(number, far, { low, high }) {
  const range = (high ?? far) - (low ?? number);
  const decimals = Math.max(0, Math.ceil(Math.log10(FINEST / Math.max(range, 1e-12))));
  const up = far > number;
  const within = (rounded) => (up ? rounded < far : rounded > far);
  return [...MORE.map((more) => {
    const power = 10 ** (decimals + more);
    return (up ? Math.ceil(number * power) : Math.floor(number * power)) / power;
  }).filter(within), far];
}
