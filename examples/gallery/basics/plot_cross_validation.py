"""
The out-of-patch score beside cross-validation
==============================================

Five-fold cross-validation trains five more models to tell how good one is. The
out-of-patch score comes with the model itself. On four small sets we compare both
with the accuracy on a test set, and the time that they take.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_classification,
)
from sklearn.model_selection import cross_val_score, train_test_split

from mpboost import MPBoostClassifier

sets = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "digits": load_digits(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "generated": make_classification(
        1500, n_features=30, n_informative=10, flip_y=0.05, random_state=0
    ),
}

# %%
# Half of each set is for training, half for the test.

rows = []
for X, y in sets.values():
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    start = time.perf_counter()
    model = MPBoostClassifier(random_state=0).fit(X_train, y_train)
    middle = time.perf_counter()
    cv_score = cross_val_score(
        MPBoostClassifier(random_state=0), X_train, y_train, cv=5
    ).mean()
    end = time.perf_counter()
    rows.append(
        (
            model.score(X_test, y_test),
            model.oop_score_,
            *model.oop_interval_,
            cv_score,
            middle - start,
            end - middle,
        )
    )
test, oop, low, high, cv, oop_seconds, cv_seconds = np.transpose(rows)

print(f"{'':14} {'test':>6} {'out-of-patch':>13} {'cross-validation':>17}")
for name, *row in zip(sets, test, oop, cv, strict=True):
    print(f"{name:14} {row[0]:6.3f} {row[1]:13.3f} {row[2]:17.3f}")

# %%
# Both estimates judge the same rows, so they share the luck of the split; the line
# around the out-of-patch score is its 95 % interval. What differs is the price. The
# blue bars include the fit of the model that is kept; cross-validation throws its five
# models away.

fig, (left, right) = plt.subplots(
    1, 2, figsize=(7.4, 3.8), layout="constrained", width_ratios=[3, 2]
)
places = np.arange(len(sets))
left.plot(
    test, places, "|", color="black", markersize=26, markeredgewidth=2, label="test"
)
left.errorbar(
    oop,
    places + 0.12,
    xerr=[oop - low, high - oop],
    fmt="o",
    color="#0072B2",
    label="out-of-patch",
)
left.plot(cv, places - 0.12, "^", color="#E69F00", label="cross-validation")
left.set(
    yticks=places,
    yticklabels=sets,
    ylim=(-0.6, len(sets) + 0.9),
    xlabel="accuracy",
    title="The score",
)
left.legend(loc="upper left", markerscale=0.6)
left.grid(alpha=0.3)
right.barh(places + 0.18, oop_seconds, height=0.34, color="#0072B2")
right.barh(places - 0.18, cv_seconds, height=0.34, color="#E69F00")
right.set(
    yticks=places,
    yticklabels=[],
    ylim=(-0.6, len(sets) + 0.9),
    xlabel="seconds",
    title="What it costs",
)
right.grid(alpha=0.3, axis="x")
plt.show()
