// The data of all rows; packed numbers are unpacked when first needed.

const ARRAYS = {
  i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
  f4: Float32Array, f8: Float64Array,
};

function unpack(packed) {
  const text = atob(packed.text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const numbers = new ARRAYS[packed.type](bytes.buffer);
  return packed.unit === 1 ? numbers : Float64Array.from(numbers, (number) => number * packed.unit);
}

function once(work) {
  let result;
  return () => (result === undefined ? (result = work()) : result);
}

const STATUS = ["agreed", "refined", "not faithful"];

const data = (() => {
  const found = JSON.parse(byId("data").textContent);
  byId("data").remove();
  const { rows, rules, counterfactuals } = found;
  const binary = rows.outputs.length === 1;
  const columns = rows.columns.map((column) => ({
    name: column.name,
    categories: column.categories,
    values: once(() => unpack(column.values)),
  }));
  const contributions = rows.contributions.map((output) => output.map((packed) => once(() => unpack(packed))));
  const errors = rows.errors && rows.errors.map((output) => output.map((packed) => once(() => unpack(packed))));
  const decision = unpack(rows.decision);
  const ruleOfRow = rules && unpack(rules.of_row);
  return {
    n: rows.n,
    classes: rows.classes,
    /** How numbers are shown, if the model answers with these; null for classes. */
    numbers: rows.numbers,
    outputs: rows.outputs,
    binary,
    columns,
    decision,
    surrogateDecision: unpack(rows.surrogate_decision),
    probability: unpack(rows.probability),
    surrogateProbability: unpack(rows.surrogate_probability),
    status: unpack(rows.status),
    low: unpack(rows.low),
    trustAgreement: unpack(rows.trust_agreement),
    trustError: unpack(rows.trust_error),
    trustRows: rows.trust_rows,
    importance: rows.importance,
    base: rows.base,
    x: unpack(rows.x),
    y: unpack(rows.y),
    label: (row) => (rows.labels ? rows.labels[row] : String(row)),
    numbered: !rows.labels || rows.labels.every((label) => label.trim() !== "" && Number.isFinite(Number(label))),
    contribution: (output, feature) => contributions[output][feature](),
    /** The standard error of a contribution; NaN where it is not known. */
    error: (output, feature, row) => (errors ? errors[output][feature]()[row] : NaN),
    contributionError: rows.contribution_error && unpack(rows.contribution_error),
    shapley: rows.kind === "shapley",
    whose: rows.whose,
    offset: (row, output) => (rows.offset[row] ? rows.offset[row][output] : 0),
    refined: (row) => rows.refined[row],
    imputed: (row) => rows.imputed[row] || [],
    /** Why a row is outside of what the explainer was fitted on; undefined if it is not. */
    outside: (row) => rows.outside[row],
    text(row, feature) {
      const { categories, values } = columns[feature];
      return categories ? categories[values()[row]] : shortNumber(values()[row]);
    },
    /** The output shown first: the only one, or that of the decided class. */
    output: (row) => (binary || rows.numbers ? 0 : decision[row]),
    /** What contributions to an output are to. */
    meaning: (output) => rows.meanings[output],
    /** The model's answer to a row, in words. */
    answer: (row) => (rows.numbers ? rows.numbers.answers[row] : rows.classes[decision[row]]),
    rules,
    rule: (row) => (rules ? rules.rules[ruleOfRow[row]] : null),
    counterfactuals,
    examples: (row) => (counterfactuals ? counterfactuals.examples[row] : undefined),
    reason: (row) => counterfactuals.reasons[row],
  };
})();

const N_COLOURS = 8;

/** The colour number of a class; with two classes, the second has the colour of positive contributions. */
const classNumber = (position) => (data.binary ? 1 - position : position % N_COLOURS);
const classKind = (position) => (data.numbers ? `band-${position}` : `class-${classNumber(position)}`);
/** The colour of a class; of a band of numbers, from that of small values to that of large ones. */
const classColour = (position) =>
  data.numbers
    ? mixColours(colour("small"), colour("large"), position / Math.max(data.classes.length - 1, 1))
    : colour(`c${classNumber(position)}`);

/** The shape of a class: another one once all colours are used. */
const classShape = (position) => Math.floor(position / N_COLOURS);
function classSwatch(position) {
  const mark = swatch(classKind(position), classShape(position));
  if (data.numbers) mark.firstChild.setAttribute("fill", classColour(position));
  return mark;
}
