"""Pure functions from maps, latents and surrogates to explanations."""
