// Why the answer is what it is, what rule stands behind it, and where not to trust it.

import { fill } from "./explorer_morph.js";
import { valueText } from "./explorer_words.js";
import { countText, formatFixed, formatGrouped, formatSigned, make, percent, quote } from "./text.js";
import { FIRST_FEATURES, contributionLines, createWaterfall } from "./waterfall.js";

const VAGUE = "The contributions are uncertain: their typical error is more than half their size.";
const EXACT = "Answer and contributions are exact.";

/** Show what moved the answer in `box`: the model's own contributions, or the network's for a changed row. */
export function createWhy(box, { engine, data, state, output, background, onOutput }) {
  const { outputs, features } = engine;
  const s = outputs.explained.length;
  const head = make("div", { class: "section-head" }, make("h3", {}, outputs.classes ? "Why this decision?" : "Why this prediction?"));
  const note = make("p", { class: "quiet" });
  const chart = createWaterfall();
  let all = false;
  const more = make("button", { type: "button", class: "ghost", onclick: () => {
    all = !all;
    onOutput(output());
  } });
  const select = make("select", { "aria-label": outputs.classes ? "Class" : "Output", onchange: () => onOutput(Number(select.value)) },
    ...outputs.explained.map((name, i) => make("option", { value: i }, name)));
  if (s > 1) head.append(select);
  if (features.length > FIRST_FEATURES + 1) head.append(more);
  box.append(head, note, chart.element);
  const digits = outputs.decimals;
  const say = (o) => ({
    score: (number) => (outputs.classes ? formatSigned(number) : formatGrouped(number, digits[o], "+")),
    size: (number) => formatGrouped(number, digits[o]),
    total: (number) => (outputs.classes ? formatSigned(number) : formatGrouped(number, digits[o])),
  });

  /** The lines of a changed row, with what each contribution was before; the largest first, before or now. */
  function changedLines(explained, original, o) {
    const lines = features.map((feature, j) => {
      const [size, before] = [explained.values[j * s + o], original.values[j * s + o]];
      const { score } = say(o);
      return {
        name: feature.label, value: valueText(feature, state.values[j]), size, order: Math.max(Math.abs(size), Math.abs(before)),
        note: score(size) === score(before) ? "" : `was ${score(before)}`, changed: state.isChanged(j),
      };
    }).sort((a, b) => b.order - a.order);
    const count = all || lines.length <= FIRST_FEATURES + 1 ? lines.length : FIRST_FEATURES;
    const rest = lines.slice(count);
    return rest.length
      ? [...lines.slice(0, count), { name: countText(rest.length, "other feature"), value: "", size: rest.reduce((sum, one) => sum + one.size, 0), quiet: true }]
      : lines;
  }

  return {
    update({ explained, original }) {
      const o = output();
      const lines = original ? changedLines(explained, original, o) : contributionLines(data, state.row, o, all);
      const base = original ? explained.base[o] : data.base[o];
      const own = engine.exact || (!original && data.hasModel);
      const when = original ? "The row is changed, so the numbers explain" : "The numbers explain";
      fill(note, `${when} ${own ? "the model itself" : "the network"}: what each feature adds to its ${outputs.meanings[o]}${background}. Blue raises it, orange lowers it.${original ? " “Was” is for the row as it is." : ""}`);
      chart.update({ base, lines, total: outputs.classes ? outputs.scale_name : outputs.meanings[o], fromZero: outputs.scale_name === "log-odds", edge: data.edge, say: say(o) });
      fill(more, all ? "Fewer" : `All ${features.length}`);
      more.setAttribute("aria-label", all ? "Show the strongest features only" : `Show all ${features.length} features`);
      select.value = o;
    },
  };
}

