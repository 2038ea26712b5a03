// What the model answers: how scores become answers, and answers decisions.

/** Return the outputs that Python packed, with functions on scores and answers. */
export function createOutputs(packed) {
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
