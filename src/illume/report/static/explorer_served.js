// Start the explorer of a service, which asks the service's model.

import { connectService } from "./explorer_service.js";
import { startExplorer } from "./explorer_page.js";

startExplorer(connectService);
