"""
Predictions that only rise
==========================

Often you know the direction of an effect: a larger flat does not cost less.
``monotonic_cst`` forbids the model to learn the opposite from noise in few rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mpboost import MPGradientBoostingRegressor

rng = np.random.default_rng(0)


def draw_flats(n_flats):
    """Draw flats: the price rises with the size and falls with the distance."""
    flats = pd.DataFrame(
        {"size": rng.uniform(20, 150, n_flats), "distance": rng.uniform(0, 20, n_flats)}
    )
    price = 100 + 4 * flats["size"] + 200 * np.exp(-flats["distance"] / 5)
    return flats, price + rng.normal(0, 90, n_flats)


X_train, y_train = draw_flats(300)
X_test, y_test = draw_flats(3000)

# %%

models = {
    "free": MPGradientBoostingRegressor(random_state=0),
    "constrained": MPGradientBoostingRegressor(
        monotonic_cst={"size": 1, "distance": -1}, random_state=0
    ),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name:12} R² on new flats {model.score(X_test, y_test):.3f}")

# %%
# Predictions along each feature, with the other one at a fixed value:

fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained", sharey=True)
paths = {
    "size": pd.DataFrame({"size": np.linspace(20, 150, 400), "distance": 8.0}),
    "distance": pd.DataFrame({"size": 80.0, "distance": np.linspace(0, 20, 400)}),
}
for ax, (feature, path) in zip(axes, paths.items(), strict=True):
    truth = 100 + 4 * path["size"] + 200 * np.exp(-path["distance"] / 5)
    ax.plot(
        path[feature], truth, color="black", linewidth=1, linestyle=":", label="truth"
    )
    for (name, model), style in zip(
        models.items(), [("#E69F00", "--"), ("#0072B2", "-")], strict=True
    ):
        ax.plot(
            path[feature],
            model.predict(path),
            color=style[0],
            linestyle=style[1],
            label=name,
        )
    ax.set_xlabel(feature)
    ax.grid(alpha=0.3)
axes[0].set(ylabel="predicted price", title="Size: only up")
axes[1].set_title("Distance: only down")
axes[0].legend()
plt.show()
