"""One file for an explainer: JSON and plain arrays in a zip, hashed, without pickle."""
