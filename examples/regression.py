"""Regression: what a house costs, why, and what would make it cost more.

Generated houses with numbers and categories, and a gradient-boosting model of their prices. Contributions
are in euros, rules end in intervals of prices, and counterfactuals reach a price that you name.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import illume

rng = np.random.default_rng(0)
n = 2_400
X = pd.DataFrame(
    {
        "area": rng.normal(110, 30, n).clip(40, 250).round(),
        "rooms": rng.integers(2, 8, n),
        "age": rng.integers(0, 100, n),
        "place": rng.choice(["village", "suburb", "city"], n, p=[0.3, 0.4, 0.3]),
        "garden": rng.random(n) < 0.5,
    }
)
per_m2 = X["place"].map({"village": 1_400, "suburb": 2_000, "city": 3_100})
price = X["area"] * per_m2 * (1.1 - 0.004 * X["age"]) + 6_000 * X["rooms"] + 20_000 * X["garden"]
price += rng.normal(0, 12_000, n)

to_numbers = make_column_transformer((OneHotEncoder(sparse_output=False), ["place"]), remainder="passthrough")
model = make_pipeline(to_numbers, HistGradientBoostingRegressor(max_iter=100, random_state=0))
model.fit(X[:1_200], price[:1_200])
rest = X[1_200:]  # rows that the model was not trained on

# %%
# The explainer sees for itself that the model answers with a number; `output_names` says what to call it.
options = illume.DataOptions(output_names=["price"])
explainer = illume.Explainer(model, data_options=options).fit(rest)
print(explainer.quality_)

# %%
# Contributions are in euros. With the base value, the mean prediction, they add up to the prediction.
attributions = explainer(rest)
print(attributions[0])
print(np.abs(attributions.base_values + attributions.values.sum(1) - model.predict(rest)).max() < 1e-6)

# %%
illume.plots.waterfall(attributions[0])

# %%
# What a square metre is worth depends on the place.
illume.plots.dependence(attributions, "area", colour="place")

# %%
# A rule ends in an interval. It is made to hold 90 % of the predictions for the houses that the rule covers;
# how many it holds is measured on held-out rows.
rules = explainer.rules(rest)
print(repr(rules[0]))
print(rules.interval[0], model.predict(rest[:1]))
illume.plots.rule(rules[0], rest)

# %%
# With a threshold, the same explainer answers another question: when is the price below 300,000?
print(repr(explainer.rules(rest, threshold=300_000)[0]))

# %%
# What would have to change for a price from 300,000 to 350,000? The place stays as it is.
found = explainer.counterfactuals(
    rest[:50], n=2, desired_range=[300_000, 350_000], features_to_vary=["area", "rooms", "age", "garden"]
)
print(found)

# %%
# Or for 15,000 more than now, whatever that is.
more = explainer.counterfactuals(rest[:50], n=1, desired_change=15_000)
print(more[0])
