"""
A loss of your own
==================

A baker loses four times as much by a missing loaf as by one too many. Any object with
a method ``gradient_hessian(y, raw)`` is a loss; with ``loss(y, raw)`` as well, the
fit also stops by it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mpboost import MPGradientBoostingRegressor


class BakerLoss:
    """Squared error that counts four times where the prediction is too low."""

    def gradient_hessian(self, y, raw):
        """Return the first and second derivative with respect to the prediction."""
        weights = np.where(raw < y, 4.0, 1.0)
        return weights * (raw - y), weights

    def loss(self, y, raw):
        """Return the loss of each row."""
        return np.where(raw < y, 4.0, 1.0) * (raw - y) ** 2 / 2

    def baseline(self, y, sample_weight):
        """Return the first prediction, which trees then correct."""
        return np.average(y, weights=sample_weight)


# %%
# Loaves sold by the day of the year.

rng = np.random.default_rng(0)


def draw_days(n_days):
    """Draw days, and loaves sold on them."""
    day = rng.uniform(0, 365, n_days)
    return day[:, None], 120 + 30 * np.sin(day * 2 * np.pi / 365) + rng.normal(
        0, 15, n_days
    )


X_train, y_train = draw_days(1500)
X_test, y_test = draw_days(1500)
models = {
    "squared error": MPGradientBoostingRegressor(random_state=0).fit(X_train, y_train),
    "the baker's loss": MPGradientBoostingRegressor(
        loss=BakerLoss(), random_state=0
    ).fit(X_train, y_train),
}
for name, model in models.items():
    predicted = model.predict(X_test)
    cost, share = (
        BakerLoss().loss(y_test, predicted).mean(),
        np.mean(predicted < y_test),
    )
    print(f"{name:17} cost per day {cost:.1f}, sold out on {share:.0%} of the days")

# %%

days = np.arange(365)[:, None]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(X_train[:, 0], y_train, ".", color="#aaaaaa", markersize=3, label="loaves sold")
ax.plot(
    days,
    models["squared error"].predict(days),
    "--",
    color="#E69F00",
    label="squared error",
)
ax.plot(
    days,
    models["the baker's loss"].predict(days),
    color="#0072B2",
    label="the baker's loss",
)
ax.set(
    xlabel="day of the year",
    ylabel="loaves",
    title="How many loaves to bake",
    xlim=(0, 365),
)
ax.legend(loc="upper right")
ax.grid(alpha=0.3)
plt.show()
