"""Frames in: what the columns mean, how they become numbers, and the black box that answers them."""
