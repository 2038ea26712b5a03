"""Fitting an explainer: read and split rows, ask the model, train, choose and measure."""
