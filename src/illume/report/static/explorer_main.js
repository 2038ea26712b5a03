// Start the explorer of a page.

import { createExplorer } from "./explorer.js";
import { startTheme } from "./theme.js";

async function startPage() {
  const source = document.getElementById("data");
  const payload = JSON.parse(source.textContent);
  source.remove();
  const explorer = await createExplorer(document.getElementById("explorer"), payload);
  window.addEventListener("beforeprint", () => explorer.unfold(true));
  startTheme(document.getElementById("theme"), explorer.redraw);
  window.addEventListener("afterprint", () => explorer.unfold(false));
}

startPage();
