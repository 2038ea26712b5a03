"""Speed of illume and other explainers on the same models and rows, and how its cost grows."""
