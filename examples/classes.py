"""More than two classes: three kinds of wine.

Each class has contributions of its own, on the last axis of `values`; those of a forest add up to its
probability.
"""

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import illume

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = RandomForestClassifier(200, random_state=0).fit(X, y)

# %%
explainer = illume.Explainer(model).fit(X)
attributions = explainer(X)
print(attributions.values.shape, attributions.output_names)

# %%
# One row shows the class that was decided.
print(attributions[0])

# %%
# Two rows beside each other, on one scale: what speaks for `class_0` in a wine of that class, and in another.
illume.plots.compare_rows(attributions[0], attributions[100], output="class_0", n_features=8)

# %%
# Importance, summed over the classes, and the rows for one class by name.
illume.plots.bar(attributions, n_features=8)

# %%
illume.plots.beeswarm(attributions, output="class_1", n_features=8)

# %%
# As a table: `to_frame()` has the decided class, `to_frame("long")` all of them.
print(attributions[:2].to_frame("long").head(6).to_string())
