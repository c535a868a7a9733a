"""
Rare classes and class_weight
=============================

With one positive row in twenty, a model that is right most of the time can miss most
positives. ``class_weight="balanced"`` moves the balance, and
``scoring="balanced_accuracy"`` lets the fit stop by a score that cares about both
classes. The out-of-patch confusion shows the change without a hold-out set.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from mpboost import (
    MPBoostClassifier,
    MPGradientBoostingClassifier,
    OOPConfusionDisplay,
)

X, y = make_classification(
    6000, n_features=20, n_informative=4, weights=[0.95], flip_y=0, random_state=0
)
y = ["positive" if label else "negative" for label in y]
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)

# %%

settings = {
    "default": {},
    "balanced": {"class_weight": "balanced", "scoring": "balanced_accuracy"},
}
fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.3), layout="constrained")
for ax, (name, parameters) in zip(axes, settings.items(), strict=True):
    model = MPGradientBoostingClassifier(**parameters, random_state=0).fit(
        X_train, y_train
    )
    OOPConfusionDisplay.from_estimator(model, ax=ax)
    ax.set_title(name)
    predicted = model.predict(X_test)
    print(f"{name:9} test accuracy {model.score(X_test, y_test):.3f}  ", end="")
    print(f"balanced accuracy {balanced_accuracy_score(y_test, predicted):.3f}")
plt.show()

# %%
# Weights have a price: more positives are found, and more negatives are called
# positive. Probabilities shift, too: if you need good ones, leave the weights alone and
# move the threshold instead.
#
# The same settings hardly change votes on this table, though these are better without
# weights. If you need weights, use gradient boosting.

for name, parameters in settings.items():
    model = MPBoostClassifier(**parameters, random_state=0).fit(X_train, y_train)
    balanced = balanced_accuracy_score(y_test, model.predict(X_test))
    print(f"votes, {name:9} balanced accuracy {balanced:.3f}")
