// The least change that flips the answer: found on the surrogate, confirmed by the model where it can be asked.

import { createSlices } from "./slices.js";
import { valueText } from "./explorer_words.js";
import { countText, make } from "./text.js";

const PAUSE_BEFORE_SEARCH = 250; // milliseconds without an edit
const N_FOUND = 3;
const UNCONFIRMED = "Found on the surrogate, not confirmed by the model";

/** Search and show in `box`; `onFound` hears which rows were found. */
export function createFlip(box, { engine, state, words, output, limits, live, onFound }) {
  const { outputs, features } = engine;
  const list = make("ol", { class: "found" });
  const told = make("p", { class: "quiet", role: "status" });
  const wishBox = make("p", { class: "wish" });
  const mark = make("p", { class: "unconfirmed" }, `${UNCONFIRMED}.`);
  const limited = make("p", { class: "quiet" });
  box.append(make("h3", {}, outputs.classes ? "What would flip it?" : "What would change it?"), wishBox, mark, list, told, limited);
  let wish = null; // what was chosen; null for the usual one
  let found = [];
  let waiting = 0;
  let from = null; // the values that were searched from
  let asked = null; // what was searched for: {wanted, decision}

  const slices = createSlices();
  const target = createWish();

  /** What to ask for: another class, or a number. */
  function createWish() {
    const changed = () => search();
    const most = make("select", { "aria-label": "How many values may change", onchange: changed },
      ...[1, 2, 3].map((n) => make("option", { value: n }, n === 1 ? "1 value" : `up to ${n} values`)));
    most.value = "3";
    if (outputs.classes) {
      const select = make("select", { "aria-label": "The class to reach", onchange: () => {
        wish = select.value === "" ? null : Number(select.value);
        changed();
      } }, make("option", { value: "" }, "any other class"), ...outputs.names.map((name, i) => make("option", { value: i }, name)));
      const fixed = make("b", {});
      wishBox.append("The least change, of ", most, ", to ", words.two ? fixed : select);
      return { read: (answers) => (words.two ? 1 - outputs.decide(answers) : wish), show: (answers) => { fixed.textContent = outputs.names[1 - outputs.decide(answers)]; }, most };
    }
    const side = make("select", { "aria-label": "Direction", onchange: changed }, make("option", { value: "1" }, "at least"), make("option", { value: "-1" }, "at most"));
    const goal = make("input", { type: "number", step: "any", class: "box", "aria-label": "The number to reach" });
    goal.addEventListener("change", () => {
      wish = goal.value === "" ? null : goal.valueAsNumber;
      changed();
    });
    const name = make("span", {});
    wishBox.append("The least change, of ", most, ", to ", name, " of ", side, " ", goal);
    const value = (answers) => wish ?? Number((answers[output()] + Number(side.value) * 0.5 * outputs.spread[output()]).toPrecision(3));
    return {
      read: (answers) => (Number(side.value) > 0 ? [value(answers), null] : [null, value(answers)]),
      show(answers) {
        name.textContent = outputs.names[output()];
        if (wish === null && goal !== goal.getRootNode().activeElement) goal.value = value(answers);
      },
      most,
    };
  }

  function reached(answers, { wanted, decision }) {
    if (outputs.classes) return wanted === null ? outputs.decide(answers) !== decision : outputs.decide(answers) === wanted;
    const answer = answers[output()];
    return (wanted[0] === null || answer >= wanted[0]) && (wanted[1] === null || answer <= wanted[1]);
  }

  function search() {
    const { values } = state;
    const { answers } = engine.explain(values);
    target.show(answers);
    const wanted = target.read(answers);
    const question = { wanted, decision: outputs.decide(answers) };
    const finished = (all, words) => {
      [from, asked, found] = [values, question, all];
      told.textContent = words;
      box.classList.remove("stale");
      show();
      onFound(found.map((one) => one.row));
    };
    if (reached(answers, question)) finished([], "That holds already.");
    else {
      slices.start(engine.recourseInSteps(values, { ...limits().given, desired: wanted, output: outputs.classes ? 0 : output(), maxChanges: Number(target.most.value), n: N_FOUND }), (all) => {
        finished(all, all.length ? "" : "No such change was found on the surrogate. Allow more values to change, or take away locks and limits.");
      });
    }
  }

  /** What the model says to a change that was found; nothing where that was said for all. */
  function status(one) {
    const { state: at, answers, message } = live.of(one.row);
    if (at === "off") return null;
    if (at === "answered") {
      return reached(answers, asked)
        ? make("p", { class: "confirmed" }, `Confirmed by the model: ${words.short(answers)}`)
        : make("p", { class: "caution" }, `The model does not follow: ${words.short(answers)}`);
    }
    return make("p", { class: "unconfirmed" }, at === "failed" ? `${UNCONFIRMED}. ${message}` : `${UNCONFIRMED}; asking it now …`);
  }

  function line(one) {
    const told = one.changes.map(({ j, to }) => `${features[j].label} to ${valueText(features[j], to)}`).join(", ");
    return make("li", {},
      make("ul", { class: "found-changes" }, ...one.changes.map(({ j, from: before, to }) => make("li", {},
        make("span", { class: "name", title: features[j].label }, features[j].label), " ", make("span", { class: "quiet" }, `${valueText(features[j], before)} →`), " ", make("b", {}, valueText(features[j], to))))),
      make("span", { class: "found-answer" }, words.short(one.answers)),
      make("button", { type: "button", class: "ghost", "aria-label": `Apply: ${told}`, onclick: () => state.apply(one.changes) }, "Apply"), status(one));
  }

  function show() {
    list.replaceChildren(...found.map(line));
    mark.hidden = live.connected || !found.length;
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
