// The table of rows: search, sort, filter, pages, keys.

import { once } from "./packed.js";
import { alignNumber, countText, decimalsOf, finder, formatFixed, formatGrouped, groupDigits, make, quote } from "./text.js";

const PAGE_ROWS = 20;
const CONTROLS = { find: "find", "by-decision": "decision", "by-right": "right", "by-trust": "trust", "by-example": "example" };

/** Show the table below `root`; tell which row was chosen, and which rows the filters leave as a mask. */
export function createTable(root, data, onChoose, onFilter) {
  const byId = finder(root);
  const grid = byId("table");
  const [head, body] = [grid.tHead, grid.tBodies[0]];
  const numberColumn = (name, key, numbers, show) => ({ name, key: (row) => numbers[row], show, number: true, title: key });
  const columns = [
    { name: "Row", show: data.label, key: data.numbered ? (row) => Number(data.label(row)) : data.label, number: data.numbered, first: true },
    ...answerColumns(),
    ...truthColumns(),
    { name: "Trust", title: "How far the row's contributions can be trusted", show: data.trustWord, key: data.trustLevel, trust: true },
    ...(data.contributionError ? [numberColumn("±", "Typical error of the row's contributions", data.contributionError, (row) => (data.outputs.length > 1 ? formatFixed(data.contributionError[row]) : data.sizeText(data.contributionError[row], 0)))] : []),
    ...data.columns.map((column, feature) => ({
      name: column.unit ? `${column.name} [${column.unit}]` : column.name,
      title: column.column,
      feature: true,
      number: !column.categories,
      show: column.categories ? (row) => data.text(row, feature) : alignedColumn(column),
      key: (row) => column.values()[row],
    })),
  ];
  /** The model's answer: a class with its probability, or a number. */
  function answerColumns() {
    if (data.numbers) {
      const { name, answer_decimals: digits } = data.numbers;
      return [{ ...numberColumn("Prediction", `The model's ${name}`, data.probability, (row) => formatGrouped(data.probability[row], digits)), answer: true }];
    }
    return [
      { name: "Decision", show: (row) => data.classes[data.decision[row]], key: (row) => data.decision[row], answer: true },
      probabilityColumn(),
    ];
  }
  /** The true answer, if labels were given. */
  function truthColumns() {
    if (!data.truth) return [];
    if (data.numbers) {
      const { name, answer_decimals: digits } = data.numbers;
      return [numberColumn("Actual", `The true ${name}`, data.truth, (row) => formatGrouped(data.truth[row], digits))];
    }
    return [{ name: "True", title: "The true class", show: (row) => data.classes[data.truth[row]], key: (row) => data.truth[row], truth: true }];
  }
  /** Probabilities of the positive class, which the head names, or else of the decided one. */
  function probabilityColumn() {
    const { towardsPositive, classes, positive } = data;
    const numbers = towardsPositive ?? data.probability;
    const title = `The model's probability of ${towardsPositive ? quote(classes[positive]) : "the decision"}`;
    return numberColumn(towardsPositive ? `Prob. ${classes[positive]}` : "Prob.", title, numbers, (row) => formatFixed(numbers[row]));
  }
  function alignedColumn(column) {
    const decimals = once(() => decimalsOf(column.values()));
    return (row) => alignNumber(column.values()[row], decimals());
  }
  const filters = { find: "", decision: "", right: "", trust: "", example: "" };
  let sorted = { column: -1, down: false }; // as given, until a column is chosen
  let order = [...Array(data.n).keys()];
  let kept = order;
  let page = 0;
  let focused = 0; // a position among the kept rows
  let chosen = -1;
  let brushed = null; // the rows that the map leaves, as a mask

  const searchTexts = once(() => {
    const texts = new Array(data.n);
    for (let row = 0; row < data.n; row += 1) texts[row] = columns.map((column) => column.show(row)).join("\n").toLowerCase();
    return texts;
  });

  function sort() {
    const { key, number } = columns[sorted.column];
    const keys = Array.from({ length: data.n }, (_, row) => key(row));
    const compare = number || typeof keys[0] === "number"
      ? (a, b) => (Number.isNaN(keys[a]) - Number.isNaN(keys[b])) || keys[a] - keys[b] // missing ones last
      : (a, b) => keys[a].localeCompare(keys[b], undefined, { numeric: true });
    const missing = (row) => typeof keys[row] === "number" && Number.isNaN(keys[row]);
    const sign = sorted.down ? -1 : 1;
    order = [...Array(data.n).keys()].sort((a, b) =>
      (missing(a) || missing(b) ? missing(a) - missing(b) : sign * compare(a, b)) || a - b);
  }

  const tests = {
    decision: (row, wanted) => data.decision[row] === Number(wanted),
    right: (row, wanted) => data.right(row) === (wanted === "right"),
    trust: (row, wanted) => Boolean(data.low[row]) === (wanted === "low"),
    example: (row) => (data.examples(row) || []).length > 0,
  };

  function filter() {
    const words = filters.find.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = words.length ? searchTexts() : null;
    const active = Object.keys(tests).filter((name) => filters[name] !== "");
    kept = order.filter((row) =>
      (!brushed || brushed[row]) && active.every((name) => tests[name](row, filters[name])) && (!texts || words.every((word) => texts[row].includes(word))));
    const named = filters.find.trim().toLowerCase();
    if (named) kept = [true, false].flatMap((exact) => kept.filter((row) => (data.label(row).toLowerCase() === named) === exact));
    const all = kept.length === data.n;
    let mask = null;
    if (!all) {
      mask = new Uint8Array(data.n);
      for (const row of kept) mask[row] = 1;
    }
    focused = 0;
    page = 0;
    onFilter(mask);
    show();
  }

  function showHead() {
    const cells = columns.map((column, position) => {
      const now = sorted.column === position;
      const direction = now ? (sorted.down ? "descending" : "ascending") : "none";
      const arrow = now ? make("span", { class: "arrow", "aria-hidden": "true" }, sorted.down ? "▼" : "▲") : null;
      const button = make("button", { type: "button", title: column.title || column.name, onclick: () => sortBy(position) },
        make("span", { class: "head-name" }, column.name), arrow);
      const kinds = [column.number ? "number" : "", column.first ? "first" : "", column.feature ? "feature" : ""];
      return make("th", { scope: "col", role: "columnheader", "aria-sort": direction, class: kinds.join(" ").trim() }, button);
    });
    head.replaceChildren(make("tr", { role: "row", "aria-rowindex": 1 }, ...cells));
  }

  function sortBy(position) {
    sorted = { column: position, down: sorted.column === position ? !sorted.down : false };
    sort();
    filter();
    showHead();
    head.rows[0].cells[position].firstChild.focus();
  }

  function cell(column, row) {
    const kinds = [column.number ? "number" : "", column.feature ? "feature" : ""];
    const text = column.show(row);
    if (column.first) return make("th", { scope: "row", role: "rowheader", class: "first" }, text);
    const element = make("td", { role: "gridcell", class: kinds.join(" ").trim() }, text);
    if (text.length > 24) element.title = text;
    if (column.answer) element.prepend(data.swatch(data.decision[row]));
    if (column.truth && !data.right(row)) {
      element.classList.add("disagrees");
      element.title = "The model decides otherwise";
    }
    if (column.trust && data.low[row]) element.replaceChildren(make("span", { class: "low-mark", title: data.lowWords(row) }, text));
    return element;
  }

  function show() {
    const start = page * PAGE_ROWS;
    const rows = kept.slice(start, start + PAGE_ROWS).map((row, i) => make("tr", {
      role: "row",
      tabindex: start + i === focused ? 0 : -1,
      "aria-rowindex": start + i + 2,
      "aria-selected": row === chosen,
      "data-row": row,
    }, ...columns.map((column) => cell(column, row))));
    if (!rows.length) rows.push(make("tr", { role: "row" }, make("td", { role: "gridcell", colspan: columns.length, class: "empty" }, "No row matches. Reset the filters to see all.")));
    body.replaceChildren(...rows);
    grid.setAttribute("aria-rowcount", kept.length + 1);
    grid.setAttribute("aria-colcount", columns.length);
    const pages = Math.max(Math.ceil(kept.length / PAGE_ROWS), 1);
    byId("page-now").textContent = `Page ${groupDigits(page + 1)} of ${groupDigits(pages)}`;
    byId("first").disabled = byId("back").disabled = page === 0;
    byId("last").disabled = byId("next").disabled = page >= pages - 1;
    const of = kept.length === data.n ? "" : ` of ${groupDigits(data.n)}`;
    byId("shown").textContent = kept.length
      ? `${countText(kept.length, "row")}${of}, ${groupDigits(start + 1)} to ${groupDigits(Math.min(start + PAGE_ROWS, kept.length))} shown`
      : `No row of ${groupDigits(data.n)} matches`;
  }

  function turn(to) {
    const pages = Math.max(Math.ceil(kept.length / PAGE_ROWS), 1);
    page = Math.min(Math.max(to, 0), pages - 1);
    focused = page * PAGE_ROWS;
    show();
  }

  function focus(position) {
    if (!kept.length) return;
    focused = Math.min(Math.max(position, 0), kept.length - 1);
    page = Math.floor(focused / PAGE_ROWS);
    show();
    body.rows[focused % PAGE_ROWS].focus();
  }

  function press(event) {
    if (!event.target.closest("tbody tr")) return;
    const box = byId("table-box");
    const moves = {
      ArrowDown: () => focus(focused + 1),
      ArrowUp: () => focus(focused - 1),
      PageDown: () => focus(focused + PAGE_ROWS),
      PageUp: () => focus(focused - PAGE_ROWS),
      Home: () => focus(0),
      End: () => focus(kept.length - 1),
      ArrowRight: () => box.scrollBy({ left: 120 }),
      ArrowLeft: () => box.scrollBy({ left: -120 }),
      Enter: () => onChoose(kept[focused]),
      " ": () => onChoose(kept[focused]),
    };
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  function listen() {
    grid.addEventListener("keydown", press);
    body.addEventListener("click", (event) => {
      const line = event.target.closest("tr[data-row]");
      if (line) onChoose(Number(line.dataset.row));
    });
    byId("first").addEventListener("click", () => turn(0));
    byId("back").addEventListener("click", () => turn(page - 1));
    byId("next").addEventListener("click", () => turn(page + 1));
    byId("last").addEventListener("click", () => turn(Infinity));
    for (const [id, name] of Object.entries(CONTROLS)) {
      byId(id).addEventListener(id === "find" ? "input" : "change", () => {
        filters[name] = byId(id).value;
        filter();
      });
    }
    byId("reset").addEventListener("click", () => {
      for (const [id, name] of Object.entries(CONTROLS)) filters[name] = byId(id).value = "";
      brushed = null;
      filter();
    });
  }

  byId("by-example-box").hidden = !data.counterfactuals;
  byId("by-right-box").hidden = !data.truth || Boolean(data.numbers);
  listen();
  showHead();
  show();

  return {
    /** Mark a row as chosen and go to its page, unless it is filtered out. */
    select(row) {
      const hadFocus = body.contains(grid.getRootNode().activeElement);
      chosen = row;
      const position = kept.indexOf(row);
      if (position >= 0) {
        focused = position;
        page = Math.floor(position / PAGE_ROWS);
      }
      show();
      if (hadFocus && position >= 0) body.rows[focused % PAGE_ROWS].focus();
    },
    /** Keep only the rows of a mask, besides what the filters leave. */
    only(mask) {
      brushed = mask;
      filter();
    },
    /** The row `step` lines after another among the filtered rows. */
    neighbour(row, step) {
      const position = kept.indexOf(row);
      if (position < 0) return kept.length ? kept[0] : row;
      return kept[Math.min(Math.max(position + step, 0), kept.length - 1)];
    },
  };
}
