"""
Twenty useful columns among two thousand
========================================

On a wide table, a model that draws columns evenly hardly ever sees a useful one.
MP-Boost learns which columns help on rows outside the minipatch and draws those more
often, so that fewer and fewer draws are wasted. A random forest, which draws evenly,
is the comparison.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier

# Without shuffling, the first 20 columns are the useful ones.
n_useful, n_features = 20, 2000
X, y = make_classification(
    2400,
    n_features,
    n_informative=n_useful,
    n_redundant=0,
    n_clusters_per_class=3,
    shuffle=False,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%

models = {
    "MP-Boost": MPBoostClassifier(random_state=0),
    "random forest": RandomForestClassifier(100, random_state=0),
}
rankings = {}
for name, model in models.items():
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    # q of MP-Boost; a forest has importances only.
    scores = getattr(model, "feature_probabilities_", model.feature_importances_)
    rankings[name] = np.argsort(scores)[::-1]
    n_found = np.count_nonzero(rankings[name][:n_useful] < n_useful)
    print(f"{name}: test accuracy {model.score(X_test, y_test):.3f}, {seconds:.2f} s")
    print(f"  {n_found} of the first {n_useful} columns are useful")

# %%
# How the total probability of the useful columns rises during training, and how many of
# them are among the first k of the final ranking:

history = models["MP-Boost"].history_
share = history.feature_probabilities[:, :n_useful].sum(axis=1)

fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
left.plot(history.iterations, share, color="#0072B2")
left.axhline(
    n_useful / n_features,
    color="black",
    linewidth=0.8,
    linestyle=":",
    label="even draw",
)
left.set(
    xlabel="iteration",
    ylabel="total q of the useful columns",
    ylim=(0, 1),
    title="What q learns",
)
left.legend()
k = np.arange(1, 101)
for (name, ranked), style in zip(rankings.items(), ["-", "--"], strict=True):
    right.plot(k, np.cumsum(ranked[:100] < n_useful), style, label=name)
right.lines[0].set_color("#0072B2")
right.lines[1].set_color("#E69F00")
right.set(
    xlabel="first k columns of the ranking",
    ylabel="useful columns among them",
    title="What is found",
    yticks=range(0, 21, 5),
)
right.axhline(n_useful, color="black", linewidth=0.8, linestyle=":")
right.legend(loc="lower right")
for ax in (left, right):
    ax.grid(alpha=0.3)
plt.show()
