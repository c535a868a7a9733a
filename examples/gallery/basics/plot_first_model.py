"""
A first model and its out-of-patch score
========================================

Each tree is trained on a *minipatch*, a small part of the rows and features, so all
other rows can test it. The votes of the trees that never saw a row give the
**out-of-patch score**: an estimate of the score on new rows, without a hold-out set.
Here we hold out half of the rows all the same, to compare.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier, ScoreCurvesDisplay, evaluate

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Fit a model. It stops by itself, as soon as the out-of-patch score no longer rises.

model = MPBoostClassifier(random_state=0).fit(X_train, y_train)
low, high = model.oop_interval_
print(f"out-of-patch accuracy  {model.oop_score_:.3f} (95 %: {low:.3f} to {high:.3f})")
print(f"test accuracy          {model.score(X_test, y_test):.3f}")
print(f"trees                  {model.best_iteration_}")

# %%
# :func:`mpboost.evaluate` compares more scores: on new rows, and as the out-of-patch
# predictions promised.

print(evaluate(model, X_test, y_test))

# %%
# The curves show the scores as trees are added. Training accuracy tells little, since
# trees know the rows that they were trained on. The test curve ends with the model, at
# its best iteration; the fit went on for a while to make sure that nothing better
# comes.

display = ScoreCurvesDisplay.from_estimator(model, X_test, y_test)
display.ax_.set_title("Ten digits: accuracy as trees are added", loc="left")
plt.show()
