"""Rules: when does the model decide like this, and as SQL.

A rule holds for its own row, and says on how many held-out rows it was measured. `to_sql` gives what goes
after WHERE.
"""

import sqlite3

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)

# %%
# Four latents and little effort, to be quick. The first call trains the latent surrogate and grows the tree.
options = illume.SurrogateOptions(n_latents=4)
explainer = illume.Explainer(model, effort="quick", surrogate_options=options).fit(X)
rules = explainer.rules(X)
print(repr(rules[0]))

# %%
# Where the rule lies in the data: the bar is what it allows, the diamond the row, grey the rows themselves.
illume.plots.rule(rules[0], X)

# %%
# The same rows, chosen by a database.
database = sqlite3.connect(":memory:")
X.to_sql("tumours", database, index=False)
where = rules[0].to_sql()
print(where)
count = database.execute(f"SELECT count(*) FROM tumours WHERE {where}").fetchone()[0]
print(count, "rows in the database,", rules[0].covers(X).sum(), "in the frame")

# %%
# Shorter rules, or surer ones.
print(explainer.rules(X[:1], max_conditions=1)[0])
print(explainer.rules(X[:1], precision=0.99)[0])

# %%
# The global view: a few rules that together cover most rows, and the answer to the others.
summary = explainer.rule_set()
print(summary)
print(summary.to_sql())
