"""Pictures of results: each takes a result and an `ax`, draws, and returns the `ax`."""
