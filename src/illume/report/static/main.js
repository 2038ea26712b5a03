// Connect the parts of the page.

(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 60rem)");
  const theme = byId("theme");
  const isDark = () => {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : dark.matches;
  };

  function choose(row, { scroll = true } = {}) {
    table.select(row);
    rowMap.choose(row);
    rowPanel.show(row);
    byId("said").textContent = `Row ${data.label(row)} is shown: ${data.answer(row)}`;
    if (scroll && narrow.matches) rowPanel.panel.scrollIntoView({ block: "start" });
  }

  const showImportance = startImportance();
  byId("map-legend").replaceChildren(...classLegend(data.status.some((status) => status > 0)));

  const redraw = () => {
    showImportance();
    rowMap.show();
  };
  const label = () => {
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
    redraw();
  });
  dark.addEventListener("change", () => {
    label();
    redraw();
  });
  let before;
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = before;
    for (const details of closed) details.open = false;
    redraw();
  });
  let wait = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(wait);
    wait = setTimeout(redraw, 120);
  });

  data.classes.forEach((name, position) => byId("by-decision").append(make("option", { value: position }, name)));
  byId("by-example-box").hidden = !data.counterfactuals;
  const controls = { find: "find", "by-decision": "decision", "by-status": "status", "by-trust": "trust", "by-example": "example" };
  for (const [id, name] of Object.entries(controls)) {
    byId(id).addEventListener(id === "find" ? "input" : "change", () => table.filter(name, byId(id).value));
  }
  byId("reset").addEventListener("click", () => {
    for (const id of Object.keys(controls)) byId(id).value = "";
    table.reset();
  });

  label();
  rowMap.show();
  rowPanel.start((row, by) => choose(table.neighbour(row, by), { scroll: false }));
  table.start(choose, (mask) => rowMap.only(mask));
  startPicking(choose);
  choose(0, { scroll: false });
})();
