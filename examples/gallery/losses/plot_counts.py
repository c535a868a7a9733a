"""
Counts with the Poisson loss
============================

Counts are never negative, and scatter more where they are high. ``loss="poisson"``
knows both: it predicts on a log scale, so predictions are positive, and errors at
small counts matter. The squared error knows neither.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

from mpboost import MPGradientBoostingRegressor

# %%
# Made-up bicycle rentals per hour, with rush hours on working days, and fewer customers
# in the cold.


def compute_mean(table):
    """Compute the true mean of the rentals."""
    hour = table["hour"]
    rush = np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17) ** 2) / 6)
    peak = np.where(table["working_day"], rush, np.exp(-((hour - 14) ** 2) / 18))
    return np.exp(-2 + 4 * peak + 0.06 * table["temperature"])


rng = np.random.default_rng(0)
n_hours = 6000
table = pd.DataFrame(
    {
        "hour": rng.integers(0, 24, n_hours),
        "working_day": rng.random(n_hours) < 5 / 7,
        "temperature": rng.normal(12, 8, n_hours).round(1),
    }
)
rentals = rng.poisson(compute_mean(table))
X_train, X_test, y_train, y_test = train_test_split(
    table, rentals, test_size=0.5, random_state=0
)

# %%
# A deviance needs positive predictions. Those of the squared error have to be cut at a
# small number, or it could not be computed.

models = {
    loss: MPGradientBoostingRegressor(loss=loss, random_state=0).fit(X_train, y_train)
    for loss in ("poisson", "squared_error")
}
for loss, model in models.items():
    predicted = model.predict(X_test)
    deviance = mean_poisson_deviance(y_test, np.maximum(predicted, 0.01))
    share = np.mean(predicted < 0)
    print(f"{loss:14} deviance {deviance:.3f}, negative predictions {share:.1%}")

# %%
# Prediction against true mean for each test row, on logarithmic scales. Both agree in
# rush hours. Where rentals are few, the squared error is less sure of itself: some of
# its predictions are near zero or negative, and drawn on the dotted line.

floor = 0.03
truth = compute_mean(X_test)
fig, axes = plt.subplots(
    1, 2, figsize=(7.4, 3.8), layout="constrained", sharex=True, sharey=True
)
for ax, (loss, model), colour in zip(
    axes, models.items(), ["#0072B2", "#D55E00"], strict=True
):
    ax.plot(
        truth, np.maximum(model.predict(X_test), floor), ".", color=colour, markersize=3
    )
    ax.plot([0.05, 100], [0.05, 100], color="black", linewidth=1)
    ax.axhline(floor, color="black", linewidth=1, linestyle=":")
    ax.set(xscale="log", yscale="log", xlabel="true mean", title=f'loss="{loss}"')
    ax.grid(alpha=0.3)
axes[0].set_ylabel("prediction")
plt.show()
