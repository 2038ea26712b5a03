// Asks the real model in the background, where there is one, and keeps what it answered.

const WAIT = 200; // milliseconds without a change before the model is asked
const MOST_KEPT = 5000;

const rowKey = (row) => JSON.stringify(row);

/** Ask `live` ({ask(rows) -> Promise of answers, one array a row}, or null); `onAnswer` is called when something is new.
 * Answers are kept by row, so that one which comes late is never shown for another row. */
export function createLive(live, onAnswer) {
  const known = new Map();
  let wanted = [];
  let waiting = 0;
  let busy = false;
  let failure = "";

  function read(answers, rows) {
    const found = Array.isArray(answers) && answers.length === rows.length && answers.every((one) => one && one.length > 0 && Array.from(one).every(Number.isFinite));
    if (!found) throw new Error(`expected ${rows.length} answers of numbers`);
    if (known.size > MOST_KEPT) known.clear();
    rows.forEach((row, i) => known.set(rowKey(row), Float64Array.from(answers[i])));
  }

  async function send() {
    const asked = wanted;
    const rows = asked.filter((row) => !known.has(rowKey(row)));
    if (busy || !rows.length) return;
    busy = true;
    try {
      read(await live.ask(rows), rows);
      failure = "";
    } catch (error) {
      failure = String((error && error.message) || error);
    }
    busy = false;
    onAnswer();
    if (asked !== wanted) send(); // other rows are shown meanwhile
  }

  return {
    connected: Boolean(live),
    /** Say which rows are shown now: the model is asked about those that it has not answered yet. */
    want(rows) {
      wanted = rows;
      if (!live) return;
      failure = "";
      clearTimeout(waiting);
      waiting = setTimeout(send, WAIT);
    },
    /** What is known of a row: {state, answers, message}; states are off, answered, asking and failed. */
    of(row) {
      if (!live) return { state: "off", answers: null, message: "no model is connected to this page" };
      const answers = known.get(rowKey(row)) || null;
      if (answers) return { state: "answered", answers, message: "" };
      if (failure) return { state: "failed", answers: null, message: `The model could not be asked: ${failure}` };
      return { state: "asking", answers: null, message: "" };
    },
  };
}
