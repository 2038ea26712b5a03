// Light and dark, printing, and windows of another width: whatever needs all pictures drawn again.

/** Let a button switch between light and dark, and call `redraw` whenever colours or widths change. */
export function startTheme(button, redraw) {
  const page = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (page.dataset.theme ? page.dataset.theme === "dark" : dark.matches);
  const label = () => button.setAttribute("aria-pressed", String(isDark()));
  const update = () => {
    label();
    redraw();
  };
  button.addEventListener("click", () => {
    page.dataset.theme = isDark() ? "light" : "dark";
    update();
  });
  dark.addEventListener("change", update);

  let before;
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
    before = page.dataset.theme;
    page.dataset.theme = "light";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete page.dataset.theme;
    else page.dataset.theme = before;
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
  label();
}
