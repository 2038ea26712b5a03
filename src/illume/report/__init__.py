"""Reports: one self-contained HTML file about the rows of a frame."""
