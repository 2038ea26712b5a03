// The explorer: change the values of a row and see at once why, what would flip the answer, and where not to trust it.

import { readData } from "./data.js";
import { loadEngine } from "./engine.js";
import { createAnswer } from "./explorer_answer.js";
import { createControls } from "./explorer_controls.js";
import { createFlip } from "./explorer_flip.js";
import { createHeat } from "./explorer_heat.js";
import { createLive } from "./explorer_live.js";
import { fill } from "./explorer_morph.js";
import { createRule, createTrust, createWhy } from "./explorer_reasons.js";
import { createPopulation } from "./explorer_rows.js";
import { createScenarios } from "./explorer_scenarios.js";
import { createState } from "./explorer_state.js";
import { createTabs } from "./explorer_tabs.js";
import { createAnswerWords } from "./explorer_words.js";
import { countText, make } from "./text.js";

const [WHAT_IF, ALL_ROWS, SCENARIOS] = [0, 1, 2];
const ONLINE = "The model itself is connected, and answers first.";

/** The columns of the shown rows, which the engine holds. */
const columnsOf = ({ features, rows }) => features.map((feature, j) => ({
  name: feature.label,
  unit: feature.unit,
  column: feature.name,
  values: rows.columns[j],
  categories: feature.kind === "category" ? [...feature.category_labels, ...rows.columns[j].unseen] : null,
}));

/** Build the explorer in `root`: an element, or a shadow root where there are several on a page.
 *
 * `live` is {ask(rows) -> Promise of answers, an array of numbers a row} or null; rows are arrays of plain values in
 * the order of the features. `onRow` hears {row, values} after each change, `onScenarios` the JSON of the scenarios.
 * `start` is the {row, values} to begin with.
 */
