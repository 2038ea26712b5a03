// What a flip should reach, as people say it: another class or a number, with how many changes.

import { make } from "./text.js";

const FEW = [1, 2, 3];

/** A number that is a change away from another, rounded to two digits of the change, never beyond it. */
function roundGoal(from, change) {
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(change))) - 1);
  return Number(((change > 0 ? Math.floor : Math.ceil)((from + change) / unit) * unit).toPrecision(12));
}

/** Put what can be asked for into `box`; `start` are Python's wishes, `output` gives the explained output. */
export function createWish(box, { outputs, words, output, start, onChange }) {
  const { wish, maxChanges } = start;
  const counts = [...new Set([...FEW, ...(maxChanges ? [maxChanges] : [])])].sort((a, b) => a - b);
  const most = make("select", { "aria-label": "How many values may change", onchange: onChange },
    ...counts.map((n) => make("option", { value: n }, n === 1 ? "1 value" : `up to ${n} values`)), make("option", { value: "Infinity" }, "any number of values"));
  most.value = String(maxChanges ?? Infinity);
  box.append("The least change, of ", most, ", to ");
  const kind = outputs.classes ? createClass() : createNumber();
  return { get most() { return Number(most.value); }, least: wish.least ?? 0, ...kind };

  function createClass() {
    const fixed = make("b", {});
    const select = make("select", { "aria-label": "The class to reach", onchange: onChange },
      make("option", { value: "" }, "any other class"), ...outputs.names.map((name, i) => make("option", { value: i }, name)));
    select.value = wish.class ?? "";
    box.append(words.two ? fixed : select);
    const least = wish.least ?? 0;
    return {
      /** The class to reach from these answers; null for any other. */
      read(answers) {
        if (!words.two) return select.value === "" ? null : Number(select.value);
        const wanted = wish.class ?? 1 - outputs.decide(answers);
        fixed.textContent = outputs.names[wanted];
        return wanted;
      },
      /** Whether answers are as wanted by one who has `own`. */
      reached(answers, wanted, own) {
        const decided = outputs.decide(answers);
        return (wanted === null ? decided !== outputs.decide(own) : decided === wanted) && answers[decided] >= least;
      },
    };
  }

  function createNumber() {
    const range = wish.range && wish.range.every((end) => end !== null) ? wish.range : null;
    const side = make("select", { "aria-label": "Direction" }, make("option", { value: "1" }, "at least"), make("option", { value: "-1" }, "at most"),
      range && make("option", { value: "0" }, `from ${words.number(range[0], output())} to ${words.number(range[1], output())}`));
    const goal = make("input", { type: "number", step: "any", class: "box", "aria-label": "The number to reach" });
    const name = make("span", {});
    const given = wish.range && !range ? wish.range[0] ?? wish.range[1] : wish.threshold ?? null;
    let chosen = given; // the number that was asked for; null for the usual one
    let sided = wish.threshold === null || wish.threshold === undefined; // whether the side was chosen
    side.value = range ? "0" : wish.range ? (wish.range[0] === null ? "-1" : "1") : (wish.change ?? 1) < 0 ? "-1" : "1";
    side.addEventListener("change", () => {
      sided = true;
      onChange();
    });
    goal.addEventListener("change", () => {
      chosen = goal.value === "" ? null : goal.valueAsNumber;
      onChange();
    });
    box.append(name, " of ", side, " ", goal);
    return {
      /** The range to reach from these answers. */
      read(answers) {
        const own = answers[output()];
        if (!sided) side.value = own < chosen ? "1" : "-1";
        const sign = Number(side.value);
        const value = chosen ?? roundGoal(own, sign * Math.abs(wish.change ?? 0.5 * outputs.spread[output()]));
        name.textContent = outputs.names[output()];
        goal.hidden = sign === 0;
        if (goal !== goal.getRootNode().activeElement) goal.value = value;
        return sign === 0 ? range : sign > 0 ? [value, null] : [null, value];
      },
      reached: (answers, [low, high]) => answers[output()] >= (low ?? -Infinity) && answers[output()] <= (high ?? Infinity),
    };
  }
}
