// All that the explorer computes, without a page: explanations by the twin of rows that are given as plain values.

import { createConditions } from "./conditions.js";
import { createCurves } from "./curves.js";
import { createInputs } from "./inputs.js";
import { createOutputs } from "./outputs.js";
import { once, unpack } from "./packed.js";
import { createChoices, createRecourse } from "./recourse.js";
import { finish } from "./slices.js";
import { expandAll } from "./squeezed.js";
import { createPlaces, outsideReasons } from "./trust.js";
import { createTwin } from "./twin.js";
import { createVariations } from "./variations.js";

/** Return the engine of what Python's `explorer_payload` gives. */
export async function loadEngine(payload) {
  const { features } = payload;
  const packed = await expandAll({ twin: payload.twin, places: payload.places });
  const inputs = createInputs(payload);
  const outputs = createOutputs(payload.outputs);
  const twin = createTwin(packed.twin, features, inputs, outputs);
  const { exact } = payload.twin;
  const variations = createVariations(twin, outputs);
  const lookUp = createPlaces(packed.places, inputs.size);
  const recourseInSteps = createRecourse({ features, inputs, outputs, twin }, variations);
  const check = createConditions(features, inputs.known);
  const ruleOfRow = payload.rules && unpack(payload.rules.of_row);
  const labels = features.map(({ label }) => label);
  const s = outputs.explained.length;
  const rows = createRows(payload);
  const turned = (numbers) => Float64Array.from(numbers, (each) => outputs.sign * each);
  const base = once(() => turned(twin.base).map((each) => outputs.whole + each));

  function explain(values) {
    const { answers, row } = variations.prepare(values);
    const found = row.explain();
    const contributions = turned(found.values);
    const score = Float64Array.from(base());
    contributions.forEach((value, i) => { score[i % s] += value; });
    return { answers, decision: outputs.decide(answers), score, base: base(), values: contributions, errors: found.errors ?? new Float64Array(contributions.length) };
  }

  const flipsOf = (i) => (payload.flips?.[i] ?? []).map(({ changes, answers }) => {
    const [values, row] = [rows.values(i), rows.values(i)];
    for (const [j, to] of changes) row[j] = to;
    return { row, changes: changes.map(([j, to]) => ({ j, from: values[j], to })), answers, confirmed: true };
  });

  return {
    features,
    outputs,
    /** Whether the page holds the model, so that all answers are its own. */
    exact,
    rows,
    explain,
    explainMany: (many) => many.map(explain),
    /** How far the row can be trusted; `explained` is what `explain` returned for it. */
    trust(values, explained = explain(values)) {
      const found = lookUp(inputs.encode(values).X);
      const odd = features.map((_, j) => inputs.isOdd(j, values[j]));
      const mean = (numbers) => numbers.reduce((sum, square) => sum + square, 0) / numbers.length;
      const [lost, whole] = [explained.errors, explained.values].map((numbers) => mean(numbers.map((each, i) => (each / outputs.commonUnit(i % s)) ** 2)));
      const reasons = outsideReasons(labels, odd, found.far);
      return { ...found, odd, contributionError: Math.sqrt(lost), share: lost > 0 ? 1 - lost / Math.max(whole, payload.usual_square) : 1 - lost, reasons, outside: reasons.length > 0 };
    },
    /** How far the twin's answers are off on average, 0 for an exact one; NaN where that is not known. */
    error: exact ? 0 : payload.twin.error ?? NaN,
    /** The rule of shown row i, checked on other values; null without rules. */
    rule: (i, values) => payload.rules && check(payload.rules.rules[ruleOfRow[i]], values),
    /** All rules of the set, checked, and the position of the first that covers; -1 if none does. */
    ruleSet(values) {
      if (!payload.rule_set) return null;
      const rules = payload.rule_set.rules.map((rule) => check(rule, values));
      const position = rules.findIndex((rule) => rule.covers);
      return { rules, otherwise: payload.rule_set.else, position, applies: position < 0 ? payload.rule_set.else : rules[position] };
    },
    ...createCurves(features, outputs, variations),
    recourse: (...question) => finish(recourseInSteps(...question)),
    recourseInSteps,
    /** Flips of shown row i within limits, as `recourse` gives them, that the model confirmed when the page was written; with its answers. */
    confirmed(i, limits = {}) {
      const { permits } = createChoices({ features, inputs, twin }, limits);
      return flipsOf(i).filter((one) => one.changes.every(({ j, from, to }) => permits(j, from, to)));
    },
    /** The model's answers to shown row i with these values, where they are known: to the row itself and to its confirmed flips. */
    answered(i, values) {
      const same = (row) => row.every((value, j) => Object.is(value, values[j]));
      return (same(rows.values(i)) ? rows.model(i) : flipsOf(i).find(({ row }) => same(row)))?.answers ?? null;
    },
    /** Whether a search that finds no change of one value proves that there is none: all that the model tells apart is tried. */
    proves: (desired) => twin.steps || (exact && (outputs.names.length <= 2 && (!desired?.length || desired.includes(null)))),
    /** How far to go beyond what is desired, in units of `recourse`, to be off by so many of the twin's mean errors at most. */
    margin(errors) {
      const error = errors * (payload.twin.error ?? 0);
      if (!(error > 0)) return 0;
      if (!outputs.classes) return outputs.names.length > 1 ? error : error / outputs.spread[0];
      const share = 0.5 + Math.min(error, 0.48);
      return Math.log(share / (1 - share));
    },
  };
}

/** The rows shown, with the model's own answers to them where it could be asked. */
function createRows({ rows, features, outputs }) {
  const columns = rows.columns.map((packed, j) => {
    const numbers = unpack(packed);
    if (features[j].kind === "number") return (i) => (Number.isNaN(numbers[i]) ? null : numbers[i]);
    const categories = [...features[j].categories, ...packed.unseen];
    return (i) => categories[numbers[i]];
  });
  const answers = rows.answers && unpack(rows.answers);
  const decisions = rows.decisions && unpack(rows.decisions);
  const c = outputs.names.length;
  return {
    n: rows.n,
    labels: rows.labels,
    label: (i) => (rows.labels ? rows.labels[i] : String(i)),
    values: (i) => columns.map((column) => column(i)),
    /** The model's own answer to row i and its decision; null if the model could not be asked. */
    model: (i) => answers && { answers: answers.slice(i * c, (i + 1) * c), decision: decisions && decisions[i] },
  };
}
