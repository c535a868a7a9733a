"""
When to stop
============

A fit stops when its out-of-patch score, or its loss on reserved rows, has not
improved for a while, and keeps the trees up to the best iteration. The same seed with
``stopping=None`` makes the same run without an end, which shows what would have come
later.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier, MPGradientBoostingClassifier, ScoreCurvesDisplay

# A tenth of the labels are random.
X, y = make_classification(
    4000, n_features=20, n_informative=8, flip_y=0.1, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Votes
# -----
#
# The score of votes reaches a plateau and stays there: more trees do no harm, but take
# time. On few rows the score is coarse, and a fit may stop a little too early; a larger
# ``n_iter_no_change`` waits longer. The out-of-patch curve runs below that of the test
# rows, because hard rows are drawn more often and are judged by fewer trees;
# ``oop_score_`` is corrected for most of this.

model = MPBoostClassifier(random_state=0).fit(X_train, y_train)
endless = MPBoostClassifier(n_estimators=700, stopping=None, random_state=0).fit(
    X_train, y_train
)
for name, fitted in {"stopped": model, "endless": endless}.items():
    accuracy = fitted.score(X_test, y_test)
    print(f"{name}: {fitted.best_iteration_} trees, test accuracy {accuracy:.3f}")
print(
    f"out-of-patch accuracy {model.oop_score_:.3f}; stopped for: {model.stop_reason_}"
)

display = ScoreCurvesDisplay.from_estimator(endless, X_test, y_test, stopped=model)
display.ax_.set_title("Votes", loc="left")
display.ax_.legend(loc="center right", bbox_to_anchor=(1, 0.68))
plt.show()

# %%
# Gradient boosting
# -----------------
#
# A gradient model that goes on for too long fits the noise: its loss on new rows rises
# again. It stops by the loss on rows that it reserved. On a small table several models
# take turns, each with its own reserved rows. New rows are judged by their mean,
# reserved rows by one of them only, so the out-of-patch loss is the higher one; but
# both are lowest at about the same time.

model = MPGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
endless = MPGradientBoostingClassifier(
    n_estimators=1200, stopping=None, random_state=0
).fit(X_train, y_train)
print(f"{model.n_models_} models take turns")
each_row = np.arange(len(y_test))
test_losses = [
    -np.log(p[each_row, y_test]).mean() for p in endless.staged_predict_proba(X_test)
]
for name, fitted in {"stopped": model, "endless": endless}.items():
    n_trees = fitted.best_iteration_
    print(f"{name}: {n_trees} trees, test loss {test_losses[n_trees - 1]:.3f}")

display = ScoreCurvesDisplay(
    {"out-of-patch": endless.oop_losses_, "test": test_losses},
    best_iteration=model.best_iteration_,
    n_iter=model.n_iter_,
    score_name="log loss",
).plot()
display.ax_.set_title("Gradient boosting", loc="left")
plt.show()
