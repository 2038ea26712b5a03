// The answer at the top: the surrogate's, beside that of the original row and the model's own.

import { fill } from "./explorer_morph.js";
import { make, percent } from "./text.js";

const MOST_CLASSES = 6;

/** A bar from 0 to 1 with a mark where the original row stood, and one where the decision turns. */
function createBar(kind) {
  const fill = make("span", { class: `fill ${kind}` });
  const was = make("span", { class: "was-mark", title: "the original row" });
  const turn = make("span", { class: "turn-mark", title: "from here on the decision is another" });
  const place = (mark, share) => {
    mark.hidden = share === null;
    if (share !== null) mark.style.left = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  };
  return {
    element: make("span", { class: "answer-bar", "aria-hidden": "true" }, fill, was, turn),
    update(share, before, turns = null) {
      fill.style.transform = `scaleX(${Math.min(Math.max(share, 0), 1)})`;
      place(was, before);
      place(turn, turns);
    },
  };
}

/** Show answers in `box`; `data` gives the look of classes, `words` their text, and `badge` says how far to trust them. */
export function createAnswer(box, { engine, data, words }, badge) {
  const { outputs } = engine;
  const ownHead = make("span", { class: "label" });
  const own = make("strong", {});
  const note = make("span", { class: "quiet" });
  const cell = (name, ...parts) => make("div", { class: "answer-cell" }, typeof name === "string" ? make("span", { class: "label" }, name) : name, ...parts);
  const before = make("strong", {});
  const beforeNote = make("span", { class: "quiet" });
  const model = make("strong", {});
  const modelNote = make("span", { class: "quiet" });
  const bars = make("div", { class: "answer-bars" });
  const said = make("p", { class: "unseen", role: "status" });
  const lines = new Map();
  let telling = 0;
  const beforeCell = cell("The original row, says the surrogate", before, beforeNote);
  const range = outputs.classes ? null : outputs.names.map((_, i) => spanOf(i));
  box.append(make("div", { class: "answer-cells" }, cell(ownHead, make("span", { class: "said" }, own, badge), note), beforeCell, cell("The model itself", model, modelNote)), bars, said);

  /** The smallest and the largest prediction of the shown rows. */
  function spanOf(i) {
    let [low, high] = [Infinity, -Infinity];
    for (let row = 0; row < engine.rows.n; row += 1) {
      const found = engine.rows.model(row);
      const value = found ? found.answers[i] : i === 0 ? data.surrogateProbability[row] : NaN;
      if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    return low < high ? [low, high] : [low - 1, low + 1];
  }

  function line(i, name, kind) {
    if (!lines.has(i)) {
      const bar = createBar(kind);
      const value = make("span", { class: "number" });
      const element = make("div", { class: "answer-line-box" }, make("span", { class: "name", title: name }, name), bar.element, value);
      lines.set(i, { element, bar, value });
    }
    return lines.get(i);
  }

  function showBars(answers, original) {
    const shown = [];
    const put = (i, name, kind, share, was, text, turn) => {
      const found = line(i, name, kind);
      found.bar.update(share, was, turn);
      fill(found.value, text);
      shown.push(found.element);
    };
    if (!outputs.classes) {
      outputs.names.forEach((name, i) => {
        const [low, high] = range[i];
        const share = (value) => (value - low) / (high - low);
        put(i, name, "for-back", share(answers[i]), original && share(original[i]), words.number(answers[i], i));
      });
    } else if (words.two) {
      const at = outputs.positive;
      const turn = outputs.threshold ? (outputs.threshold.class === at ? outputs.threshold.value : 1 - outputs.threshold.value) : 0.5;
      put(at, outputs.names[at], `${data.kind(at)}-back`, answers[at], original && original[at], percent(answers[at]), turn);
    } else {
      const order = [...answers.keys()].sort((a, b) => Math.max(answers[b], original ? original[b] : 0) - Math.max(answers[a], original ? original[a] : 0));
      for (const i of order.slice(0, MOST_CLASSES).sort((a, b) => a - b)) {
        put(i, outputs.names[i], `${data.kind(i)}-back`, answers[i], original && original[i], percent(answers[i]));
      }
    }
    if (shown.length !== bars.children.length || shown.some((one, i) => one !== bars.children[i])) bars.replaceChildren(...shown);
  }

  function decisionParts(answers) {
    if (!outputs.classes) return [words.short(answers)];
    const decided = outputs.decide(answers);
    return [data.swatch(decided), outputs.names[decided]];
  }

  const shareNote = (answers) => {
    if (!outputs.classes) return outputs.names.length > 1 ? "" : outputs.names[0];
    const at = words.shown(answers);
    return `${percent(answers[at])} for ${outputs.names[at]}`;
  };

  /** The model's own answer: given for original rows, live for others. `live` is {state, answers, message}. */
  function showModel(answers, given, live) {
    modelNote.classList.toggle("caution", live.state === "failed");
    if (given) {
      fill(model, ...decisionParts(given));
      fill(modelNote, `${shareNote(given)}; the surrogate differs by ${words.difference(given, answers)}`);
      modelNote.classList.toggle("caution", !words.alike(given, answers));
      return;
    }
    fill(model, live.state === "failed" ? "no answer" : live.state === "asking" ? "asking …" : "not asked");
    fill(modelNote, live.message);
  }

  return {
    /** `explained` is the edited row's explanation, `original` that of the row as it was, or null if it is the same. */
    update({ explained, original, given, live }) {
      const { answers } = explained;
      fill(ownHead, original ? "Changed row, says the surrogate" : "The surrogate says");
      fill(own, ...decisionParts(answers));
      fill(note, original ? `${shareNote(answers)} (${words.difference(original.answers, answers)})` : shareNote(answers));
      beforeCell.hidden = !original;
      if (original) {
        fill(before, ...decisionParts(original.answers));
        fill(beforeNote, shareNote(original.answers));
      }
      showModel(answers, given, live);
      showBars(answers, original && original.answers);
      clearTimeout(telling); // told once a gesture ends
      telling = setTimeout(() => { said.textContent = `The surrogate says ${words.short(answers)}`; }, 600);
    },
  };
}
