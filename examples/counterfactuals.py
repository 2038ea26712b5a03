"""Counterfactuals: what would have to change, under constraints.

Every example is put to the model before it is returned, and changes as few features as it can.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import illume

rng = np.random.default_rng(2)
n = 600
X = pd.DataFrame(
    {
        "age": rng.integers(18, 75, n),
        "income": rng.normal(35, 12, n).round(1),
        "debt": rng.gamma(2, 4, n).round(1),
        "years_employed": rng.integers(0, 30, n),
    }
)
y = np.where(X["income"] - 1.5 * X["debt"] + 0.5 * X["years_employed"] > 25, "grant", "refuse")
model = RandomForestClassifier(50, random_state=0).fit(X, y)
explainer = illume.Explainer(model, surrogate_options=illume.SurrogateOptions(n_latents=4)).fit(X)
refused = X[model.predict(X) == "refuse"]

# %%
# Free to change anything, even the age.
found = explainer.counterfactuals(refused[:20], n=2)
print(found[0])

# %%
# A person cannot get younger, nor change how long they were employed. The income may rise to 60 at most.
found = explainer.counterfactuals(
    refused[:20],
    n=2,
    desired_class="grant",
    features_to_vary=["income", "debt"],
    permitted_range={"income": [0, 60]},
    max_changes=2,
)
print(found[0])
illume.plots.counterfactual(found[0])

# %%
# Examples lie close to the boundary. Ask for surer ones:
surer = explainer.counterfactuals(refused[:20], n=1, features_to_vary=["income", "debt"], min_probability=0.8)
print(surer[0].examples[0])

# %%
# As a table, with a line per change; and as whole rows, ready for the model.
print(found.to_frame("long").head(4).to_string())
print(model.predict(found.examples[X.columns])[:4])

# %%
# Rows for which nothing was found say why.
hard = explainer.counterfactuals(refused[:20], features_to_vary=["years_employed"], desired_class="grant")
print(hard.found.sum(), "of", len(hard), "rows;", next(reason for reason in hard.reasons if reason))
