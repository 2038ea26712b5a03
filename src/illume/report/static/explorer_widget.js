// The explorer in a notebook: in a shadow root, with the kernel's model behind it and its row shared with Python.

import { createExplorer } from "./explorer.js";
import { make } from "./text.js";

const QUIET = 150; // milliseconds without a change before Python hears of the row
const PATIENCE = 60_000; // milliseconds until the kernel is said not to answer

/** The live model of the kernel behind `model`, and a function that stops listening. */
function connectKernel(model, view) {
  const open = new Map();
  let asked = 0;
  const hear = ({ id, answers, problem }) => {
    if (!open.has(id)) return;
    const { resolve, reject, late } = open.get(id);
    open.delete(id);
    clearTimeout(late);
    if (problem === undefined) resolve(answers);
    else reject(new Error(problem));
  };
  model.on("msg:custom", hear);
  const ask = (rows) => new Promise((resolve, reject) => {
    asked += 1;
    const id = `${view}-${asked}`;
    const late = setTimeout(() => hear({ id, problem: "the kernel has not answered; it may be busy or gone" }), PATIENCE);
    open.set(id, { resolve, reject, late });
    model.send({ id, rows });
  });
  return { live: { ask }, disconnect: () => model.off("msg:custom", hear) };
}

/** Whether what is behind an element is dark, whatever the notebook is. */
function isOnDark(element) {
  for (let at = element; at; at = at.parentElement || at.getRootNode().host) {
    const [red, green, blue, alpha = 1] = getComputedStyle(at).backgroundColor.match(/[\d.]+/g).map(Number);
    if (alpha > 0) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Let colours follow the notebook's, and pictures the width; returns a function that stops it. */
function followNotebook(host, redraw) {
  let wait = 0;
  const update = () => {
    if (!host.clientWidth) return;
    host.dataset.theme = isOnDark(host.parentElement || host) ? "dark" : "light";
    redraw();
  };
  const soon = () => {
    clearTimeout(wait);
    wait = setTimeout(update, 200); // style sheets of another theme are loaded by then
  };
  const sizes = new ResizeObserver(soon);
  sizes.observe(host);
  const themes = new MutationObserver(soon);
  for (const element of [document.documentElement, document.body]) themes.observe(element, { attributes: true });
  update();
  return () => {
    clearTimeout(wait);
    sizes.disconnect();
    themes.disconnect();
  };
}

/** Share the row with Python: the trait _row is {row, values, by, turn}, and Python counts its turns. */
function shareRow(model, view, load) {
  let turn = model.get("_row").turn;
  let wait = 0;
  const hear = () => {
    const next = model.get("_row");
    if (next.by !== "python" || next.turn <= turn) return; // what this or another view said, or an echo
    turn = next.turn;
    clearTimeout(wait);
    load(next.row, next.values);
  };
  model.on("change:_row", hear);
  return {
    tell({ row, values }) {
      clearTimeout(wait);
      if (JSON.stringify(values) === JSON.stringify(model.get("_row").values) && row === model.get("_row").row) return;
      wait = setTimeout(() => {
        model.set("_row", { row, values, by: view, turn });
        model.save_changes();
      }, QUIET);
    },
    stop() {
      clearTimeout(wait);
      model.off("change:_row", hear);
    },
  };
}

/** Show the explorer of a widget's model in `el`, as anywidget asks; returns what removes it. */
export async function renderWidget({ model, el }) {
  const view = Math.random().toString(36).slice(2);
  // Keys that are pressed here are not the notebook's.
  const host = make("div", { class: "illume-explorer", "data-lm-suppress-shortcuts": "true" });
  const root = host.attachShadow({ mode: "open" });
  const body = make("div", { class: "explorer notebook" });
  root.append(make("style", {}, model.get("_style")), body);
  el.append(host);
  for (const kind of ["keydown", "keyup", "keypress"]) host.addEventListener(kind, (event) => event.stopPropagation());

  const kernel = model.get("_live") ? connectKernel(model, view) : { live: null, disconnect() {} };
  let explorer = null;
  const shared = shareRow(model, view, (row, values) => explorer.state.load(row, values));
  explorer = await createExplorer(body, JSON.parse(model.get("_page")), {
    live: kernel.live,
    onRow: shared.tell,
    start: model.get("_row"),
    onScenarios(text) {
      model.set("_scenarios", text);
      model.save_changes();
    },
  });
  const stopFollowing = followNotebook(host, explorer.redraw);
  return () => {
    stopFollowing();
    shared.stop();
    kernel.disconnect();
    host.remove();
  };
}
