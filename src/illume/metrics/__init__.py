"""Figures of how good explanations are."""
