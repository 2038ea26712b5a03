// The row that is being edited: its values, what differs from the row it came from, and the way back.

import { isSame } from "./explorer_words.js";

const MOST_STEPS = 200;
const ONE_GESTURE = 800; // milliseconds after a gesture in which another one, of the same feature, belongs to it

/** Hold the edited row, at first row `first`; `onChange` is called after every change. */
export function createState(engine, first, onChange) {
  const copyOf = (row) => ({ row, values: engine.rows.values(row) });
  let now = copyOf(first);
  let original = engine.rows.values(first);
  let past = [];
  let last = { feature: -1, at: 0, open: false }; // the edit that further ones may belong to

  function go(next, { keep = true, feature = -1 } = {}) {
    if (keep) past = [...past.slice(1 - MOST_STEPS), now];
    last = { feature, at: performance.now(), open: true };
    if (next.row !== now.row) original = engine.rows.values(next.row);
    now = next;
    onChange(state);
  }

  const withValues = (changes) => {
    const values = now.values.slice();
    for (const { j, to } of changes) values[j] = to;
    return { row: now.row, values };
  };

  const state = {
    get row() { return now.row; },
    get values() { return now.values; },
    get original() { return original; },
    get canUndo() { return past.length > 0; },
    /** The features whose values differ from the original row's. */
    get changed() { return engine.features.map((_, j) => j).filter((j) => !isSame(now.values[j], original[j])); },
    isChanged: (j) => !isSame(now.values[j], original[j]),
    /** Give a feature another value; edits of one gesture are undone together. */
    set(j, value) {
      if (isSame(value, now.values[j])) return;
      const again = last.feature === j && (last.open || performance.now() - last.at < ONE_GESTURE);
      go(withValues([{ j, to: value }]), { keep: !again, feature: j });
    },
    /** End a gesture: what follows later is undone apart. */
    settle() { last.open = false; },
    /** Give several features other values, [{j, to}], in one step. */
    apply(changes) { go(withValues(changes)); },
    /** Show another row, or edited values of it. */
    load(row, values = null) { go(values ? { row, values: values.slice() } : copyOf(row)); },
    /** Show edited values of a row, with no way back behind them. */
    begin({ row, values }) {
      go({ row, values: values.slice() }, { keep: false });
      past = [];
    },
    reset(features = state.changed) {
      if (features.length) go(withValues(features.map((j) => ({ j, to: original[j] }))));
    },
    undo() {
      if (!past.length) return;
      const before = past[past.length - 1];
      past = past.slice(0, -1);
      go(before, { keep: false });
    },
  };
  return state;
}
