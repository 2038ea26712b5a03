// All that the explorer computes, without a page: explanations by the surrogate of rows that are given as plain values.

import { createConditions } from "./conditions.js";
import { createInputs } from "./inputs.js";
import { unpack } from "./packed.js";
import { createShapley } from "./shapley.js";
import { createSurrogate } from "./surrogate.js";
import { createTrustMap, outsideReasons } from "./trust.js";

/** Return the engine of what Python's `explorer_payload` gives. */
export async function loadEngine(payload) {
  const { features } = payload;
  const inputs = createInputs(payload);
  const outputs = createOutputs(payload.outputs);
  const surrogate = createSurrogate(payload.surrogate, features);
  const shapley = payload.shapley && createShapley(payload.shapley, features);
  const lookUp = createTrustMap(payload.trust, inputs.size);
  const check = createConditions(features, inputs.known);
  const rows = createRows(payload);
  const ruleOfRow = payload.rules && unpack(payload.rules.of_row);
  const labels = features.map(({ label }) => label);

  /** Return contributions (features, outputs) as slopes times inputs, where there are no Shapley values. */
  function pullBack(row, sums) {
    const slopes = surrogate.slopes(sums, row.X);
    const s = outputs.explained.length;
    const values = new Float64Array(features.length * s);
    features.forEach(({ start, width }, j) => {
      for (let i = start; i < start + width; i += 1) {
        for (let o = 0; o < s; o += 1) values[j * s + o] += slopes[i * s + o] * row.X[i];
      }
    });
    return { values, errors: values.map(() => NaN), remainder: new Float64Array(s) };
  }

  function explain(values) {
    const row = inputs.encode(values);
    const sums = surrogate.sums(row.X);
    const scores = surrogate.scores(sums, row.X, 1);
    const answers = outputs.answers(scores, 0);
    const found = shapley ? shapley.explain(row, standardised(answers)) : pullBack(row, sums);
    const base = shapley ? shapley.base : unpack(payload.surrogate.intercept);
    const { sign } = outputs;
    const s = outputs.explained.length;
    const score = Float64Array.from(base);
    found.values.forEach((value, i) => { score[i % s] += value; });
    return {
      answers,
      decision: outputs.decide(answers),
      score: score.map((each) => sign * each),
      base: Float64Array.from(base, (each) => sign * each),
      values: found.values.map((each) => sign * each),
      errors: found.errors,
      remainder: found.remainder.map((each) => sign * each),
    };
  }

  const standardised = (answers) =>
    outputs.scores(answers, shapley.least).map((score, o) => shapley.standardise(score, o));

  return {
    features,
    outputs,
    rows,
    explain,
    explainMany: (many) => many.map(explain),
    /** Slopes (inputs, outputs) of the surrogate on the row's scaled inputs. */
    slopes(values) {
      const { X } = inputs.encode(values);
      return surrogate.slopes(surrogate.sums(X), X).map((slope) => outputs.sign * slope);
    },
    /** How far the row can be trusted; `explained` is what `explain` returned for it. */
    trust(values, explained = explain(values)) {
      const found = lookUp(inputs.encode(values).X);
      const odd = features.map((_, j) => inputs.isOdd(j, values[j]));
      const squares = explained.errors.map((error, i) => (error / outputs.commonUnit(i % outputs.explained.length)) ** 2);
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
  };
}

/** What the model answers: how scores become answers and answers decisions. */
function createOutputs(packed) {
  const { names, link, threshold, common_unit: units } = packed;
  const classes = packed.task === "classification";
  const s = packed.explained.length;
  return {
    ...packed,
    classes,
    commonUnit: (o) => units[units.length > 1 ? o : 0],
    /** Answers (c) of the scores (s) of a row. */
    answers(scores, row) {
      const mine = scores.subarray(row * s, (row + 1) * s);
      if (!classes) return link === "log" ? mine.map(Math.exp) : mine.slice();
      if (names.length === 2) return Float64Array.of(1 / (1 + Math.exp(mine[0])), 1 / (1 + Math.exp(-mine[0])));
      const most = mine.reduce((a, b) => Math.max(a, b));
      const powers = mine.map((score) => Math.exp(score - most));
      const sum = powers.reduce((a, b) => a + b);
      return powers.map((power) => power / sum);
    },
    /** Scores (s) of answers; a probability below `least` counts as that. */
    scores(answers, least) {
      if (!classes) return link === "log" ? answers.map(Math.log) : answers;
      const logs = answers.map((answer) => Math.log(Math.min(Math.max(answer, least), 1 - least)));
      if (names.length === 2) return Float64Array.of(logs[1] - logs[0]);
      const mean = logs.reduce((a, b) => a + b) / logs.length;
      return logs.map((log) => log - mean);
    },
    /** The decided class, as a position; null for numbers. */
    decide(answers) {
      if (!classes) return null;
      if (threshold) return answers[threshold.class] >= threshold.value ? threshold.class : 1 - threshold.class;
      return answers.indexOf(answers.reduce((a, b) => Math.max(a, b)));
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