/** Show in `box` whether the rule of the original row still holds, and which rule of the set applies. */
export function createRule(box, { engine, state }) {
  const { outputs } = engine;
  const head = make("h3", {}, "The rule behind it");
  const told = make("p", { class: "quiet" });
  const list = make("ul", { class: "conditions" });
  const figures = make("p", { class: "quiet" });
  const set = make("p", { class: "quiet" });
  box.append(head, told, list, figures, set);
  const conclusion = (rule) => (outputs.classes ? quote(rule.decision) : `${outputs.names[0]} ${rule.decision}`);
  const precisionOf = ({ precision }) => (precision ? `${outputs.classes ? "right" : "in this interval"} on ${percent(precision[0])} of the held-out rows it covers (95 % interval ${percent(precision[1])} to ${percent(precision[2])})` : "covers no held-out row, so how often it is right is not known");

  /** Whether a rule ends in what was answered. */
  const matches = ({ position, interval }, answers) => (interval ? answers[0] >= interval[0] && answers[0] <= interval[1] : position === outputs.decide(answers));

  function setWords(answers) {
    const found = engine.ruleSet(state.values);
    if (!found) return "";
    const what = found.position < 0 ? "None of the few rules for all rows covers it, and others are" : `Of the few rules for all rows, number ${found.position + 1} covers it:`;
    return `${what} ${conclusion(found.applies)}${matches(found.applies, answers) ? "" : ", which does not match the answer"}.`;
  }

  function headline(rule, broken, answers) {
    if (broken) return `The row's own rule says ${conclusion(rule)}, but no longer applies: ${countText(broken, "condition")} broken.`;
    if (matches(rule, answers)) return `The rule says ${conclusion(rule)} for rows with`;
    return state.changed.length
      ? `The rule no longer matches the answer. It says ${conclusion(rule)} for all rows with`
      : `The rule does not match the answer. It says ${conclusion(rule)} for all rows with`;
  }

  return {
    update({ lead }) {
      const rule = engine.rule(state.row, state.values);
      box.hidden = !rule;
      if (!rule) return;
      const broken = rule.conditions.filter(({ holds }) => !holds).length;
      fill(told, headline(rule, broken, lead));
      told.classList.toggle("caution", !broken && !matches(rule, lead));
      fill(list, ...rule.conditions.map(({ text, holds }) => make("li", { class: holds ? "kept" : "broken" },
        make("span", { "aria-hidden": "true" }, holds ? "✓ " : "✗ "), text, make("span", { class: "unseen" }, holds ? " (kept)" : " (broken)"))));
      fill(figures, rule.conditions.length ? `It is ${precisionOf(rule)}.`.replace("It is covers", "It covers") : "It has no condition and holds for every row.");
      fill(set, setWords(lead));
    },
  };
}

/** Say in `box` how far to trust the answer here. */
export function createTrust(box, { engine, limits, words }) {
  const { outputs } = engine;
  const badges = [make("span", { class: "badge" }), make("span", { class: "badge" })];
  const list = make("ul", { class: "reasons" });
  box.append(make("div", { class: "section-head" }, make("h3", {}, "Can I trust this here?"), badges[0]), list);

  /** Whether answers are nearer to another decision than the network's error; what says so, or nothing. */
  function tooClose(answers) {
    const { error } = engine;
    if (!outputs.classes || !(error > 0)) return "";
    const [first, second] = [...answers].sort((a, b) => b - a);
    const at = words.shown(answers);
    const edge = words.two ? words.edge : null;
    const off = words.two ? Math.abs(answers[at] - edge) : (first - second) / 2;
    if (off >= error) return "";
    const where = words.two ? `the decision turns at ${percent(edge)}` : "another class has almost as much";
    return `Too close to call: ${percent(answers[at])} for ${outputs.names[at]}, and ${where}. The network is off by ${formatFixed(error, 2)} on average.`;
  }

  /** Reasons for doubt. */
  function judge({ trust, explained, given, lead, byModel, rule }) {
    const doubts = [];
    const close = byModel ? "" : tooClose(lead);
    for (const reason of trust.reasons) doubts.push(`Outside the data: ${reason}. ${engine.exact ? "The model answers, but nothing is known of such rows" : "The answer is a guess"}.`);
    if (close && !trust.outside) doubts.push(close);
    if (given && !words.alike(given, explained.answers)) doubts.push(`${engine.exact ? "The page" : "The network"} and the model differ on this row: ${words.short(explained.answers)} against ${words.short(given)}.${engine.exact ? " The model has changed since the page was written." : ""}`);
    const decided = outputs.decide(lead);
    const alike = outputs.classes ? limits.classes[decided] ?? NaN : NaN;
    if (alike < limits.agreement) doubts.push(`Of the held-out rows that the model decides ${quote(outputs.names[decided])}, the network does so on ${percent(alike)} only.`);
    if (rule && rule.covers && rule.precision && rule.precision[0] < limits.agreement) doubts.push(`The rule behind it is ${outputs.classes ? "right" : "in its interval"} on ${percent(rule.precision[0])} only of the held-out rows it covers.`);
    const vague = !(trust.share >= limits.share); // what is not known is no reason to trust
    return { doubts, vague, close: close && !trust.outside };
  }

  return {
    /** The same in a word, to be put elsewhere. */
    badge: badges[1],
    update(present) {
      const { trust } = present;
      const { doubts, vague, close } = judge(present);
      const low = doubts.length > 0 || vague;
      for (const badge of badges) {
        badge.className = `badge ${low ? "low" : "high"}`;
        fill(badge, close ? "Too close to call" : low ? "Be careful here" : "Nothing unusual");
      }
      box.classList.toggle("low", low);
      const lines = doubts.map((text) => [text, "caution"]);
      if (engine.exact) lines.push([EXACT, ""]);
      else if (!trust.outside) lines.push([limits.told, ""]); // rows like this one are not known
      if (vague) lines.push([Number.isFinite(trust.contributionError) ? VAGUE : "How accurate the contributions are was not measured.", "caution"]);
      fill(list, ...lines.map(([text, kind]) => make("li", { class: kind }, text)));
    },
  };
}
