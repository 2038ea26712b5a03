// Ask a twin in Node: run_twin.mjs MODULES QUESTION ANSWERS; scores and values of rows as numbers, and milliseconds an edit as JSON.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, from, to] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${modules}/${name}.js`));
const [{ createTwin }, { expandAll }] = await Promise.all(["twin", "squeezed"].map(load));
const { twin: packed, rows } = JSON.parse(readFileSync(from, "utf-8"));
const began = performance.now();
const twin = createTwin(await expandAll(packed), null, null);
const found = [...twin.base];
const opened = performance.now() - began;
const times = [];
for (const values of rows) {
  const start = performance.now();
  const row = twin.start(values);
  const { values: contributions } = row.explain();
  times.push(performance.now() - start);
  found.push(...row.scores, ...contributions);
}
// Rows that differ in one value, by what is made for such questions
const [first, second] = rows;
const row = twin.start(first);
const s = twin.base.length;
let shortcut = 0;
second.forEach((value, j) => {
  const other = twin.start(first.map((own, k) => (k === j ? value : own)));
  const gap = (a, b) => a.forEach((each, o) => { shortcut = Math.max(shortcut, Math.abs(each - b[o])); });
  gap(row.changed([[j, value]]), other.scores);
  gap(row.vary(j)(value), other.explain().values.slice(j * s, (j + 1) * s));
});
writeFileSync(to, new Uint8Array(Float64Array.from(found).buffer));
const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
writeFileSync(`${to}.json`, JSON.stringify({ opened, edit: median(times), shortcut }));
