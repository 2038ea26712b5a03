"""Speed: illume and its peers side by side, on the same models and rows, in one run."""
