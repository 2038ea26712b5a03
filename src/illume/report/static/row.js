// The panel of one row: decision, contributions, trust, rule and counterfactuals.

import { countText, finder, formatFixed, formatGrouped, groupDigits, make, percent, quote } from "./text.js";
import { FIRST_FEATURES, contributionLines, createWaterfall } from "./waterfall.js";

const WORDS = {
  without: "The model was not at hand when this report was made: its twin answers.",
  exact: "The contributions are exact: they were computed from what the model itself is made of.",
  surrogates: "The accuracy of the contributions for the model is not measured: they are the surrogate's.",
};

/** Show rows in the panel below `root`; `onStep` is told a row and by how many lines to go from it. */
export function createPanel(root, data, onStep) {
  const byId = finder(root);
  const panel = byId("row");
  let allFeatures = false;
  let shownOutput = null;

  function headline(row) {
    const probability = data.numbers ? "" : ` with probability ${formatFixed(data.probability[row])}`;
    const from = data.threshold ? make("span", { class: "quiet" }, ` (${data.thresholdClass} from ${data.threshold} on)`) : null;
    const step = (by, name, sign) =>
      make("button", { type: "button", class: "ghost", "aria-label": name, onclick: () => onStep(row, by) }, sign);
    return make("header", { class: "row-head" },
      make("h3", {}, `Row ${data.label(row)}`),
      make("p", { class: "decision" }, data.swatch(data.decision[row]), make("b", {}, data.answer(row)), probability, from,
        data.truth ? make("span", { class: "truth" }, truthText(row)) : null,
        data.low[row] ? make("span", { class: "low-mark", title: data.lowWords(row) }, "low trust") : null),
      make("span", { class: "steps" }, step(-1, "Row before", "‹"), step(1, "Next row", "›")));
  }

  /** The true answer to a row, beside the model's. */
  function truthText(row) {
    if (data.numbers) return `actually ${formatGrouped(data.truth[row], data.numbers.answer_decimals)}`;
    return `truly ${data.classes[data.truth[row]]}`;
  }

  /** How often the model is right where it decides so; of numbers, how far it is off. */
  function modelWords(row) {
    if (!data.truth) return "";
    if (data.numbers) {
      const off = (one) => Math.abs(data.truth[one] - data.probability[one]);
      const mean = Array.from(data.truth.keys()).reduce((sum, one) => sum + off(one), 0) / data.n;
      const [here, usual] = [off(row), mean].map((number) => formatGrouped(number, data.numbers.answer_decimals));
      return `The model is off by ${here} on this row, and by ${usual} on average on the ${countText(data.n, "row")} of this report. `;
    }
    const alike = Array.from(data.decision.keys()).filter((one) => data.decision[one] === data.decision[row]);
    const right = alike.filter(data.right).length;
    return `The model decides ${quote(data.answer(row))} for ${countText(alike.length, "row")} of this report, and is right for ${groupDigits(right)} of them (${percent(right / alike.length)}). `;
  }

  const statusWords = (row) => (data.hasModel ? data.refinement(row) : WORDS.without);

  /** The typical error of the contributions, and for how many the sign is certain. */
  function errorWords(row) {
    if (!data.shapley) return WORDS.surrogates;
    if (data.exact) return WORDS.exact;
    if (!data.contributionError) return "The error of the contributions is not known.";
    const output = data.output(row);
    const sure = data.columns.filter((_, feature) => Math.abs(data.contribution(output, feature)[row]) > 1.96 * data.error(output, feature, row)).length;
    const error = data.contributionError[row];
    const size = data.outputs.length > 1 ? formatFixed(error) : data.sizeText(error, 0);
    return `Contributions have a typical error of ${size}${data.numbers ? ` in ${data.numbers.error_unit}` : ""}; the sign is certain (95 %) for ${sure} of ${countText(data.columns.length, "feature")}.`;
  }

  function trust(row) {
    const low = Boolean(data.low[row]);
    const outside = data.outside(row);
    return make("section", { class: `trust ${low ? "low" : "fine"}` },
      make("h4", {}, `How sure is this?${low ? ` ${data.lowWords(row)}` : ""}`),
      outside ? make("p", { class: "caution" }, `This row is ${outside}. Its explanation is a guess.`) : null,
      make("p", {}, `${modelWords(row)}${errorWords(row)} ${statusWords(row)}${low && data.counterfactuals ? " Rely on counterfactuals, which are checked on the model itself, rather than on the contributions." : ""}`));
  }

  function contributions(row) {
    const output = shownOutput === null ? data.output(row) : shownOutput;
    const lines = contributionLines(data, row, output, allFeatures);
    const factor = data.numbers && data.numbers.log ? " A contribution c is a factor of exp(c)." : "";
    const say = {
      score: (number) => data.scoreText(number, output),
      size: (number) => data.sizeText(number, output),
      total: (number) => data.totalText(number, output),
    };
    const toggle = () => {
      allFeatures = !allFeatures;
      show(row);
      byId("row-more").focus();
    };
    const more = data.columns.length > FIRST_FEATURES + 1
      ? make("button", { type: "button", id: "row-more", class: "ghost", "aria-label": allFeatures ? "Show the strongest features only" : `Show all ${data.columns.length} features`, onclick: toggle },
        allFeatures ? "Fewer" : `All ${data.columns.length}`)
      : null;
    const edge = data.edge === null ? "" : ` Bars start at the line, ${say.total(data.edge)}, where the threshold ${data.threshold} changes the decision.`;
    return make("section", {},
      make("div", { class: "section-head" }, make("h4", {}, data.numbers ? "What moved the prediction" : "What moved the decision"), outputChoice(row, output), more),
      make("p", { class: "quiet" }, `Contributions to ${data.whose} ${data.meaning(output)}.${factor}${data.contributionError ? " ± is the standard error." : ""}${edge}`),
      createWaterfall().update({ base: data.base[output], lines, total: data.numbers ? data.meaning(output) : data.scaleName, fromZero: data.scaleName === "log-odds", edge: data.edge, say }));
  }

  function outputChoice(row, output) {
    if (data.binary) return null;
    const select = make("select", { id: "row-output", onchange: () => { shownOutput = Number(select.value); show(row); byId("row-output").focus(); } },
      ...data.outputs.map((name, position) => make("option", { value: position }, name + (!data.numbers && position === data.decision[row] ? " (decided)" : ""))));
    select.value = String(output);
    return make("span", { class: "control" }, make("label", { for: "row-output", class: "unseen" }, data.numbers ? "Output" : "Class"), select);
  }

  /** Which of several numbers rules and counterfactuals are for. */
  const first = () => (data.numbers && data.outputs.length > 1 ? ` (${data.outputs[0]} only)` : "");

  function rule(row) {
    const found = data.rule(row);
    if (!found) return null;
    const { conditions, covered, correct, precision, low, high, coverage } = found;
    const name = data.numbers ? `${data.numbers.name} ${found.decision}` : quote(found.decision);
    const [right, share] = data.rules.intervals ? ["are in this interval", "a share of"] : ["are decided so", "precision"];
    const parts = conditions.length
      ? make("ul", { class: "conditions" }, ...conditions.map((condition) => make("li", {}, condition)))
      : make("p", {}, "always");
    const measured = covered
      ? `${correct} of the ${countText(covered, "held-out row")} that it covers ${right}: ${share} ${formatFixed(precision, 2)} (95 % interval ${formatFixed(low, 2)} to ${formatFixed(high, 2)}). It covers ${percent(coverage)} of ${groupDigits(data.rules.n_rows)}.`
      : `It covers none of ${countText(data.rules.n_rows, "held-out row")}, so its precision is not known.`;
    const below = covered && precision < data.rules.wanted
      ? make("p", { class: "caution" }, `Below the wanted ${data.rules.wanted}: treat it as a hint.`) : null;
    return make("section", {}, make("h4", {}, `Rule${first()}`),
      make("p", { class: "quiet" }, `The rule says ${name} for rows with`), parts, make("p", { class: "quiet" }, measured), below);
  }

  function counterfactuals(row) {
    if (!data.counterfactuals) return null;
    const found = data.examples(row);
    const head = make("h4", {}, `What would have to change${first()}`);
    if (!found) {
      const n = Object.keys(data.counterfactuals.examples).length;
      return make("section", {}, head, make("p", { class: "quiet" }, `Not searched: counterfactuals were searched for ${groupDigits(n)} of ${countText(data.n, "row")}, and this is not one of them.`));
    }
    const limits = data.counterfactuals.limits ? ` Asked for: ${data.counterfactuals.limits}.` : "";
    if (!found.length) return make("section", {}, head, make("p", {}, `None was found: ${data.reason(row)}.${limits}`));
    return make("section", {}, head,
      make("p", { class: "quiet" }, data.counterfactuals.wish + limits),
      make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Counterfactual examples" }, exampleTable(row, found)),
      make("p", { class: "quiet" }, `Distance in standard deviations: ${figures(found, "distance")} from this row, ${figures(found, "plausibility")} from the nearest known row (${formatFixed(data.counterfactuals.typical_distance, 2)} is typical).`));
  }

  const figures = (found, name) => found.map((one) => formatFixed(one[name], 2)).join(" and ");

  /** The row beside its examples: the values that differ and the answers. */
  function exampleTable(row, found) {
    const before = new Map(found.flatMap((one) => one.changes.map(([name, from]) => [name, from])));
    const line = (kind, name, own, cells) => make("tr", { class: kind }, make("th", { scope: "row" }, name),
      make("td", {}, own), ...cells);
    const cell = (text, kind = "") => make("td", { class: kind }, text);
    const changes = [...before].map(([name, from]) => line("", name, from, found.map((one) => {
      const change = one.changes.find(([changed]) => changed === name);
      return change ? cell(change[2], "after") : cell("same", "same");
    })));
    const answer = (one) => (data.numbers ? one.answer : `${one.decision} (${formatFixed(one.probability, 2)})`);
    const own = data.numbers ? data.answer(row) : `${data.answer(row)} (${formatFixed(data.probability[row], 2)})`;
    const table = make("table", { class: "changes" },
      make("thead", {}, make("tr", {}, make("td", {}), make("th", { scope: "col" }, "This row"),
        ...found.map((_, i) => make("th", { scope: "col" }, found.length > 1 ? `Change ${i + 1}` : "Changed")))),
      make("tbody", {}, ...changes,
        line("answers", data.numbers ? "Prediction" : "Decision", own, found.map((one) => cell(answer(one), "after")))));
    table.style.minWidth = `${8 + 4.4 * found.length}rem`;
    return table;
  }

  /** Keep the whole panel in reach: one that is higher than the window sticks with its end, not its start. */
  function stick() {
    const gap = 16;
    panel.style.top = `${Math.min(gap, window.innerHeight - panel.offsetHeight - gap)}px`;
  }

  function show(row) {
    const column = (...parts) => make("div", {}, ...parts.filter(Boolean));
    panel.replaceChildren(headline(row), make("div", { class: "row-columns" },
      column(contributions(row)), column(counterfactuals(row), rule(row))), trust(row));
    stick();
  }

  return {
    show(row) {
      if (!data.binary) shownOutput = null;
      show(row);
    },
    stick,
    panel,
  };
}
