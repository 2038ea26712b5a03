"""Beside SHAP: the same row by two methods, and shap's pictures of ours.

The two answer different questions. Tree SHAP shares the model's own log-odds out against a background; illume
gives the contributions of a local linear surrogate. They need not agree, least of all on how much each of
several correlated features gets.
"""

import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume
from illume import metrics

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
explainer = illume.Explainer(model, n_latents=4, queries=2_000).fit(X)
attributions = explainer(X)

# %%
# Both in log-odds of the second class. Units are the same, so no need to normalise.
of_shap = shap.TreeExplainer(model)(X)
illume.plots.compare({"illume": attributions[0], "Tree SHAP": of_shap[0]}, n_features=8)

# %%
# Over all rows: how alike are the two, row by row?
alike = metrics.cosine_score(attributions.values, of_shap.values)
print(f"mean cosine {alike.mean():.2f}")

# %%
# Our attributions in shap's own form; whatever shap draws, it can draw of them.
shap.plots.beeswarm(attributions.to_shap(), max_display=8, show=False)
