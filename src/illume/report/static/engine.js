// All that the explorer computes, without a page: explanations by the surrogate of rows that are given as plain values.

import { createConditions } from "./conditions.js";
import { createCurves } from "./curves.js";
import { createInputs } from "./inputs.js";
import { createOutputs } from "./outputs.js";
import { unpack } from "./packed.js";
import { createChoices, createRecourse } from "./recourse.js";
import { createShapley } from "./shapley.js";
import { finish } from "./slices.js";
import { expandAll } from "./squeezed.js";
import { createSurrogate } from "./surrogate.js";
import { createTrustMap, outsideReasons } from "./trust.js";
import { createVariations } from "./variations.js";

/** Return the engine of what Python's `explorer_payload` gives. */
export async function loadEngine(payload) {
  const { features } = payload;
  const networks = await expandAll({ surrogate: payload.surrogate, shapley: payload.shapley, trust: payload.trust });
  const inputs = createInputs(payload);
  const outputs = createOutputs(payload.outputs);
  const surrogate = createSurrogate(networks.surrogate, features);
  const shapley = networks.shapley && createShapley(networks.shapley, features);
  const parts = { features, inputs, outputs, surrogate, shapley };
  const variations = createVariations(parts);
  const lookUp = createTrustMap(networks.trust, inputs.size);
  const recourseInSteps = createRecourse(parts, variations);
  const check = createConditions(features, inputs.known);
  const ruleOfRow = payload.rules && unpack(payload.rules.of_row);
  const labels = features.map(({ label }) => label);
  const s = outputs.explained.length;
  const rows = createRows(payload);
  const base = Float64Array.from(shapley ? shapley.base : unpack(payload.surrogate.intercept), (each) => outputs.sign * each);

  function explain(values) {
    const prepared = variations.prepare(values);
    const { answers } = prepared;
    const found = shapley ? shapley.explain(prepared.shapley(), shapley.standardise(outputs.scores(answers, shapley.least))) : variations.pullBack(prepared);
    const turned = (numbers) => numbers.map((each) => outputs.sign * each);
    const contributions = turned(found.values);
    const score = Float64Array.from(base);
    contributions.forEach((value, i) => { score[i % s] += value; });
    return { answers, decision: outputs.decide(answers), score, base, values: contributions, errors: found.errors, remainder: turned(found.remainder) };
  }

  const flipsOf = (i) => (payload.flips?.rows[i] ?? []).map(({ changes, answers }) => {
    const [values, row] = [rows.values(i), rows.values(i)];
    for (const [j, to] of changes) row[j] = to;
    return { row, changes: changes.map(([j, to]) => ({ j, from: values[j], to })), answers, confirmed: true };
  });

  return {
    features,
    outputs,
    rows,
    explain,
    explainMany: (many) => many.map(explain),
    /** Slopes (inputs, outputs) of the surrogate on the row's scaled inputs. */
    slopes: (values) => variations.slopes(variations.prepare(values)).map((slope) => outputs.sign * slope),
    /** How far the row can be trusted; `explained` is what `explain` returned for it. */
    trust(values, explained = explain(values)) {
      const found = lookUp(variations.prepare(values).row.X);
      const odd = features.map((_, j) => inputs.isOdd(j, values[j]));
      const squares = explained.errors.map((error, i) => (error / outputs.commonUnit(i % s)) ** 2);
      const contributionError = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length);
      const reasons = outsideReasons(labels, odd, found.far);
      return { ...found, odd, contributionError, reasons, outside: reasons.length > 0 };
    },
    /** The rule of shown row i, checked on other values; null without rules. */
    rule: (i, values) => payload.rules && check(payload.rules.rules[ruleOfRow[i]], values),
    /** All rules of the set, checked, and the position of the first that covers; -1 if none does. */
    ruleSet(values) {
      if (!payload.rule_set) return null;
      const rules = payload.rule_set.rules.map((rule) => check(rule, values));
      const position = rules.findIndex((rule) => rule.covers);
      return { rules, otherwise: payload.rule_set.else, position, applies: position < 0 ? payload.rule_set.else : rules[position] };
    },
    ...createCurves(parts, variations),
    recourse: (...question) => finish(recourseInSteps(...question)),
    recourseInSteps,
    /** Flips of shown row i within limits, as `recourse` gives them, that the model confirmed when the page was written; with its answers. */
    confirmed(i, limits = {}) {
      const { permits } = createChoices(features, inputs, limits);
      return flipsOf(i).filter((one) => one.changes.every(({ j, from, to }) => permits(j, from, to)));
    },
    /** The model's answers to shown row i with these values, where they are known: to the row itself and to its confirmed flips. */
    answered(i, values) {
      const same = (row) => row.every((value, j) => Object.is(value, values[j]));
      return (same(rows.values(i)) ? rows.model(i) : flipsOf(i).find(({ row }) => same(row)))?.answers ?? null;
    },
    /** How far to go beyond what is desired, in units of `recourse`, to be off by so many local errors at most. */
    margin(values, errors) {
      const error = errors * lookUp(variations.prepare(values).row.X).error;
      if (!(error > 0)) return 0;
      if (!outputs.classes) return outputs.names.length > 1 ? error : error / outputs.spread[0];
      const share = 0.5 + Math.min(error, 0.48);
      return Math.log(share / (1 - share));
    },
    /** How many suggestions of the surrogate the model confirmed, for rows with such an answer that are to `rise` or not; null if not measured. */
    heldFlips: (answers, rise) => payload.flips?.measured?.[outputs.classes ? outputs.decide(answers) : rise ? 0 : 1] ?? null,
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
