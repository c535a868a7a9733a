"""
Intervals and sets that keep their word
=======================================

A prediction without a margin of error is half a prediction. ``predict_interval`` and
``predict_set`` give the margin that you ask for, say 90 %, from the training rows:
each was judged by learners that never saw it.
"""

# %%
# Numbers
# -------
# The noise of these numbers depends on the region: it is three times as strong in the
# south.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier, MPGradientBoostingRegressor, fit_spread

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 6000)
region = np.where(rng.uniform(size=6000) < 0.3, "south", "north")
noise = np.where(region == "south", 1.5, 0.5)
y = 3 * np.sin(x) + x / 2 + noise * rng.normal(size=6000)
X = np.column_stack([x, region == "south"])

model = MPGradientBoostingRegressor(random_state=0).fit(X[:2000], y[:2000])
new, trained = slice(2000, None), slice(0, 2000)
same = model.predict_interval(X[new], coverage=0.9)
own = model.predict_interval(
    X[new], coverage=0.9, groups=region[new], training_groups=region[trained]
)
spread = fit_spread(model, X[trained])
learned = model.predict_interval(X[new], coverage=0.9, spread=spread)
ways = {"one width": same, "a width for each region": own, "learned widths": learned}
for name, found in ways.items():
    held = (found[:, 0] <= y[new]) & (y[new] <= found[:, 1])
    by_region = {each: held[region[new] == each].mean() for each in ("north", "south")}
    print(f"{name}: {held.mean():.3f} of all new rows", end="")
    print("".join(f", {share:.3f} in the {each}" for each, share in by_region.items()))

# %%
# All hold nine of ten rows. But with one width for all, rows of the north are covered
# too often, and those of the south pay for it. Groups have widths of their own. Where
# nobody knows the groups, ``fit_spread`` learns which rows are hard to predict.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axis, each in zip(axes, ("north", "south"), strict=True):
    rows = np.flatnonzero(region[new] == each)[:600]
    rows = rows[np.argsort(x[new][rows])]
    axis.scatter(x[new][rows], y[new][rows], s=4, color="0.6", label="new rows")
    for found, colour, label in (
        (same, "C0", "one width"),
        (own, "C1", "by region"),
        (learned, "C2", "learned"),
    ):
        axis.plot(x[new][rows], found[rows], color=colour, linewidth=1)
        axis.plot([], [], color=colour, label=label)
    axis.set(title=f"In the {each}", xlabel="x")
axes[0].set_ylabel("y, and intervals of 90 %")
axes[1].legend(loc="lower right", fontsize="small")
plt.show()

# %%
# Classes
# -------
# A set has one class where the model is sure, and several where it is not. The more
# coverage you ask for, the larger the sets.

images, new_images, digits, new_digits = train_test_split(
    *load_digits(return_X_y=True), test_size=0.6, random_state=0
)
classifier = MPBoostClassifier(random_state=0).fit(images, digits)
for coverage in (0.9, 0.95, 0.99):
    sets = classifier.predict_set(new_images, coverage)
    held = sets[np.arange(len(sets)), new_digits].mean()
    size = sets.sum(axis=1).mean()
    print(f"asked {coverage}: {held:.3f} held, {size:.2f} classes on average")

# %%
# The images that it is least sure of, with their sets at 99 %:

figure, axes = plt.subplots(1, 6, figsize=(8, 1.9), layout="constrained")
least_sure = np.argsort(-sets.sum(axis=1), kind="stable")[:6]
for axis, row in zip(axes, least_sure, strict=True):
    axis.imshow(new_images[row].reshape(8, 8), cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    names = ", ".join(map(str, classifier.classes_[sets[row]]))
    axis.set_title(names, fontsize="medium")
plt.show()
