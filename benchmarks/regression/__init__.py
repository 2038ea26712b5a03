"""Regression: contributions, rules, counterfactuals and speed for models that answer with a number."""
