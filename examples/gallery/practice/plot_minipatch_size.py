"""
How large should a minipatch be?
================================

``max_samples`` sets the rows of a minipatch. Small ones make quick and weak trees,
large ones slow and strong trees. The default starts small, tries larger ones after a
while, and keeps them if the out-of-patch score rises. Here is a table on which large
ones are better.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier

X, y = make_classification(
    8000,
    n_features=30,
    n_informative=12,
    n_clusters_per_class=8,
    flip_y=0.02,
    class_sep=0.8,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%

sizes = [20, 50, 125, 300, 800, 2000]


def measure(max_samples):
    """Return the size, test and out-of-patch accuracy, and seconds of 200 trees."""
    start = time.perf_counter()
    model = MPBoostClassifier(
        max_samples=max_samples, n_estimators=200, stopping=None, random_state=0
    )
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    return model.max_samples_, model.score(X_test, y_test), model.oop_score_, seconds


rows = np.array([measure(size) for size in sizes])
auto = measure("auto")
for size, test, oop, seconds in [*rows, auto]:
    print(
        f"{size:5.0f} rows   test {test:.3f}   out-of-patch {oop:.3f}   {seconds:.2f} s"
    )
print(f"The last line is the default, which chose {auto[0]} rows in the end.")

# %%
# The larger the minipatches, the fewer trees have not seen a row: the out-of-patch
# score then comes from fewer trees than the test score, and is too low.

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 5), layout="constrained", sharex=True, height_ratios=[3, 2]
)
top.plot(rows[:, 0], rows[:, 1], "o-", color="#E69F00", label="test")
top.plot(rows[:, 0], rows[:, 2], "^--", color="#0072B2", label="out-of-patch")
top.plot(
    auto[0],
    auto[1],
    "*",
    color="black",
    markersize=13,
    label='test, max_samples="auto"',
)
top.set(xscale="log", ylabel="accuracy", title=f"200 trees on {len(X_train)} rows")
top.legend(loc="lower right")
bottom.plot(rows[:, 0], rows[:, 3], "o-", color="#555555")
bottom.plot(auto[0], auto[3], "*", color="black", markersize=13)
bottom.set(xlabel="rows of a minipatch (max_samples)", ylabel="seconds", ylim=(0, None))
bottom.set_xticks(sizes, [str(size) for size in sizes])
bottom.minorticks_off()
for ax in (top, bottom):
    ax.grid(alpha=0.3)
plt.show()
