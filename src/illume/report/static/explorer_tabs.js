// Tabs: one part of the page at a time, all of them on paper.

import { make } from "./text.js";

/** Show parts {name, panel} one at a time; `onShow` hears which is shown. */
export function createTabs(parts, onShow) {
  const buttons = parts.map(({ name, panel }, at) => {
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", name);
    return make("button", { type: "button", role: "tab", onclick: () => show(at) }, name);
  });
  const list = make("div", { role: "tablist", class: "tabs", "aria-label": "Parts of this page" }, ...buttons);
  let shown = 0;

  function show(at) {
    shown = at;
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === at));
      button.tabIndex = i === at ? 0 : -1;
      parts[i].panel.hidden = i !== at;
    });
    onShow(at);
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = step ? (shown + step + parts.length) % parts.length : { Home: 0, End: parts.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
    buttons[to].focus();
  });
  return {
    list,
    show,
    get shown() { return shown; },
    rename: (at, name) => { buttons[at].textContent = name; },
    /** Show all parts at once, or again one at a time. */
    unfold(all) {
      parts.forEach(({ panel }, i) => { panel.hidden = !all && i !== shown; });
    },
  };
}
