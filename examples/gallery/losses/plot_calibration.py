"""
How far can probabilities be trusted?
=====================================

Of all rows with a predicted probability of 0.8, eight in ten should be positive. The
share of votes is no such probability. ``predict_proba`` corrects it by a calibration
on the out-of-patch votes, which needs no extra rows. Gradient boosting learns
probabilities directly.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier, MPGradientBoostingClassifier

X, y = make_classification(
    10_000, n_features=20, n_informative=10, class_sep=0.7, flip_y=0.1, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.7, random_state=0)

model = MPBoostClassifier(random_state=0).fit(X_train, y_train)
booster = MPGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
forest = RandomForestClassifier(200, random_state=0).fit(X_train, y_train)

# %%
# Predicted probability against the share of positive rows, on new rows. A curve that is
# steeper than the diagonal is too cautious. The calibrated votes still are, a little:
# out-of-patch votes come from part of the trees, and are not quite as sure as all of
# them together.

probabilities = {
    "votes, share": (model.predict_vote_share(X_test)[:, 1], "#56B4E9", "^"),
    "votes, predict_proba": (model.predict_proba(X_test)[:, 1], "#0072B2", "o"),
    "gradient boosting": (booster.predict_proba(X_test)[:, 1], "#009E73", "D"),
    "random forest": (forest.predict_proba(X_test)[:, 1], "#E69F00", "s"),
}
fig, ax = plt.subplots(figsize=(6, 5.2), layout="constrained")
for name, (p, colour, marker) in probabilities.items():
    CalibrationDisplay.from_predictions(
        y_test, p, n_bins=10, name=name, color=colour, marker=marker, ax=ax
    )
    print(f"{name:21} log loss {log_loss(y_test, p):.3f}")
ax.set(
    xlabel="predicted probability",
    ylabel="share of positive rows",
    title="Calibration on new rows",
)
ax.grid(alpha=0.3)
plt.show()
