// The least change that flips the answer: confirmed by the model, else found on the surrogate.

import { createSlices } from "./slices.js";
import { valueText } from "./explorer_words.js";
import { createWish } from "./explorer_wish.js";
import { countText, make } from "./text.js";

const PAUSE_BEFORE_SEARCH = 250; // milliseconds without an edit
const N_FOUND = 3;
const N_ASKED = 6; // that a live model is asked about; those it confirms are shown first
const MOST_CHANGES = 5; // of the search on the surrogate
const MOST_ERRORS = 2; // that the surrogate's answer goes beyond the boundary, where nothing better was measured
const FEWEST_MEASURED = 5;
const FAR = 2; // standard deviations that are called a large change
const UNCONFIRMED = "Found on the surrogate, not confirmed by the model";
const CONFIRMED = "Confirmed by the model";

/** Search and show in `box`, starting from `start`, Python's wishes; `onFound` hears which rows were found. */
export function createFlip(box, { engine, state, words, output, limits, live, start, onFound }) {
  const { outputs, features } = engine;
  const list = make("ol", { class: "found" });
  const told = make("p", { class: "quiet", role: "status" });
  const wishBox = make("p", { class: "wish" });
  const mark = make("p", {});
  const limited = make("p", { class: "quiet" });
  box.append(make("h3", {}, outputs.classes ? "What would flip it?" : "What would change it?"), wishBox, mark, list, told, limited);
  mark.hidden = true;
  told.textContent = "Looking …";
  const slices = createSlices();
  const wish = createWish(wishBox, { outputs, words, output, start, onChange: () => search() });
  let found = [];
  let note = ""; // on all that was found on the surrogate
  let waiting = 0;
  let from = null; // the values that were searched from
  let asked = null; // what was searched for: {wanted, answers}

  /** How far beyond the boundary to aim, and how many such suggestions the model confirmed: {margin, n, held, close}. */
  function aims(values, answers, wanted) {
    const rises = !outputs.classes && wanted[0] !== null;
    const measured = engine.heldFlips(answers, rises);
    if (measured && measured.n >= FEWEST_MEASURED) {
      const { margin, n, held, n_close: nClose, held_close: heldClose } = measured;
      return margin > 0 ? [{ margin, n, held }, { margin: 0, n: nClose, held: heldClose, close: true }] : [{ margin, n, held }];
    }
    const margin = engine.margin(values, MOST_ERRORS);
    return margin > 0 ? [{ margin, n: 0 }, { margin: 0, n: 0, close: true }] : [{ margin: 0, n: 0 }];
  }

  /** Search on the surrogate, in steps: past the boundary by its error, or where that cannot be, just past it. */
  function* suggest(values, wanted, given) {
    const { answers } = engine.explain(values);
    if (wish.reached(answers, wanted, answers)) return { message: "The surrogate answers so already, the model does not: the surrogate cannot tell what would change that." };
    const options = { ...given, desired: wanted, output: outputs.classes ? 0 : output(), probability: wish.least, maxChanges: Math.min(wish.most, MOST_CHANGES), n: live.connected ? N_ASKED : N_FOUND };
    let [refused, searched] = ["", false];
    for (const { margin, n, held, close } of aims(values, answers, wanted)) {
      if (!live.connected && n >= FEWEST_MEASURED && 2 * held < n) {
        refused ||= `Suggestions of the surrogate are not shown here: of ${n} for rows like this one, the model confirmed ${held || "none"}.`;
        continue;
      }
      searched = true;
      const some = yield* engine.recourseInSteps(values, { ...options, margin });
      const measured = n ? ` Of ${n} such suggestions for other rows, the model confirmed ${held === n ? "all" : held || "none"}.` : "";
      if (some.length) return { some, note: `${close ? "Too close to call. " : ""}${UNCONFIRMED}.${measured}`, message: closest(some) };
    }
    const hints = [wish.most < MOST_CHANGES ? "allow more values to change" : "", limits().count ? "take away locks and limits" : ""].filter(Boolean);
    return { message: (!searched && refused) || `No such change was found on the surrogate.${hints.length ? ` You can ${hints.join(", or ")}.` : ""}` };
  }

  function search() {
    const { values } = state;
    const { given } = limits();
    const answers = engine.answered(state.row, values) ?? engine.explain(values).answers;
    const wanted = wish.read(answers);
    const finished = ({ some = [], note: about = "", message = "" }) => {
      [from, asked, found, note, told.textContent] = [values, { wanted, answers }, some, about, message];
      box.classList.remove("stale");
      show();
      onFound(found.map((one) => one.row));
    };
    if (wish.reached(answers, wanted, answers)) {
      finished({ message: "That holds already." });
      return;
    }
    const known = state.changed.length ? [] : engine.confirmed(state.row, given).filter((one) => one.changes.length <= wish.most && wish.reached(one.answers, wanted, answers));
    if (known.length) finished({ some: known.slice(0, N_FOUND) });
    else slices.start(suggest(values, wanted, given), finished);
  }

  /** Whether the live model follows a suggestion; null where it has not answered. */
  function follows(one) {
    const { answers } = live.of(one.row);
    return answers && wish.reached(answers, asked.wanted, asked.answers);
  }

  /** Say what was looked for and not found: fewer values, nearer ones, or other features. */
  function closest(all) {
    const said = [];
    const fewest = all[0].changes.length;
    if (fewest > 1) said.push(`No change of ${fewest === 2 ? "one value" : `${fewest - 1} values`} is enough.`);
    if (all[0].distance > FAR) said.push(`Nothing nearer was found: even the first is a large change, of ${all[0].distance.toFixed(1)} standard deviations.`);
    if (all.length < N_FOUND) said.push(all.length === 1 ? "No other way was found." : "No third way was found.");
    return said.join(" ");
  }

  /** What the model says to a change that was found; nothing where that was said for all. */
  function status(one) {
    const { state: at, answers, message } = live.of(one.row);
    if (at === "off" || one.confirmed) return null;
    if (at === "answered") {
      return follows(one)
        ? make("p", { class: "confirmed" }, `${CONFIRMED}: ${words.short(answers)}`)
        : make("p", { class: "caution" }, `The model does not follow: ${words.short(answers)}`);
    }
    return make("p", { class: "unconfirmed" }, at === "failed" ? `${UNCONFIRMED}. ${message}` : `${UNCONFIRMED}; asking it now …`);
  }

  function line(one) {
    const said = one.changes.map(({ j, to }) => `${features[j].label} to ${valueText(features[j], to)}`).join(", ");
    return make("li", {},
      make("ul", { class: "found-changes" }, ...one.changes.map(({ j, from: before, to }) => make("li", {},
        make("span", { class: "name", title: features[j].label }, features[j].label), " ", make("span", { class: "quiet" }, `${valueText(features[j], before)} →`), " ", make("b", {}, valueText(features[j], to))))),
      make("span", { class: "found-answer" }, words.short(one.answers)),
      make("button", { type: "button", class: "ghost", "aria-label": `Apply: ${said}`, onclick: () => state.apply(one.changes) }, "Apply"), status(one));
  }

  function show() {
    const known = found.length > 0 && found[0].confirmed;
    const rank = (one) => [true, null, false].indexOf(follows(one));
    const shown = known ? found : found.slice().sort((a, b) => rank(a) - rank(b)).slice(0, N_FOUND);
    list.replaceChildren(...shown.map(line));
    mark.hidden = !found.length || (live.connected && !known);
    mark.className = known ? "confirmed" : "unconfirmed";
    mark.textContent = known ? `${CONFIRMED}` : note;
    const n = limits().count;
    limited.textContent = n ? `Keeps to the locks and limits of ${countText(n, "feature")}.` : "Lock a feature, or set limits, to keep it as it is.";
  }

  return {
    /** The row or the limits changed: search again, soon. */
    update() {
      box.classList.toggle("stale", from !== state.values);
      clearTimeout(waiting);
      slices.stop();
      waiting = setTimeout(search, PAUSE_BEFORE_SEARCH);
    },
    /** The model answered. */
    showStatus: () => { if (from === state.values) show(); },
  };
}
