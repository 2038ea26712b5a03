"""Your own figures: metrics for the explanations of any method.

The metrics are functions of plain arrays, so that they can judge illume, another package, or an idea of
yours by the same measure.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import illume
from illume import metrics

data = load_wine(as_frame=True)
X, y = data.data, data.target == 1
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)
paper = {"contributions": "pullback", "queries": 2_000}  # slopes times inputs, as in the paper
options = illume.SurrogateOptions(n_latents=4)
local = illume.Explainer(model, surrogate_options=options, **paper).fit(X_train)
options = illume.SurrogateOptions(encoder="identity")
whole = illume.Explainer(model, surrogate_options=options, **paper).fit(X_train)

# %%
# Robustness: do close rows of one decision get close explanations? Faithfulness: do rows that are
# explained alike get alike probabilities? 1 is best for both. `identity` is one linear model for all rows.
scaled = ((X_test - X_train.mean()) / X_train.std()).to_numpy()
for name, explainer in {"local": local, "global": whole}.items():
    explained = explainer(X_test)
    steady = metrics.robustness(explained.values, scaled, explained.decisions)
    faithful = metrics.faithfulness(explained.values, explained.probabilities)
    print(f"{name:6} robustness {steady:.2f}  faithfulness {faithful:.2f}")

# %%
# Fidelity of the surrogate on rows that neither model has seen.
explained = local(X_test)
agree = metrics.agreement(explained.probabilities, explained.surrogate_probabilities)
r2 = metrics.r_squared(explained.probabilities, explained.surrogate_probabilities)
print(f"agreement {agree:.2f}, R² {r2:.2f}")

# %%
# A figure of your own is a function of the same arrays. How many features carry nine tenths of
# an explanation?
share = -np.sort(-np.abs(explained.values), axis=1)
needed = (share.cumsum(1) < 0.9 * share.sum(1, keepdims=True)).sum(1) + 1
print(f"nine tenths are carried by {needed.mean():.1f} of {X.shape[1]} features")
