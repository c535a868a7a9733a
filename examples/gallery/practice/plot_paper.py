"""
The paper's algorithm and our defaults
======================================

``MPBoostClassifier(**PAPER, ...)`` is exactly the algorithm of the paper. It goes
after rows that are predicted wrong, which is good where labels are right and bad
where they are wrong. Our defaults follow the votes more slowly, and no longer split
where splits do not help on unseen rows. Three seeds each.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mpboost import PAPER, MPBoostClassifier, ScoreBandsDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y % 2, test_size=0.5, random_state=0
)
is_flipped = np.random.default_rng(0).random(len(y_train)) < 0.2
tasks = {
    "right labels": y_train,
    "a fifth of the labels flipped": np.where(is_flipped, 1 - y_train, y_train),
}
settings = {"paper": {**PAPER, "max_samples": 0.2, "max_features": 0.5}, "defaults": {}}


def fit(parameters, labels, seed):
    """Fit 300 trees."""
    return MPBoostClassifier(
        **{**parameters, "n_estimators": 300, "stopping": None, "random_state": seed}
    ).fit(X_train, labels)


# %%
# Is a digit odd or even? The same rows twice: with their labels, and with a fifth of
# the labels flipped. The labels of the test rows are always right.

fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.8), layout="constrained", sharey=True)
for ax, (title, labels) in zip(axes, tasks.items(), strict=True):
    models = {
        name: [fit(parameters, labels, seed) for seed in range(3)]
        for name, parameters in settings.items()
    }
    ScoreBandsDisplay.from_estimators(models, X_test, y_test, ax=ax)
    ax.set_title(title)
    for name, runs in models.items():
        accuracy = np.mean([model.score(X_test, y_test) for model in runs])
        print(f"{title:30} {name:9} test accuracy {accuracy:.3f}")
axes[0].set_ylim(0.65, 1)
axes[1].set_ylabel("")
plt.show()
