"""
Why this prediction?
====================

``predict_contributions`` divides each prediction among the features: exact Shapley
values, which add up to the prediction. A waterfall explains one row, a swarm of dots
the whole table.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from mpboost import ContributionsDisplay, MPGradientBoostingRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
blood = [
    "cholesterol",
    "LDL",
    "HDL",
    "cholesterol / HDL",
    "log triglycerides",
    "blood sugar",
]
X.columns = ["age", "sex", "body mass index", "blood pressure", *blood]
model = MPGradientBoostingRegressor(random_state=0).fit(X, y)
print(f"out-of-patch R² {model.oop_score_:.2f}")

# %%
# The patient with the highest prediction: start at the expected value at the bottom;
# each bar moves it by what one feature contributes.

predictions = model.predict(X)
row = int(predictions.argmax())
contributions = model.predict_contributions(X)
print(f"sum of contributions {contributions[row].sum():.2f}")
print(f"prediction           {predictions[row]:.2f}")
display = ContributionsDisplay.from_estimator(model, X, row=row)
display.ax_.set_title(f"Patient {row}: " + display.ax_.get_title(), fontsize="medium")
plt.show()

# %%
# All patients: one dot for each in every line. To the right the feature raises the
# prediction; the colour tells whether its value is high or low.

ContributionsDisplay.from_estimator(model, X)
plt.show()

# %%
# The mean size of the contributions ranks the features by what they do in the model.

sizes = np.abs(contributions[:, :-1]).mean(axis=0)
for j in sizes.argsort()[::-1][:4]:
    print(f"{X.columns[j]:18} {sizes[j]:5.1f}")
