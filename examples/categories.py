"""Categories and missing values: text, codes and gaps in one frame.

Loan requests with numbers, missing ones too, a boolean, text and codes of regions. The explainer takes
the frame as it is and answers with one contribution per column.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import illume

rng = np.random.default_rng(0)
n = 600
X = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "income": rng.normal(30, 10, n).round(1),
        "owner": rng.random(n) < 0.4,
        "education": rng.choice(["low", "middle", "high"], n),
        "region": rng.choice([10, 20, 31], n),
    }
)
X.loc[::17, "income"] = np.nan
X.loc[5::23, "education"] = None
score = X["income"].fillna(25) + 9 * (X["education"] == "high") - 6 * (X["region"] == 31) - 0.2 * X["age"]
y = np.where(score > 20, "grant", "refuse")

to_numbers = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
encode = make_column_transformer((to_numbers, ["education", "region"]), remainder="passthrough")
model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=50, random_state=0)).fit(X, y)

# %%
# `region` holds numbers that are codes, and the explainer cannot know; all else it sees for itself.
explainer = illume.Explainer(model, categorical=["region"]).fit(X)
for feature in explainer.schema_.features:
    print(feature.name, feature.kind.value, list(feature.categories))

# %%
# The Pipeline is read: one contribution for each of your columns, exact. Row 17 has no income. That it is
# missing has a contribution of its own.
attributions = explainer(X)
print(attributions[17])

# %%
# A missing category is a category of its own: row 5 has no education.
print(attributions[5])

# %%
# In pictures, categories stand side by side and missing numbers in a band of their own.
illume.plots.dependence(attributions, "education", colour=None)

# %%
illume.plots.dependence(attributions, "income", colour="education")

# %%
# A category that was never seen is an error that names it, unless you ask for `unknown="ignore"`.
try:
    explainer(X[:1].assign(education="doctor"))
except illume.errors.SchemaError as error:
    print(error)
