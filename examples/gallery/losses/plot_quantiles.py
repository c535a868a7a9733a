"""
Bands instead of points: quantile regression
============================================

``loss="quantile"`` predicts a quantile instead of the mean. Two of them make a band
that should hold nine in ten new values, wide where the data scatter and narrow where
they do not.
"""

import matplotlib.pyplot as plt
import numpy as np

from mpboost import MPGradientBoostingRegressor

rng = np.random.default_rng(0)


def draw_rows(n_rows):
    """Draw a wave whose scatter grows to the right."""
    x = rng.uniform(0, 10, n_rows)
    return x[:, None], np.sin(x) * x / 2 + rng.normal(0, 0.15 + 0.2 * x)


X_train, y_train = draw_rows(2000)
X_test, y_test = draw_rows(5000)

# %%

models = {
    alpha: MPGradientBoostingRegressor(
        loss="quantile", alpha=alpha, random_state=0
    ).fit(X_train, y_train)
    for alpha in (0.05, 0.5, 0.95)
}
for alpha, model in models.items():
    share = np.mean(y_test < model.predict(X_test))
    print(f"below the {alpha:.0%} quantile: {share:.1%} of the new rows")

# %%

x = np.linspace(0, 10, 500)
low, middle, high = (model.predict(x[:, None]) for model in models.values())

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(
    X_train[:, 0], y_train, ".", color="#999999", markersize=3, label="training rows"
)
ax.fill_between(
    x, low, high, color="#56B4E9", alpha=0.4, linewidth=0, label="5 % to 95 %"
)
ax.plot(x, middle, color="#0072B2", label="median")
ax.plot(x, np.sin(x) * x / 2, "--", color="black", linewidth=1, label="true median")
ax.set(xlabel="x", ylabel="y", title="Three quantiles")
ax.legend(loc="upper left")
ax.grid(alpha=0.3)
plt.show()
