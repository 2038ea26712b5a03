"""Readable models of the black box over latents."""
