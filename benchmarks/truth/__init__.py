"""How near contributions come to the Shapley values of the model's log-odds, and at what cost."""
