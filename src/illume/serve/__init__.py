"""The service: explanations over HTTP, with the same numbers as the library."""
