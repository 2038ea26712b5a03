"""How close contributions are to the Shapley values of the model's log-odds, and their cost."""
