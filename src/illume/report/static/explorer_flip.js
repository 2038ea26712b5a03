// The least change that flips the answer: confirmed by the model, or found on its twin, which may be the model itself.

import { createSlices } from "./slices.js";
import { valueText } from "./explorer_words.js";
import { createWish } from "./explorer_wish.js";
import { countText, make } from "./text.js";

const NONE_ALONE = "No change of one value within the range of the fitted rows is enough";
const PAUSE_BEFORE_SEARCH = 250; // milliseconds without an edit
const N_FOUND = 3;
const N_ASKED = 6; // that a live model is asked about; those it confirms are shown first
const MOST_CHANGES = 5; // of the search
const MOST_ERRORS = 2; // that the network's answer goes beyond the boundary
const FAR = 2; // standard deviations that are called a large change
const UNCONFIRMED = "Found on the network, not confirmed by the model";
const HOLDS = "Holds for the model itself";
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
  let note = ""; // on all that was found in the page
  let waiting = 0;
  let from = null; // the values that were searched from
  let asked = null; // what was searched for: {wanted, answers}

  /** Search on the twin, in steps: past the boundary by its error, or where that cannot be, just past it. */
  function* suggest(values, wanted, given) {
    const { answers } = engine.explain(values);
    if (wish.reached(answers, wanted, answers)) return { message: "The network answers so already, the model does not: the network cannot tell what would change that." };
    const options = { ...given, desired: wanted, output: outputs.classes ? 0 : output(), probability: wish.least, maxChanges: Math.min(wish.most, MOST_CHANGES), n: live.connected ? N_ASKED : N_FOUND };
    for (const margin of new Set([engine.margin(MOST_ERRORS), 0])) {
      const some = yield* engine.recourseInSteps(values, { ...options, margin });
      const close = !margin && engine.margin(MOST_ERRORS) > 0;
      if (some.length) return { some, note: engine.exact ? HOLDS : `${close ? "Too close to call. " : ""}${UNCONFIRMED}.`, message: closest(some, wanted) };
    }
    const hints = [wish.most < MOST_CHANGES ? "allow more values to change" : "", limits().count ? "take away locks and limits" : ""].filter(Boolean);
    const several = wish.most > 1 ? ", and none of several was found" : "";
    const tried = engine.proves(wanted) ? `${NONE_ALONE}${several}.` : "No such change was found.";
    return { message: `${tried}${hints.length ? ` You can ${hints.join(", or ")}.` : ""}` };
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
    const confirmed = { some: known.slice(0, N_FOUND) };
    if (known.length) finished(confirmed);
    if (!known.length || engine.exact) slices.start(suggest(values, wanted, given), (one) => finished(known.length && !one.some ? confirmed : one));
  }

  /** Whether the live model follows a suggestion; null where it has not answered. */
  function follows(one) {
    const { answers } = live.of(one.row);
    return answers && wish.reached(answers, asked.wanted, asked.answers);
  }

  /** Say what was looked for and not found: fewer values, nearer ones, or other features. */
  function closest(all, wanted) {
    const said = [];
    const fewest = all[0].changes.length;
    if (fewest > 1 && engine.proves(wanted)) said.push(`${NONE_ALONE}.`);
    else if (fewest > 1) said.push("No change of one value was found.");
    if (fewest > 2) said.push(`None of ${fewest - 1} values was found.`);
    if (all[0].distance > FAR) said.push(`Nothing nearer was found: even the first is a large change, of ${all[0].distance.toFixed(1)} standard deviations.`);
    if (all.length < N_FOUND) said.push(all.length === 1 ? "No other way was found." : "No third way was found.");
    return said.join(" ");
  }

  /** What the model says to a change that was found; nothing where that was said for all. */
  function status(one) {
    const { state: at, answers, message } = live.of(one.row);
    if (at === "off" || one.confirmed || (engine.exact && at !== "answered")) return null;
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
    mark.hidden = !found.length || (live.connected && !known && !engine.exact);
    mark.className = known || engine.exact ? "confirmed" : "unconfirmed";
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
