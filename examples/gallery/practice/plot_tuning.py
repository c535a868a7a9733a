"""
Tune by the out-of-patch score
==============================

:func:`mpboost.oop_tune` fits each candidate once, since the out-of-patch score
validates it on its own training rows, and stops most fits early. Scikit-learn's grid
search fits each candidate five times, and the winner once more.
"""

import time

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, train_test_split

from mpboost import MPBoostClassifier, oop_tune

X, y = make_classification(
    3000, n_features=30, n_informative=8, flip_y=0.05, class_sep=0.6, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.8, random_state=0)
parameters = {"max_samples": [0.05, 0.2, 0.5], "max_features": [3, 10, 30]}
estimator = MPBoostClassifier(n_estimators=300, random_state=0)

# %%

start = time.perf_counter()
search = oop_tune(estimator, X_train, y_train, parameters)
oop_seconds = time.perf_counter() - start
start = time.perf_counter()
grid = GridSearchCV(estimator, parameters, cv=5).fit(X_train, y_train)
grid_seconds = time.perf_counter() - start
for name, model, best, seconds in [
    ("oop_tune", search.best_estimator_, search.best_params_, oop_seconds),
    ("GridSearchCV", grid, grid.best_params_, grid_seconds),
]:
    accuracy = model.score(X_test, y_test)
    print(f"{name}: {seconds:.2f} s, test accuracy {accuracy:.3f}, {best}")

# %%
# The search in rounds: all candidates run for a short while, the best third of them go
# on. ``results_`` has a row for each candidate.

results = pd.DataFrame(search.results_).sort_values("rank")
print(
    results[
        ["param_max_samples", "param_max_features", "rung", "n_iterations", "oop_score"]
    ]
    .round(3)
    .to_string(index=False)
)

# %%

names = [
    f"{row.param_max_samples:g} of the rows, {row.param_max_features} columns"
    for row in results.itertuples()
]
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
colours = [
    "#56B4E9" if rung < results["rung"].max() else "#0072B2" for rung in results["rung"]
]
bars = ax.barh(names, results["n_iterations"], color=colours)
ax.bar_label(bars, [f"{score:.3f}" for score in results["oop_score"]], padding=3)
ax.invert_yaxis()
ax.set(xlabel="iterations", title="Iterations of each candidate, and its score")
ax.margins(x=0.15)
plt.show()
