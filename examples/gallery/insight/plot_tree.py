"""
Look at a tree
==============

Trees keep the names of features and classes, and their thresholds are in the units of
the table. Look at one as a picture or as text, or at all of them in a data frame.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from mpboost import MPBoostClassifier, TreeDisplay

iris = load_iris(as_frame=True)
X = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
y = iris.target_names[iris.target]
model = MPBoostClassifier(max_depth=3, random_state=0).fit(X, y)
print(f"{model.best_iteration_} trees, out-of-patch accuracy {model.oop_score_:.3f}")

# %%
# The first tree. Each node tells how many rows of its minipatch came there (n); the
# width of the lines shows it, too.

display = TreeDisplay.from_estimator(model, 0)
plt.show()

# %%
# The same tree as text:

print(model.get_tree(0).to_text())

# %%
# All trees in a data frame: here, how often each feature is used for a split, and the
# median of its thresholds.

frame = model.trees_to_frame()
splits = frame.dropna(subset=["split_feature"])
print(
    splits.groupby("split_feature")["threshold"]
    .agg(["count", "median"])
    .sort_values("count", ascending=False)
    .to_string()
)
