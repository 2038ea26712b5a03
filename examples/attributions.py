"""Attributions: what moved each decision.

A gradient-boosting model of breast cancer, 569 rows and 30 numbers. Which measurements moved one decision,
which matter over all rows, and how far can one believe it?
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import illume

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1)
model = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)

# %%
# Settings are smaller than the default here, to be quick: less effort, a given number of latents, and 20,000
# synthetic rows that the model is queried about.
explainer = illume.Explainer(
    model, effort="quick", queries=20_000, surrogate_options=illume.SurrogateOptions(n_latents=4)
).fit(X_train)
attributions = explainer(X_test)
print(attributions[0])

# %%
# Contributions are Shapley values of the model, with standard errors. With the base value they add up to the
# model's log-odds. As a picture:
illume.plots.waterfall(attributions[0])

# %%
# Over all rows: one dot per row and feature.
illume.plots.beeswarm(attributions, n_features=8)

# %%
# Which features act together?
interactions = explainer.interactions(X_test)
illume.plots.interactions(interactions, max_features=8)

# %%
# One feature: its value to the right, its contribution upwards, coloured by its strongest partner.
illume.plots.dependence(attributions, "worst perimeter", colour=interactions)

# %%
# A row that matters: at most 128 more questions to the model make its standard errors smaller.
print(explainer(X_test[:1], refine=128)[0])

# %%
# How far to trust it: measured on rows that were not used to learn or to choose anything.
print(explainer.quality_)
illume.plots.quality(attributions, measured=explainer.quality_)
