// All that the explorer computes, without a page: explanations by the surrogate of rows that are given as plain values.

import { createConditions } from "./conditions.js";
import { createCurves } from "./curves.js";
import { createInputs } from "./inputs.js";
import { createOutputs } from "./outputs.js";
import { unpack } from "./packed.js";
import { createRecourse } from "./recourse.js";
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

  return {
    features,
    outputs,
    rows: createRows(payload),
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
