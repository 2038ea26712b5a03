// Trees on coded features, and the exact Shapley values of their sum, as `illume.twin` computes them.

import { once } from "./packed.js";

const DENSE = 10; // players of a leaf up to which all patterns are counted at once

/** Weights of a player whose condition the background row misses, and of one whose the row misses, by how many of each there are. */
const weights = once(() => {
  const [most, factorials] = [32, [1]];
  for (let i = 1; i < 2 * most; i += 1) factorials.push(i * factorials[i - 1]);
  const table = (of) => Array.from({ length: most }, (_, u) => Float64Array.from({ length: most }, (__, v) => (u + v ? of(u, v) / factorials[u + v] : 0)));
  return {
    up: table((u, v) => (u ? factorials[u - 1] * factorials[v] : 0)),
    down: table((u, v) => (v ? factorials[u] * factorials[v - 1] : 0)),
  };
});

function countBits(number) {
  let n = 0;
  for (let rest = number; rest; rest &= rest - 1) n += 1;
  return n;
}

const lowest = (set) => 31 - Math.clz32(set & -set);

/** Return the forest whose nodes Python packed: each before its left part, and that before the right part. */
export function createForest(packed) {
  const { n_features: m, n_outputs: s, choices, width } = packed;
  const feature = Uint16Array.from(packed.feature); // m at leaves
  const n = feature.length;
  const [rank, missingLeft, choice] = [new Int32Array(n), new Uint8Array(n), new Int32Array(n)];
  const [right, bit, leafOf] = [new Int32Array(n), new Int32Array(n), new Int32Array(n)];
  const [roots, nodes, players] = [[], [], []]; // of trees; of leaves, and the features on their paths
  arrange();
  const values = readValues();

  /** Find the right parts, the features on the path to each node, and the bit that each has in patterns. */
  function arrange() {
    let [inner, paths, open] = [0, [], []];
    for (let i = 0; i < n; i += 1) {
      if (!paths.length) roots.push(i);
      const path = paths.pop() ?? [];
      if (feature[i] === m) {
        leafOf[i] = nodes.length;
        nodes.push(i);
        players.push(path);
        if (open.length) right[open.pop()] = i + 1;
        continue;
      }
      rank[i] = packed.rank[inner] - 2;
      missingLeft[i] = packed.missing_left[inner];
      choice[i] = packed.choice[inner] - 1;
      inner += 1;
      const next = path.includes(feature[i]) ? path : [...path, feature[i]];
      bit[i] = 1 << next.indexOf(feature[i]);
      open.push(i);
      paths.push(next, next);
    }
  }

  /** What each leaf adds: to which outputs, how much, from where on in both lists. */
  function readValues() {
    const [outputs, numbers, first] = [[], [], new Int32Array(nodes.length + 1)];
    let tree = -1;
    nodes.forEach((node, k) => {
      while (tree + 1 < roots.length && roots[tree + 1] <= node) tree += 1;
      const own = packed.output ? [packed.output[tree]] : Array.from({ length: s }, (_, o) => o);
      own.forEach((o, at) => {
        const value = packed.value[k * own.length + at];
        if (value !== 0) {
          outputs.push(o);
          numbers.push(value);
        }
      });
      first[k + 1] = outputs.length;
    });
    return { first, outputs: Uint16Array.from(outputs), numbers: Float64Array.from(numbers) };
  }

  /** Whether rows with these codes of a node's feature go left, (n). */
  function goLeft(i, codes, left) {
    const [set, most, least] = [choice[i] * width, rank[i], missingLeft[i] ? -1 : 0];
    if (set >= 0) for (let r = 0; r < codes.length; r += 1) left[r] = choices[set + (codes[r] < 0 ? width - 1 : codes[r])];
    else for (let r = 0; r < codes.length; r += 1) left[r] = codes[r] <= most && codes[r] >= least ? 1 : 0;
  }

  function goesLeft(i, code) {
    if (choice[i] >= 0) return choices[choice[i] * width + (code < 0 ? width - 1 : code)] > 0;
    return code <= rank[i] && (code >= 0 || missingLeft[i] > 0);
  }

  /** Write for each node which conditions on its path a row misses, as bits. */
  function findMissed(codes, missed) {
    for (let i = 0; i < n; i += 1) {
      const f = feature[i];
      if (f === m) continue;
      const here = missed[i];
      const left = goesLeft(i, codes[f]);
      missed[i + 1] = left ? here : here | bit[i];
      missed[right[i]] = left ? here | bit[i] : here;
    }
  }

  /** Return the sums of all trees, (s), added in their order. */
  function scores(codes) {
    const found = new Float64Array(s);
    for (const root of roots) {
      let i = root;
      while (feature[i] < m) i = goesLeft(i, codes[feature[i]]) ? i + 1 : right[i];
      const k = leafOf[i];
      for (let q = values.first[k]; q < values.first[k + 1]; q += 1) found[values.outputs[q]] += values.numbers[q];
    }
    return found;
  }

  /** Call with each leaf, in their order, and which conditions on its path rows miss, whose codes are given by feature. */
  function eachLeaf(columns, visit) {
    const size = columns[0].length;
    const buffers = [];
    const left = new Uint8Array(size);

    function walk(i, missed, depth) {
      if (feature[i] === m) {
        visit(leafOf[i], missed);
        return;
      }
      buffers[depth] ??= [new Int32Array(size), new Int32Array(size)];
      const [lower, upper] = buffers[depth];
      const own = bit[i];
      goLeft(i, columns[feature[i]], left);
      for (let r = 0; r < size; r += 1) {
        lower[r] = left[r] ? missed[r] : missed[r] | own;
        upper[r] = left[r] ? missed[r] | own : missed[r];
      }
      walk(i + 1, lower, depth + 1);
      walk(right[i], upper, depth + 1);
    }

    for (const root of roots) walk(root, new Int32Array(size), 0);
  }

  return { scores, against: (columns) => createGame({ m, s, n, nodes, players, values, findMissed, eachLeaf }, columns) };
}

