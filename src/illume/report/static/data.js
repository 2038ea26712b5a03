// The data of all rows; packed numbers are unpacked when first needed.

import { once, unpack } from "./packed.js";
import { colour, formatGrouped, formatSigned, mixColours, shortNumber, swatch } from "./text.js";

const N_COLOURS = 8;

/** Return the rows, rules and counterfactuals that Python packed, with functions to read them. */
export function readData({ rows, rules, counterfactuals }) {
  const binary = rows.outputs.length === 1;
  const columns = rows.columns.map((column) => ({
    name: column.name,
    unit: column.unit,
    column: column.column,
    categories: column.categories,
    values: once(() => unpack(column.values)),
  }));
  const contributions = rows.contributions.map((output) => output.map((packed) => once(() => unpack(packed))));
  const errors = rows.errors && rows.errors.map((output) => output.map((packed) => once(() => unpack(packed))));
  const decision = unpack(rows.decision);
  const low = unpack(rows.low);
  const level = unpack(rows.level);
  const truth = rows.truth ? unpack(rows.truth) : null;
  const ruleOfRow = rules && unpack(rules.of_row);
  const digits = (output) => (rows.numbers ? rows.numbers.decimals[output || 0] : 3);
  const colourNumber = (position) => (binary && !rows.numbers ? Number(position !== rows.positive) : position % N_COLOURS);
  const shape = (position) => Math.floor(position / N_COLOURS);
  const band = (position) => Math.round((4 * position) / Math.max(rows.classes.length - 1, 1));
  const kind = (position) => (rows.numbers ? `band-${band(position)}` : `class-${colourNumber(position)}`);
  return {
    n: rows.n,
    /** What an answer is called, and what the axes of the map are. */
    noun: rows.noun,
    mapNote: rows.map_note,
    classes: rows.classes,
    /** How numbers are shown, if the model answers with these; null for classes. */
    numbers: rows.numbers,
    /** Whether answers are the model's own; otherwise its twin stands in for it. */
    hasModel: rows.has_model,
    outputs: rows.outputs,
    binary,
    columns,
    decision,
    probability: unpack(rows.probability),
    low,
    /** What trust is low in, or nothing. */
    lowWords: () => "Low trust in the contributions",
    /** How far a row's contributions can be trusted, in a word, and as a place in the order of these. */
    trustWord: (row) => rows.levels[level[row]],
    trustLevel: (row) => level[row],
    exact: rows.exact,
    scaleName: rows.scale_name,
    importance: rows.importance,
    base: rows.base,
    x: unpack(rows.x),
    y: unpack(rows.y),
    label: (row) => (rows.labels ? rows.labels[row] : String(row)),
    numbered: !rows.labels || rows.labels.every((label) => label.trim() !== "" && Number.isFinite(Number(label))),
    contribution: (output, feature) => contributions[output][feature](),
    /** Contributions of a feature to one output, or with null to each row's decided class. */
    towards(output, feature) {
      if (output !== null) return contributions[output][feature]();
      const each = contributions.map((one) => one[feature]());
      return Float32Array.from(decision, (decided, row) => each[decided][row]);
    },
    /** The features by the size of their contributions to an output, or with null to all; largest first. */
    strongest(output) {
      const sizes = columns.map((_, feature) =>
        (output === null ? rows.importance : [rows.importance[output]]).reduce((sum, one) => sum + one[feature], 0));
      return [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b);
    },
    /** The standard error of a contribution; NaN where it is not known. */
    error: (output, feature, row) => (errors ? errors[output][feature]()[row] : NaN),
    contributionError: rows.contribution_error && unpack(rows.contribution_error),
    shapley: rows.kind === "shapley",
    whose: rows.whose,
    offset: (row, output) => (rows.offset[row] ? rows.offset[row][output] : 0),
    /** How an explanation by the surrogate was made to agree; nothing where it agreed at once. */
    refinement: (row) => rows.refinement[row] ?? "",
    imputed: (row) => rows.imputed[row] || [],
    /** Why a row is outside of what the explainer was fitted on; undefined if it is not. */
    outside: (row) => rows.outside[row],
    text(row, feature) {
      const { categories, unit, values } = columns[feature];
      if (categories) return categories[values()[row]];
      const number = values()[row];
      return unit && !Number.isNaN(number) ? `${shortNumber(number)} ${unit}` : shortNumber(number);
    },
    /** The true class, as its position, or the true number of each row; null if labels were not given. */
    truth,
    /** Whether the model decides for the true class. */
    right: (row) => truth[row] === decision[row],
    /** The positive class, or null. */
    positive: rows.positive,
    /** The probability from which on a class is decided; null for the more likely class. */
    threshold: rows.threshold,
    /** The class that is decided from the threshold on. */
    thresholdClass: rows.threshold_class,
    /** The score at which the threshold changes the decision; null without a threshold. */
    edge: rows.edge,
    /** The model's probabilities of the positive class; null without one. */
    towardsPositive: rows.towards && unpack(rows.towards),
    /** The row to show first: one with the unwanted decision. */
    firstRow: rows.opens,
    /** The output shown first: the only one, or that of the positive class, or else of the decided one. */
    output: (row) => (binary || rows.numbers ? 0 : (rows.positive ?? decision[row])),
    /** What contributions to an output are to. */
    meaning: (output) => rows.meanings[output],
    /** The model's answer to a row, in words. */
    answer: (row) => (rows.numbers ? rows.numbers.answers[row] : rows.classes[decision[row]]),
    /** A contribution to an output, a total, and a size without a sign, in the output's unit. */
    scoreText: (number, output) => (rows.numbers ? formatGrouped(number, digits(output), "+") : formatSigned(number)),
    totalText: (number, output) => (rows.numbers ? formatGrouped(number, digits(output)) : formatSigned(number)),
    sizeText: (number, output) => (Number.isFinite(number) ? formatGrouped(number, digits(output)) : "–"),
    /** The kind, shape and colour of a class. With two classes, the positive one has the colour of positive
     * contributions; bands of numbers go from the colour of small values to that of large ones. */
    kind,
    shape,
    colour: (element, position) =>
      rows.numbers
        ? mixColours(colour(element, "small"), colour(element, "large"), band(position) / 4)
        : colour(element, `c${colourNumber(position)}`),
    swatch: (position) => swatch(kind(position), shape(position)),
    rules,
    rule: (row) => (rules ? rules.rules[ruleOfRow[row]] : null),
    counterfactuals,
    examples: (row) => (counterfactuals ? counterfactuals.examples[row] : undefined),
    reason: (row) => counterfactuals.reasons[row],
  };
}
