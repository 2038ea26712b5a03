"""The HTTP service, with the same numbers as the library."""
