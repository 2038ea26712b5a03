// The panel of one row: contributions, rule, counterfactuals and trust.

const FIRST_FEATURES = 10;

const rowPanel = (() => {
  const panel = byId("row");
  let allFeatures = false;
  let shownOutput = null;
  let step = () => {};

  function headline(row) {
    const probability = data.numbers ? "" : ` with probability ${formatFixed(data.probability[row])}`;
    return [
      make("div", { class: "row-head" },
        make("h3", {}, `Row ${data.label(row)}`),
        make("span", { class: "steps" },
          make("button", { type: "button", class: "ghost", "aria-label": "Row before", onclick: () => step(row, -1) }, "‹"),
          make("button", { type: "button", class: "ghost", "aria-label": "Next row", onclick: () => step(row, 1) }, "›"))),
      make("p", { class: "decision" },
        classSwatch(data.decision[row]),
        make("b", {}, data.answer(row)), probability),
    ];
  }

  function statusWords(row) {
    if (data.numbers) {
      const near = data.status[row] === 0 ? "agrees within a tenth of a standard deviation" : "is further off than a tenth of a standard deviation";
      return `The surrogate ${near}: it predicts ${data.numbers.surrogate[row]}. The contributions add up to ${data.shapley ? "the model's" : "its"} own number.`;
    }
    const own = formatFixed(data.surrogateProbability[row]);
    if (data.status[row] === 0) return `The surrogate agrees: it gives this class a probability of ${own}.`;
    const other = quote(data.classes[data.surrogateDecision[row]]);
    if (data.shapley) return `The surrogate decides ${other} (it gives the model's class only ${own}): check the rule. The contributions are still the model's.`;
    if (data.status[row] === 2) {
      return `Not faithful: the surrogate decides ${other} (it gives the model's class only ${own}), and no training row could correct it. Do not use this explanation.`;
    }
    const [neighbour, gammaW, gammaX] = data.refined(row);
    return `Refined: the surrogate first decided ${other} (it gave the model's class only ${own}). The explanation was moved, as little as needed, towards row ${neighbour} of the fitted data, on which both agree (γ_W ${shortNumber(gammaW)}, γ_x ${shortNumber(gammaX)}).`;
  }

  function trustWords(row) {
    if (!data.trustRows || !Number.isFinite(data.trustAgreement[row])) return "No rows were held out, so trust is not known here.";
    if (data.numbers) return `On the ${data.trustRows} held-out rows around here, the surrogate is within a tenth of a standard deviation of the model on ${percent(data.trustAgreement[row])} and off by ${data.numbers.errors[row]} on average.`;
    return `On the ${data.trustRows} held-out rows around here, the surrogate decides like the model on ${percent(data.trustAgreement[row])} and its probabilities are off by ${formatFixed(data.trustError[row])}.`;
  }

  /** The typical error of the contributions, and for how many the sign is certain. */
  function errorWords(row) {
    if (!data.shapley) return "The accuracy of the contributions for the model is not measured: they are the surrogate's.";
    if (!data.contributionError) return "The error of the contributions is not known.";
    const output = data.output(row);
    const sure = data.columns.filter((_, feature) => Math.abs(data.contribution(output, feature)[row]) > 1.96 * data.error(output, feature, row)).length;
    return `Contributions have a typical error of ${data.outputs.length > 1 ? formatFixed(data.contributionError[row]) : sizeText(data.contributionError[row], 0)}${data.numbers ? ` in ${data.numbers.error_unit}` : ""}; the sign is certain (95 %) for ${sure} of ${countText(data.columns.length, "feature")}.`;
  }

  function trust(row) {
    const low = Boolean(data.low[row]);
    const outside = data.outside(row);
    return make("div", { class: `trust ${low ? "low" : "fine"}` },
      make("strong", {}, low ? "Trust is low here" : "Trust"),
      make("p", {}, errorWords(row)),
      make("p", {}, trustWords(row)),
      make("p", {}, statusWords(row)),
      outside ? make("p", { class: "caution" }, `This row is ${outside}. Its explanation is a guess.`) : null,
      low ? make("p", {}, "Rely on counterfactuals, which are checked on the model itself, rather than on the contributions.") : null);
  }

  function steps(row, output) {
    const features = data.columns.map((column, feature) => ({
      name: column.name,
      value: data.text(row, feature),
      size: data.contribution(output, feature)[row],
      error: data.error(output, feature, row),
      filled: data.imputed(row).includes(feature),
    }));
    features.sort((a, b) => Math.abs(b.size) - Math.abs(a.size));
    const count = allFeatures ? features.length : FIRST_FEATURES;
    const shown = features.slice(0, count);
    const rest = features.slice(count);
    if (rest.length === 1) shown.push(...rest.splice(0));
    const lines = [...shown];
    if (rest.length) lines.push({ name: countText(rest.length, "other feature"), value: "", size: rest.reduce((sum, one) => sum + one.size, 0), quiet: true });
    const offset = data.offset(row, output);
    if (offset) lines.push({ name: "offset of the refinement", value: "", size: offset, quiet: true });
    return lines;
  }

  const withError = ({ size, error }, output) => [data.numbers ? scoreText(size, output) : formatSigned(size), Number.isFinite(error) ? make("span", { class: "error" }, ` ± ${sizeText(error, output)}`) : null];

  function floating(from, to, scale, start) {
    const [left, right] = [scale(Math.min(from, to)), scale(Math.max(from, to))];
    return draw("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("rect", { x: scale(start) - 0.15, y: 0, width: 0.3, height: 12, class: "zero" }),
      draw("rect", { x: left, y: 1.5, width: Math.max(right - left, 0.6), height: 9, class: to >= from ? "for" : "against" }));
  }

  function waterfall(row) {
    const output = shownOutput === null ? data.output(row) : shownOutput;
    const lines = steps(row, output);
    const base = data.base[output];
    const ends = [base];
    for (const line of lines) ends.push(ends[ends.length - 1] + line.size);
    // Log-odds start at zero; numbers may be far from it, so their bars start just below the least
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const start = data.numbers ? least - 0.08 * (most - least || 1) : 0;
    const [low, high] = [Math.min(start, least), Math.max(start, most)];
    const scale = (number) => (100 * (number - low)) / (high - low || 1);
    const score = ends[ends.length - 1];
    const line = (name, value, size, bar, kind, note) => make("tr", { class: kind },
      make("th", { scope: "row" }, make("span", { class: "name", title: name }, name),
        value === "" ? null : make("span", { class: "value" }, value + (note && !data.shapley ? " (filled with the mean)" : ""))),
      make("td", { class: "number" }, ...[size].flat()), make("td", { class: "bar" }, bar));
    return make("section", {},
      make("h4", {}, data.numbers ? "What moved the prediction" : "What moved the decision"),
      make("p", { class: "quiet" }, `Contributions to ${data.whose} ${data.meaning(output)}; from the base value they add up to ${totalText(score, output)}.${data.numbers && data.numbers.log ? " A contribution c is a factor of exp(c)." : ""}${data.contributionError ? " ± is the standard error." : ""}`),
      outputChoice(row, output),
      make("table", { class: "waterfall" },
        make("colgroup", {}, ...["names", "numbers", "charts"].map((kind) => make("col", { class: kind }))),
        make("thead", { class: "unseen" }, make("tr", {}, ...["Feature", "Contribution", "Chart"].map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {},
          line("base value", "", totalText(base, output), floating(start, base, scale, start), "quiet"),
          ...lines.map((one, i) => line(one.name, one.value, withError(one, output), floating(ends[i], ends[i + 1], scale, start), one.quiet ? "quiet" : "", one.filled)),
          line(data.numbers ? data.meaning(output) : "log-odds", "", totalText(score, output), floating(start, score, scale, start), "sum"))),
      data.columns.length > FIRST_FEATURES + 1
        ? make("button", { type: "button", class: "ghost", onclick: () => { allFeatures = !allFeatures; show(row); } },
          allFeatures ? "Show the strongest only" : `Show all ${data.columns.length} features`)
        : null);
  }

  function outputChoice(row, output) {
    if (data.binary) return null;
    const select = make("select", { id: "row-output", onchange: () => { shownOutput = Number(select.value); show(row); byId("row-output").focus(); } },
      ...data.outputs.map((name, position) => make("option", { value: position }, name + (!data.numbers && position === data.decision[row] ? " (decided)" : ""))));
    select.value = String(output);
    return make("p", { class: "control" }, make("label", { for: "row-output" }, data.numbers ? "Output" : "Class"), " ", select);
  }

  function rule(row) {
    const found = data.rule(row);
    if (!found) return null;
    const { conditions, covered, correct, precision, low, high, coverage } = found;
    const name = data.numbers ? `${data.numbers.name} ${found.decision}` : quote(found.decision);
    const [right, share] = data.rules.intervals ? ["are in this interval", "a share of"] : ["have this decision", "precision"];
    const parts = conditions.length
      ? make("ul", { class: "conditions" }, ...conditions.map((condition) => make("li", {}, condition)))
      : make("p", {}, "always");
    const measured = covered
      ? `${correct} of the ${covered} held-out rows that it covers ${right}: ${share} ${formatFixed(precision, 2)} (95 % interval ${formatFixed(low, 2)} to ${formatFixed(high, 2)}). It covers ${percent(coverage)} of ${countText(data.rules.n_rows, "held-out row")}.`
      : `It covers none of ${countText(data.rules.n_rows, "held-out row")}, so its precision is not known.`;
    const below = covered && precision < data.rules.wanted
      ? make("p", { class: "caution" }, `This is below the wanted ${data.rules.wanted}: treat the rule as a hint.`) : null;
    return make("section", {}, make("h4", {}, "Rule"),
      make("p", { class: "quiet" }, `The rule says ${name} for rows with`), parts, make("p", {}, measured), below);
  }

  function example(found) {
    const lines = found.changes.map(([name, before, after]) => make("tr", {},
      make("th", { scope: "row" }, name), make("td", { class: "number" }, before),
      make("td", { class: "to" }, make("span", { "aria-hidden": "true" }, "→")), make("td", { class: "number after" }, after)));
    return make("div", { class: "example" },
      make("table", { class: "changes" },
        make("thead", { class: "unseen" }, make("tr", {}, make("th", { scope: "col" }, "Feature"), make("th", { scope: "col" }, "From"), make("td", {}), make("th", { scope: "col" }, "To"))),
        make("tbody", {}, ...lines)),
      data.numbers ? make("p", {}, make("b", {}, found.answer)) : make("p", {}, make("b", {}, found.decision), ` with probability ${formatFixed(found.probability, 2)}`),
      make("p", { class: "quiet" }, `distance ${formatFixed(found.distance, 2)} from this row, ${formatFixed(found.plausibility, 2)} from the nearest training row (typical: ${formatFixed(data.counterfactuals.typical_distance, 2)}), in standard deviations`));
  }

  function counterfactual(row) {
    if (!data.counterfactuals) return null;
    const found = data.examples(row);
    const head = make("h4", {}, "What would have to change");
    if (!found) {
      const n = Object.keys(data.counterfactuals.examples).length;
      return make("section", {}, head, make("p", { class: "quiet" }, `Not searched: counterfactuals were searched for ${groupDigits(n)} of ${countText(data.n, "row")}, and this is not one of them.`));
    }
    if (!found.length) return make("section", {}, head, make("p", {}, `None was found: ${data.reason(row)}.`));
    return make("section", {}, head,
      make("p", { class: "quiet" }, data.counterfactuals.wish),
      ...found.map(example));
  }

  function show(row) {
    const parts = [...headline(row), trust(row), waterfall(row), rule(row), counterfactual(row)];
    panel.replaceChildren(...parts.filter(Boolean));
  }

  return {
    start(onStep) {
      step = onStep;
    },
    show(row) {
      if (!data.binary) shownOutput = null;
      show(row);
    },
    panel,
  };
})();
