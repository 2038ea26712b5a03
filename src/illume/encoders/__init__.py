"""From rows to maps and latents; torch begins and ends here."""
