"""Beside SHAP: the same values by two methods, and shap's pictures of ours.

With the same background rows, both give the exact interventional Shapley values of the model's log-odds.
illume reads trees, and learns any other model.
"""

import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume
from illume import metrics

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
background = X.sample(100, random_state=0)
explainer = illume.Explainer(model, background=background).fit(X)
attributions = explainer(X)

# %%
# Both in log-odds of the second class. Units are the same, so no need to normalise. (shap's own check of sums
# fails on a row of this model.)
of_shap = shap.TreeExplainer(model, background)(X, check_additivity=False)
illume.plots.compare({"illume": attributions[0], "Tree SHAP": of_shap[0]}, n_features=8)

# %%
# Over all rows: how alike are the two, row by row?
alike = metrics.cosine_score(attributions.values, of_shap.values)
largest = abs(attributions.values - of_shap.values).max()
print(f"mean cosine {alike.mean():.2f}, largest difference {largest:.1g}")

# %%
# Our attributions in shap's own form; whatever shap draws, it can draw of them.
shap.plots.beeswarm(attributions.to_shap(), max_display=8, show=False)
