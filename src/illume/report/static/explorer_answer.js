// The answer at the top: the model's where it is known, else the network's; beside that of the original row and the other's.

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
export function createAnswer(box, { engine, data, state, words }, badge) {
  const { outputs } = engine;
  const ownHead = make("span", { class: "label" });
  const own = make("strong", {});
  const note = make("span", { class: "quiet" });
  const cell = (...parts) => make("div", { class: "answer-cell" }, ...parts);
  const before = make("strong", {});
  const beforeNote = make("span", { class: "quiet" });
  const otherHead = make("span", { class: "label" });
  const other = make("strong", {});
  const otherNote = make("span", { class: "quiet" });
  const switched = make("p", { class: "switched" });
  const bars = make("div", { class: "answer-bars" });
  const said = make("p", { class: "unseen", role: "status" });
  const lines = new Map();
  let telling = 0;
  const beforeHead = make("span", { class: "label" });
  const ownCell = cell(ownHead, make("span", { class: "said" }, own, badge), note);
  const otherCell = cell(otherHead, other, otherNote);
  const beforeCell = cell(beforeHead, before, beforeNote);
  const range = outputs.classes ? null : outputs.names.map((_, i) => spanOf(i));
  box.append(make("div", { class: "answer-cells" }, ownCell, beforeCell, otherCell), bars, switched, said);

  /** The smallest and the largest prediction of the shown rows. */
  function spanOf(i) {
    let [low, high] = [Infinity, -Infinity];
    for (let row = 0; row < engine.rows.n; row += 1) {
      const found = engine.rows.model(row);
      const value = found ? found.answers[i] : i === 0 ? data.probability[row] : NaN;
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
      put(at, outputs.names[at], `${data.kind(at)}-back`, answers[at], original && original[at], percent(answers[at]), words.edge);
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

  const speaker = (byModel) => (byModel ? "the model" : "the network");

  /** The other's answer: the twin's as a remark beside the model's, or that the model was not asked. `live` is {state, answers, message}. */
  function showOther(answers, { given, live, byModel }) {
    const failed = live.state === "failed";
    otherCell.hidden = engine.exact && !live.answers && !failed;
    fill(otherHead, !given || (failed && engine.exact) ? "The model itself" : engine.exact ? "The page itself says" : "The network says");
    otherNote.classList.toggle("caution", failed || Boolean(given && !words.alike(given, answers)));
    if (given && !(failed && engine.exact)) {
      fill(other, ...decisionParts(answers));
      fill(otherNote, `${shareNote(answers)}; it differs by ${words.difference(given, answers)}`);
      return;
    }
    fill(other, failed ? "no answer" : live.state === "asking" ? "asking …" : "not asked");
    fill(otherNote, live.message);
  }

  /** Say that numbers are another's than before the first change. */
  function showSwitch(original, byModel) {
    const own = engine.rows.model(state.row);
    switched.hidden = engine.exact || !original || !own;
    if (switched.hidden) return;
    fill(switched, byModel ? "Changed: the answer is still the model's, contributions are now the network's." : `Changed: answer and contributions are now the network's. For the row as it is, it says ${words.short(original.answers)}, the model ${words.short(own.answers)}.`);
  }

  return {
    /** `explained` is the edited row's explanation, `original` that of the row as it was, or null if it is the same; `lead` is the answer to show first. */
    update({ explained, original, given, live, lead, byModel }) {
      const who = speaker(byModel);
      const was = original && (byModel ? engine.rows.model(state.row)?.answers ?? original.answers : original.answers);
      fill(ownHead, original ? `Changed row, says ${who}` : `${who[0].toUpperCase()}${who.slice(1)} says`);
      ownCell.classList.toggle("by-model", byModel);
      otherCell.classList.toggle("by-model", !byModel);
      fill(own, ...decisionParts(lead));
      fill(note, was ? `${shareNote(lead)} (${words.difference(was, lead)})` : shareNote(lead));
      beforeCell.hidden = !was;
      if (was) {
        fill(beforeHead, `The original row, says ${who}`);
        fill(before, ...decisionParts(was));
        fill(beforeNote, shareNote(was));
      }
      showOther(explained.answers, { given, live, byModel });
      showBars(lead, was);
      showSwitch(original, byModel);
      clearTimeout(telling); // told once a gesture ends
      telling = setTimeout(() => { said.textContent = `${who[0].toUpperCase()}${who.slice(1)} says ${words.short(lead)}`; }, 600);
    },
  };
}