export async function createExplorer(root, payload, { live = null, onRow = () => {}, onScenarios = () => {}, start = null } = {}) {
  const engine = await loadEngine(payload.engine);
  const { page } = payload;
  const data = readData({ rows: { ...payload.rows, columns: columnsOf(payload.engine) }, rules: null, counterfactuals: null });
  const { outputs } = engine;
  const words = createAnswerWords(outputs);
  const order = data.strongest(data.binary ? 0 : null);
  const box = (kind) => make("section", { class: kind });
  let chosen = null; // the explained output that was chosen; null for the usual one
  let originals = { row: -1, explained: null };
  let present = null; // what is shown
  let painting = 0;

  const state = createState(engine, data.firstRow, () => {
    if (!painting) painting = requestAnimationFrame(paint);
  });
  const model = createLive(live, () => {
    paint({ search: false });
    recourse.showStatus();
    scenarios.showAnswers();
  });
  const output = () => chosen ?? (outputs.explained.length === 1 || !outputs.classes ? 0 : outputs.positive ?? originalDecision());
  const originalDecision = () => outputs.decide(originalOf(state.row).answers);

  function originalOf(row) {
    if (originals.row !== row) originals = { row, explained: engine.explain(engine.rows.values(row)) };
    return originals.explained;
  }

  const [answerBox, whyBox, flipBox, trustBox, ruleBox, heatBox, controlBox] =
    ["answer", "why", "flip", "trust", "rule", "heat-box", "control-box"].map(box);
  const title = make("h2", {});
  const changedNote = make("p", { class: "changed-note quiet" });
  const button = (text, work, kind = "ghost") => make("button", { type: "button", class: kind, onclick: work }, text);
  const undo = button("Undo", state.undo);
  const reset = button("Reset all", () => state.reset());
  const keep = button("Keep as scenario", () => scenarios.keep(state.row, state.values, present.explained.answers));
  const step = (by, name, sign) => make("button", { type: "button", class: "ghost", "aria-label": name, onclick: () => state.load(neighbour(by)) }, sign);
  const bar = make("header", { class: "row-bar" }, make("span", { class: "steps" }, step(-1, "Row before", "‹"), title, step(1, "Next row", "›")),
    button("Choose another row", () => tabs.show(ALL_ROWS)), changedNote, make("span", { class: "buttons" }, undo, reset, keep));
  const whatIf = make("div", { class: "panel what-if" }, bar,
    make("div", { class: "whole" },
      make("div", { class: "results" }, answerBox, make("div", { class: "questions" }, whyBox, make("div", { class: "doubts" }, ruleBox, flipBox, trustBox))),
      controlBox), heatBox);
  const [rowsPanel, scenarioPanel] = ["panel rows-panel", "panel scenario-panel"].map((kind) => make("div", { class: kind }));
  const tabs = createTabs([{ name: "What if", panel: whatIf }, { name: "All rows", panel: rowsPanel }, { name: "Scenarios", panel: scenarioPanel }], showPart);
  const notice = make("p", { class: "twin-note quiet", role: "note", "aria-label": "What answers here" }, page.twin, model.connected ? make("span", { class: "online" }, ` ${ONLINE}`) : null);
  root.append(make("div", { class: "explorer-root" }, notice, tabs.list, whatIf, rowsPanel, scenarioPanel));

  const shared = { engine, data, state, words, output, order, live: model, limits: page.limits, start: page.search, background: page.background };
  const trust = createTrust(trustBox, shared);
  const answer = createAnswer(answerBox, shared, trust.badge);
  const why = createWhy(whyBox, { ...shared, onOutput(o) {
    chosen = outputs.explained.length > 1 ? o : null;
    paint({ search: false });
    controls.redraw();
    heat.update();
    if (!outputs.classes) recourse.update();
  } });
  const rule = createRule(ruleBox, shared);
  controlBox.append(make("h3", {}, "Change a value"), make("p", { class: "quiet" }, "Strongest features first. Grey bars: how common values are. Below, over all values: the line is the answer, the shaded part the feature's contribution."));
  const controls = createControls(controlBox, { ...shared, onLimits: () => recourse.update() });
  const recourse = createFlip(flipBox, { ...shared, limits: () => controls.limits, onFound: (rows) => model.want([state.values, ...rows, ...scenarios.rows()]) });
  const heat = createHeat(heatBox, shared);
  const scenarios = createScenarios(scenarioPanel, { ...shared, table: page.table, onOpen(row, values) {
    state.load(row, values);
    tabs.show(WHAT_IF);
  }, onCount: (n) => tabs.rename(SCENARIOS, n ? `Scenarios (${n})` : "Scenarios"), onChange: onScenarios });
  let population = null;

  function showPopulation() {
    population ??= createPopulation(rowsPanel, { data, onChoose(row) {
      state.load(row);
      tabs.show(WHAT_IF);
    } });
    population.redraw();
    population.select(state.row);
  }

  function showPart(at) {
    if (at === ALL_ROWS) showPopulation();
    if (at === WHAT_IF && present) {
      controls.redraw();
      heat.update();
    }
  }

  const neighbour = (by) => (population ? population.neighbour(state.row, by) : Math.min(Math.max(state.row + by, 0), data.n - 1));

  function paint({ search = true } = {}) {
    painting = 0;
    const { values, row, changed } = state;
    const explained = engine.explain(values);
    const asked = model.of(values);
    const written = engine.answered(row, values);
    const given = asked.answers || written;
    present = { explained, original: changed.length ? originalOf(row) : null, trust: engine.trust(values, explained), given, live: asked, lead: given || explained.answers, byModel: engine.exact || Boolean(given) };
    fill(title, `Row ${data.label(row)}`);
    fill(changedNote, changed.length ? `${countText(changed.length, "value")} changed` : "");
    undo.disabled = !state.canUndo;
    reset.disabled = !changed.length;
    answer.update(present);
    why.update(present);
    rule.update(present);
    trust.update({ ...present, rule: engine.rule(row, values) });
    controls.update(present.trust);
    if (!search) return;
    recourse.update();
    heat.update();
    model.want([values, ...scenarios.rows()]);
    onRow({ row, values });
  }

  root.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text], input[type=search]");
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || typing) return;
    event.preventDefault();
    state.undo();
  });
  tabs.show(WHAT_IF);
  if (start) state.begin(start);
  paint();
  return {
    state,
    /** Draw again what depends on colours or widths. */
    redraw() {
      heat.redraw();
      if (population && !rowsPanel.hidden) population.redraw();
    },
    /** Show and draw all parts, for paper; or again one at a time. */
    unfold(all) {
      tabs.unfold(all);
      if (!all) return;
      showPopulation();
      controls.drawAll();
      heat.drawNow();
    },
  };
}
