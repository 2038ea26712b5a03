// Explain all rows of a payload with the engine, and write every figure to a file: run_engine.mjs MODULES PAYLOAD RESULT.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, from, to] = process.argv.slice(2);
const { loadEngine } = await import(pathToFileURL(`${modules}/engine.js`));
const { everything, recourses, shortcuts } = await import(pathToFileURL(`${modules}/everything.js`));
const engine = await loadEngine(JSON.parse(readFileSync(from, "utf-8")));
writeFileSync(to, JSON.stringify({ ...everything(engine), shortcuts: shortcuts(engine), recourses: recourses(engine, engine.features.length > 30 ? 4 : 12) }));
