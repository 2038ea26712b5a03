// Start the explorer of a file.

import { startExplorer } from "./explorer_page.js";

startExplorer();
