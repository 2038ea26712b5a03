"""The evaluation of the paper: which cells, their scores, tables, figures and page."""
