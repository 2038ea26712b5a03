// What the model answers: how scores become answers, and answers decisions.

function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b));
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

const SCALES = {
  logistic: ([first, second], log) => Float64Array.of(log(second) - log(first)),
  softmax(answers, log) {
    const logs = answers.map(log);
    const mean = logs.reduce((a, b) => a + b) / logs.length;
    return logs.map((each) => each - mean);
  },
  share: ([, second]) => Float64Array.of(second),
  shares: (answers) => answers,
  exp: (answers) => answers.map(Math.log),
  identity: (answers) => answers,
};

const clip = (share) => Math.min(Math.max(share, 0), 1);

function shares(scores) {
  const found = scores.map(clip);
  const sum = Math.max(found.reduce((a, b) => a + b), 1e-300);
  return found.map((share) => share / sum);
}

const LINKS = {
  logistic: ([score]) => Float64Array.of(1 / (1 + Math.exp(score)), 1 / (1 + Math.exp(-score))),
  share: ([score]) => Float64Array.of(1 - clip(score), clip(score)),
  shares,
  softmax,
  exp: (scores) => scores.map(Math.exp),
  identity: (scores) => scores,
};

/** Return the outputs that Python packed, with functions on scores and answers. */
export function createOutputs(packed) {
  const { threshold, common_unit: units } = packed;
  const classes = packed.task === "classification";
  return {
    ...packed,
    classes,
    commonUnit: (o) => units[units.length > 1 ? o : 0],
    /** Answers (c) of the scores (s) of a row. */
    answers: (scores) => LINKS[packed.link](scores),
    /** Scores (s) of answers; a probability below `least` counts as that. */
    scores: (answers, least) => SCALES[packed.link](answers, (share) => Math.log(Math.min(Math.max(share, least), 1 - least))),
    /** The decided class, as a position; null for numbers. */
    decide(answers) {
      if (!classes) return null;
      if (threshold) return answers[threshold.class] >= threshold.value ? threshold.class : 1 - threshold.class;
      return answers.indexOf(answers.reduce((a, b) => Math.max(a, b)));
    },
  };
}
