// Answers of the twin to a row, and to rows that differ in a few values from it.

import { finish } from "./slices.js";

const AT_ONCE = 64; // rows: so few that even a slow processor is soon free for something else

/** Return what prepares rows and answers variations of them. */
export function createVariations(twin, outputs) {
  let latest = null; // most questions are about the same row

  function prepare(values) {
    if (latest && latest.values.every((value, j) => Object.is(value, values[j]))) return latest;
    const row = twin.start(values);
    latest = { values: [...values], row, answers: outputs.answers(row.scores) };
    return latest;
  }

  function* answersInSteps({ row }, variations) {
    const found = [];
    for (const [at, changes] of variations.entries()) {
      found.push(outputs.answers(row.changed(changes)));
      if (at % AT_ONCE === AT_ONCE - 1) yield;
    }
    return found;
  }

  return {
    prepare,
    /** Return the answers to variations of a row: each is a list of changes [feature, value]. */
    answers: (prepared, variations) => finish(answersInSteps(prepared, variations)),
    answersInSteps,
  };
}
