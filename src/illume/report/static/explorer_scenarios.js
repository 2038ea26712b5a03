// Scenarios: edited rows that were kept, compared in a table, and downloaded as CSV or JSON.

import { isSame, valueText } from "./explorer_words.js";
import { countText, make } from "./text.js";

// How cells begin that spreadsheets run; a sign alone, or before a number, is no formula. As in Python.
const FORMULA = /^(?:[=@\t\r]|[+-](?!((\d+\.?\d*|\.\d+)(e[+-]?\d+)?)?$))/i;

/** A cell of CSV: texts that spreadsheets would run get an apostrophe, and what needs quotation marks gets these. */
export function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "True" : "False";
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Scenarios {name, row, values, twin, model} as CSV. */
export function scenarioCsv(scenarios, { features, outputs }) {
  const head = ["scenario", "scenario_row", ...features.map(({ name }) => name),
    ...outputs.names.map((name) => `twin_${name}`), ...outputs.names.map((name) => `model_${name}`)];
  const none = outputs.names.map(() => null);
  const lines = scenarios.map(({ name, row, values, twin, model }) => [name, row, ...values, ...twin, ...(model || none)]);
  return [head, ...lines].map((line) => `${line.map(csvCell).join(",")}\n`).join("");
}

/** Scenarios as the JSON that `illume.load_scenarios` reads; `table` says how Python makes a frame of them. */
export const scenarioJson = (scenarios, { outputs }, table) =>
  `${JSON.stringify({ format: "illume scenarios", version: 1, table, outputs: outputs.names, scenarios }, null, 1)}\n`;

/** Hand a text to the reader as a file. */
function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Show kept scenarios in `box`; `table` is passed on to the JSON, `onOpen` hears of the one to edit again. */
export function createScenarios(box, { engine, data, words, live, table, onOpen, onCount, onChange }) {
  const { features } = engine;
  let kept = []; // {name, row, values, answers}
  let made = 0;
  const place = make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Scenarios" });
  const none = make("p", { class: "quiet" }, "None kept yet. Change values of a row and press “Keep as scenario”; then compare scenarios here and take them along.");
  const saveAs = (text, name, type, write) => make("button", { type: "button", class: "ghost", onclick: () => download(name, type, write()) }, text);
  const buttons = make("p", { class: "buttons" },
    saveAs("Download CSV", "scenarios.csv", "text/csv", () => scenarioCsv(plain(), engine)),
    saveAs("Download JSON for Python", "scenarios.json", "application/json", () => scenarioJson(plain(), engine, table)));
  const hint = make("p", { class: "quiet" }, "In Python, ", make("code", {}, "illume.load_scenarios(\"scenarios.json\")"), " reads the JSON back as a frame.");
  box.append(none, place, buttons, hint);

  const plain = () => kept.map(({ name, row, values, answers }) => {
    const model = modelOf({ row, values, answers });
    return { name, row: data.label(row), values, twin: Array.from(answers), model: model && Array.from(model) };
  });

  /** The model's own answer, where it is known: live, or that of an unchanged row. */
  function modelOf({ row, values, answers }) {
    const found = live.of(values).answers ?? (engine.exact ? answers : null);
    if (found) return found;
    const given = engine.rows.model(row);
    return given && engine.rows.values(row).every((value, j) => isSame(value, values[j])) ? given.answers : null;
  }

  /** The features that differ between scenarios, or from the rows they came from. */
  const differing = () => features.map((_, j) => j).filter((j) => kept.some(({ row, values }) =>
    !isSame(values[j], engine.rows.values(row)[j]) || !isSame(values[j], kept[0].values[j])));

  function line(one, columns) {
    const before = engine.rows.values(one.row);
    const name = make("input", { type: "text", value: one.name, "aria-label": "Name of the scenario", maxlength: 200, oninput: () => rename(one, name.value) });
    const cell = (j) => make("td", { class: isSame(one.values[j], before[j]) ? "" : "after" }, valueText(features[j], one.values[j]),
      isSame(one.values[j], before[j]) ? null : make("small", {}, `was ${valueText(features[j], before[j])}`));
    const model = modelOf(one);
    const action = (text, label, work) => make("button", { type: "button", class: "ghost", "aria-label": `${label} ${one.name}`, onclick: work }, text);
    return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, `row ${data.label(one.row)}`),
      make("td", { class: "answers" }, words.short(one.answers)), make("td", {}, model ? words.short(model) : "not asked"), ...columns.map(cell),
      make("td", { class: "actions" }, action("Open", "Open", () => onOpen(one.row, one.values)), action("Delete", "Delete", () => {
        kept = kept.filter((other) => other !== one);
        show();
      })));
  }

  function rename(one, name) {
    one.name = name;
    tell();
  }

  const tell = () => onChange(kept.length ? scenarioJson(plain(), engine, table) : "");

  function show() {
    const columns = kept.length ? differing() : [];
    none.hidden = kept.length > 0;
    for (const part of [place, buttons, hint]) part.hidden = !kept.length;
    const head = (text) => make("th", { scope: "col", title: text }, text);
    place.replaceChildren(make("table", { class: "plain scenarios" },
      make("caption", {}, `${countText(kept.length, "scenario")}; values that differ from the row they came from are bold`),
      make("thead", {}, make("tr", {}, ...["Name", "From", engine.exact ? "Page" : "Network", "Model", ...columns.map((j) => features[j].label)].map(head), make("td"))),
      make("tbody", {}, ...kept.map((one) => line(one, columns)))));
    onCount(kept.length);
    tell();
  }

  show();
  return {
    keep(row, values, answers) {
      made += 1;
      kept = [...kept, { name: `Scenario ${made}`, row, values: values.slice(), answers }];
      show();
    },
    rows: () => kept.map(({ values }) => values),
    showAnswers: () => { if (kept.length && !place.contains(place.getRootNode().activeElement)) show(); },
  };
}
