"""From rows to maps and latents; torch trains, NumPy explains."""
