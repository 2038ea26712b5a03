"""Shapley values of any model: a network learns the model on mixed rows, a second one learns its values."""
