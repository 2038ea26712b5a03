// Run the engine on a payload: run_engine.mjs MODULES PAYLOAD FIGURES [REST]; numbers of all rows, and all else as JSON.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, from, to, rest] = process.argv.slice(2);
const { loadEngine } = await import(pathToFileURL(`${modules}/engine.js`));
const { figures, reasons, recourses, shortcuts } = await import(pathToFileURL(`${modules}/everything.js`));
const engine = await loadEngine(JSON.parse(readFileSync(from, "utf-8")));
const size = 500;
const parts = Array.from({ length: Math.ceil(engine.rows.n / size) }, (_, i) =>
  figures(engine, i * size, Math.min((i + 1) * size, engine.rows.n)));
writeFileSync(to, Buffer.concat(parts.map((part) => new Uint8Array(part.buffer))));
if (rest) {
  const n = engine.features.length > 30 ? 5 : 15;
  writeFileSync(rest, JSON.stringify({ shortcuts: shortcuts(engine), recourses: recourses(engine, n), reasons: reasons(engine, engine.rows.n) }));
}
