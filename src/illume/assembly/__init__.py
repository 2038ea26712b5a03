"""From a frame of rows to results, a piece at a time."""
