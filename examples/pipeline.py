"""A Pipeline: explained in the columns that go in.

The Pipeline scales, imputes and encodes. What is explained is the whole of it, so contributions are about
your own columns, not about those that the last step sees.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import illume

rng = np.random.default_rng(1)
n = 500
X = pd.DataFrame(
    {
        "hours": rng.gamma(2, 4, n).round(1),
        "distance": rng.gamma(3, 5, n).round(1),
        "contract": rng.choice(["fixed", "open", "trainee"], n, p=[0.3, 0.6, 0.1]),
    }
)
X.loc[::29, "distance"] = np.nan
leaves = (X["hours"] > 12) & (X["distance"].fillna(15) > 10) | (X["contract"] == "trainee")
y = np.where(leaves, "leaves", "stays")

numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer(
    (numbers, make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), ["contract"]),
)
model = make_pipeline(columns, MLPClassifier((32,), max_iter=800, random_state=0)).fit(X, y)
print(model.score(X, y))

# %%
# A network is learned, from few queries here, to be quick.
explainer = illume.Explainer(
    model, queries=2_000, surrogate_options=illume.SurrogateOptions(n_latents=4)
).fit(X)
attributions = explainer(X)
print(attributions.feature_names)
print(attributions[0])

# %%
# `hours` matters only for those who live far away: colour shows it.
illume.plots.dependence(attributions, "hours", colour="distance")

# %%
# The model may also be a function from a frame to probabilities.
as_function = illume.Explainer(
    lambda frame: model.predict_proba(frame)[:, 1],
    queries=500,
    surrogate_options=illume.SurrogateOptions(n_latents=4, training=illume.Training(max_epochs=10)),
    data_options=illume.DataOptions(class_names=["leaves", "stays"]),
).fit(X)
print(as_function(X[:1])[0].decision)
