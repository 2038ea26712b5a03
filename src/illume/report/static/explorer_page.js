// The explorer as a page of its own, with a switch between light and dark, and printing.

import { createExplorer } from "./explorer.js";
import { expandText } from "./squeezed.js";
import { startTheme } from "./theme.js";

/** Start the explorer of this page; `connect` makes the live model of its data. */
export async function startExplorer(connect = () => null) {
  const source = document.getElementById("data");
  const payload = JSON.parse(await expandText(source.textContent));
  source.remove();
  const explorer = await createExplorer(document.getElementById("explorer"), payload, { live: connect(payload) });
  window.addEventListener("beforeprint", () => explorer.unfold(true));
  startTheme(document.getElementById("theme"), explorer.redraw);
  window.addEventListener("afterprint", () => explorer.unfold(false));
}
