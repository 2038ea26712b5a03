"""Latents: the map on which the surrogate decides, and one row on its way through.

Every row gets a linear map of its own, W(x). Its latents z = W(x) x lie where a linear surrogate can tell the
decisions apart. With two latents, one can look at them.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import illume

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(700, 5)), columns=["heat", "light", "water", "wind", "soil"])
y = np.where(X["heat"] * X["water"] + X["light"] > 0.3, "grows", "fails")
model = RandomForestClassifier(50, random_state=0).fit(X, y)
explainer = illume.Explainer(model, surrogate_options=illume.SurrogateOptions(n_latents=2)).fit(X)
quality = explainer.fit_latents().quality_.surrogate
print(f"agreement {quality.agreement:.2f}; one linear model for all rows: {quality.baseline.agreement:.2f}")
latents = explainer.latents(X, maps=True)
print(latents)

# %%
# Colours are the model's decisions, shades the surrogate's regions; a ring marks a row that the two decide
# differently.
illume.plots.latent_map(latents, highlight=[0])

# %%
# Row 0 on its way: A the row, F its own map, D its latents, E the surrogate's weights, C the explanation, B
# what the model and the surrogate say.
illume.plots.exemplification(latents[0], n_inputs=8)

# %%
# The map alone, with the surrogate's weights beneath.
illume.plots.row_map(latents[0], n_inputs=10)

# %%
# What the picture says, by hand: the latents are the map times the inputs, the log-odds their weighted sum.
z = latents.maps[0] @ latents.X[0]
log_odds = z @ latents.coefficients[0] + latents.intercept[0]
print(np.allclose(z, latents.Z[0]), np.allclose(log_odds, latents.scores[0]))
