"""Measurements of illume; they import the library, never the reverse."""
