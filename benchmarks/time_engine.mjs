// Time the explorer's engine on a payload: time_engine.mjs ENGINE PAYLOAD; prints milliseconds as JSON.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, from] = process.argv.slice(2);
const { loadEngine } = await import(pathToFileURL(module));
const payload = JSON.parse(readFileSync(from, "utf-8"));
const began = performance.now();
const engine = await loadEngine(payload);
const found = { load: [performance.now() - began] };
const { n } = engine.rows;
const rowOf = (i) => engine.rows.values(i % n);
const first = rowOf(0);
const m = engine.features.length;

/** Time a piece of work on rows by turns, after some turns that warm up. */
function time(name, turns, work) {
  for (let i = 0; i < 20; i += 1) work(i);
  found[name] = Array.from({ length: turns }, (_, i) => {
    const start = performance.now();
    work(i);
    return performance.now() - start;
  });
}

time("explain", 400, (i) => engine.explain(rowOf(i)));
time("explain_trust_rules", 400, (i) => {
  const row = rowOf(i);
  engine.trust(row, engine.explain(row));
  engine.rule(i % n, row);
  engine.ruleSet(row);
});
time("edit", 400, (i) => {
  const row = [...first];
  row[i % m] = rowOf(i)[i % m];
  engine.trust(row, engine.explain(row));
});
time("curve", 120, (i) => engine.curve(first, i % m, 60));
time("grid", 30, (i) => engine.grid(first, i % m, (i + 1) % m, 24));
time("recourse", 60, (i) => {
  const row = rowOf(i);
  const [answer] = engine.explain(row).answers;
  engine.recourse(row, engine.outputs.classes ? {} : { desired: [answer + engine.outputs.spread[0], null] });
});
console.log(JSON.stringify(found));
