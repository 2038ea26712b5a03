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
# Boosted trees are read, so contributions are exact, and ready in about a second.
explainer = illume.Explainer(model).fit(X_train)
attributions = explainer(X_test)
print(attributions[0])

# %%
# Contributions are Shapley values of the model. With the base value they add up to its log-odds. A picture:
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
# Compared with other rows: why malignant, beside the benign tumours?
print(explainer(X_test[:1], background=X_train[y_train == "benign"])[0])

# %%
# The same model as a function cannot be read. It is learned, and contributions have standard errors; at most
# 128 more questions to the model make those of a row that matters smaller. Few queries, to be quick.
learned = illume.Explainer(model.predict_proba, twin="learned", effort="quick", queries=20_000).fit(X_train)
print(learned(X_test[:1], refine=128)[0])

# %%
# How far to trust it: measured on rows that were not used to learn or to choose anything.
print(learned.quality_)
illume.plots.quality(learned(X_test), measured=learned.quality_)
