// Search flips in Node: search_flips.mjs MODULES PAYLOAD ANSWERS N FEATURE; for the first N rows the least changes to another class,
// those of one value, and those of the feature alone.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, from, to, n, feature] = process.argv.slice(2);
const { loadEngine } = await import(pathToFileURL(`${modules}/engine.js`));
const engine = await loadEngine(JSON.parse(readFileSync(from, "utf-8")));
const found = Array.from({ length: Number(n) }, (_, i) => {
  const row = engine.rows.values(i);
  const single = engine.recourse(row, { maxChanges: 1 });
  const locked = engine.features.map((_, j) => j).filter((j) => engine.features[j].name !== feature);
  return { row, single, alone: engine.recourse(row, { locked }), any: engine.recourse(row, { maxChanges: 3 }) };
});
writeFileSync(to, JSON.stringify({ proves: engine.proves(null), found }));
