"""Containers for plain things: JSON values, arrays, columns of frames, and hashed files of these."""
