// Everything that an engine says about the rows shown, as plain lists; numbers that JSON does not know are null.

export function everything(engine) {
  const found = { answers: [], decision: [], values: [], errors: [], score: [], base: [], slopes: [], trust: [], far: [], odd: [], reasons: [], rules: [], set: [] };
  for (let i = 0; i < engine.rows.n; i += 1) {
    const row = engine.rows.values(i);
    const explained = engine.explain(row);
    const trust = engine.trust(row, explained);
    for (const name of ["answers", "values", "errors", "score", "base"]) found[name].push([...explained[name]]);
    found.decision.push(explained.decision);
    found.slopes.push([...engine.slopes(row)]);
    found.trust.push([trust.agreement, trust.error, trust.distance, trust.contributionError]);
    found.far.push(trust.far);
    found.odd.push(trust.odd);
    found.reasons.push(trust.reasons);
    // A row's rule is checked on the next row, too, which may break it.
    const next = engine.rows.values((i + 1) % engine.rows.n);
    found.rules.push([row, next].map((each) => engine.rule(i, each)?.covers ?? null));
    found.set.push(engine.ruleSet(row)?.position ?? null);
  }
  return found;
}