/** Return what gives Shapley values of a forest against background rows, whose codes are given by feature. */
function createGame({ m, s, n, nodes, players, values, findMissed, eachLeaf }, columns) {
  const { first, sets, shares } = countMissed();
  const { up, down } = weights();
  const starts = new Int32Array(nodes.length + 1);
  players.forEach((path, k) => { starts[k + 1] = starts[k] + path.length; });
  const owner = Uint16Array.from(players.flat());
  const each = new Float64Array(owner.length); // values of each leaf's players, if it adds 1
  const known = new Int32Array(nodes.length).fill(-1); // what the row missed whose values `each` holds
  const missed = new Int32Array(n);

  /** For each leaf, the sets of players whose conditions background rows miss, and their shares. */
  function countMissed() {
    const [allSets, allShares, ends] = [[], [], new Int32Array(nodes.length + 1)];
    const counts = new Int32Array(1 << DENSE);
    const keep = (set, count) => {
      allSets.push(set);
      allShares.push(count / columns[0].length);
    };
    eachLeaf(columns, (k, missed) => {
      const d = players[k].length;
      if (d > DENSE) {
        const many = new Map();
        for (const set of missed) many.set(set, (many.get(set) ?? 0) + 1);
        many.forEach((count, set) => keep(set, count));
      } else {
        for (let r = 0; r < missed.length; r += 1) counts[missed[r]] += 1;
        for (let set = 0; set < 1 << d; set += 1) if (counts[set]) keep(set, counts[set]);
        counts.fill(0, 0, 1 << d);
      }
      ends[k + 1] = allSets.length;
    });
    return { first: ends, sets: Int32Array.from(allSets), shares: Float64Array.from(allShares) };
  }

  /** Compute the values of a leaf's players for a row that misses the conditions of some. */
  function play(k, lost) {
    known[k] = lost;
    const start = starts[k];
    each.fill(0, start, starts[k + 1]);
    const v = countBits(lost);
    let taken = 0;
    for (let p = first[k]; p < first[k + 1]; p += 1) {
      const gained = sets[p];
      if (gained & lost) continue;
      const u = countBits(gained);
      taken += down[u][v] * shares[p];
      const given = up[u][v] * shares[p];
      for (let rest = gained; rest; rest &= rest - 1) each[start + lowest(rest)] += given;
    }
    for (let rest = lost; rest; rest &= rest - 1) each[start + lowest(rest)] = 0 - taken;
  }

  function findBase() {
    const found = new Float64Array(s);
    for (let k = 0; k < nodes.length; k += 1) {
      for (let p = first[k]; p < first[k + 1]; p += 1) {
        if (sets[p]) continue;
        for (let q = values.first[k]; q < values.first[k + 1]; q += 1) found[values.outputs[q]] += values.numbers[q] * shares[p];
      }
    }
    return found;
  }

  return {
    /** The mean sum of the background rows, (s). */
    base: findBase(),
    /** Return values (features, s) of a row; only leaves whose conditions it keeps otherwise than the last one are computed anew. */
    explain(codes) {
      const found = new Float64Array(m * s);
      findMissed(codes, missed);
      for (let k = 0; k < nodes.length; k += 1) {
        if (known[k] !== missed[nodes[k]]) play(k, missed[nodes[k]]);
        for (let q = values.first[k]; q < values.first[k + 1]; q += 1) {
          const [o, value] = [values.outputs[q], values.numbers[q]];
          for (let p = starts[k]; p < starts[k + 1]; p += 1) found[owner[p] * s + o] += value * each[p];
        }
      }
      return found;
    },
    /** Return what gives feature j's values (s) of rows that differ from one in this feature's code alone. */
    vary(codes, j) {
      const changed = Int32Array.from(codes);
      const mine = [];
      findMissed(codes, missed);
      nodes.forEach((node, k) => {
        const own = 1 << players[k].indexOf(j);
        if (!players[k].includes(j)) return;
        const [met, lost] = [missed[node] & ~own, missed[node] | own].map((set) => {
          play(k, set);
          return each[starts[k] + lowest(own)];
        });
        if (met || lost) mine.push({ k, node, own, met, lost });
      });
      return (code) => {
        const found = new Float64Array(s);
        changed[j] = code;
        findMissed(changed, missed);
        for (const { k, node, own, met, lost } of mine) {
          const value = missed[node] & own ? lost : met;
          for (let q = values.first[k]; q < values.first[k + 1]; q += 1) found[values.outputs[q]] += value * values.numbers[q];
        }
        return found;
      };
    },
  };
}
