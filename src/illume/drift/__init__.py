"""New rows held against those that an explainer was fitted on."""
