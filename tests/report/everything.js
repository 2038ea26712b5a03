// Everything that an engine says about the rows shown.

/** Return all numbers and flags of some rows as one array, row by row; what is null is NaN. */
export function figures(engine, from, to) {
  const found = [];
  for (let i = from; i < to; i += 1) {
    const row = engine.rows.values(i);
    const explained = engine.explain(row);
    const trust = engine.trust(row, explained);
    // A row's rule is checked on the next row, too, which may break it.
    const next = engine.rows.values((i + 1) % engine.rows.n);
    const covers = [row, next].map((each) => engine.rule(i, each)?.covers ?? NaN);
    found.push(
      ...explained.answers, explained.decision ?? NaN, ...explained.values, ...explained.errors, ...explained.score,
      ...explained.base, trust.distance, trust.contributionError, trust.share, trust.far, ...trust.odd, ...covers, engine.ruleSet(row)?.position ?? NaN,
    );
  }
  return Float64Array.from(found, Number);
}

/** The largest differences of curves and grids from explanations of the changed rows themselves. */
export function shortcuts(engine) {
  const row = engine.rows.values(0);
  const s = engine.outputs.explained.length;
  const put = (changes) => row.map((value, j) => (j in changes ? changes[j] : value));
  const gap = (found, wanted) => Math.max(...found.map((each, i) => Math.abs(each - wanted[i]) / Math.max(...wanted.map(Math.abs), 1e-9)));
  let most = 0;
  engine.features.slice(0, 12).forEach((_, j) => {
    const { x, answers, contributions } = engine.curve(row, j, 13);
    x.forEach((value, i) => {
      const explained = engine.explain(put({ [j]: value }));
      const size = Math.max(...explained.values.map(Math.abs));
      const mine = explained.values.slice(j * s, (j + 1) * s);
      most = Math.max(most, gap(answers[i], explained.answers), ...mine.map((each, o) => Math.abs(each - contributions[i][o]) / size));
    });
  });
  const { x, y, answers } = engine.grid(row, 0, 4, 5);
  x.forEach((first, a) => y.forEach((second, b) => {
    most = Math.max(most, gap(answers[a][b], engine.explain(put({ 0: first, 4: second })).answers));
  }));
  return most;
}

/** Least changes of some rows under limits, which are given back with them. */
export function recourses(engine, n) {
  const found = [];
  for (let i = 0; i < n; i += 1) {
    const row = engine.rows.values(i);
    const { answers, decision } = engine.explain(row);
    const spread = engine.outputs.spread?.[0];
    const desired = engine.outputs.classes
      ? [null, null, (decision + 1) % engine.outputs.names.length][i % 3]
      : [[answers[0] + 0.5 * spread, null], [null, answers[0] - 0.5 * spread]][i % 2];
    const narrow = engine.features.map((feature, j) => [j, [row[j] - 0.5, row[j] + 0.5]]).filter(([j]) => typeof row[j] === "number" && engine.features[j].kind === "number");
    const limits = [
      {}, { locked: [0] }, { directions: { 0: 1, 1: -1, 2: 1 } }, { ranges: { 0: [-0.4, 0.9], 2: [-1.5, 8] }, maxChanges: 2 },
      { ranges: Object.fromEntries(narrow) },
    ][i % 5];
    const [examples, again] = [0, 1].map(() => engine.recourse(row, { ...limits, desired, n: 3 }));
    found.push({ row, desired, ...limits, examples, again });
  }
  return found;
}

/** The reasons why rows are outside of what the explainer was fitted on. */
export const reasons = (engine, n) => Array.from({ length: n }, (_, i) => engine.trust(engine.rows.values(i)).reasons);
