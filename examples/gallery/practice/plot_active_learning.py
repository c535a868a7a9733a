"""
Label the rows that teach most
==============================

Labels cost time, rows often do not. We pretend that the digits have no labels, and ask
for twenty of them in each round: those that :func:`mpboost.suggest_rows` suggests, or
random ones. Each round fits the model anew, which takes a fraction of a second.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mpboost import MPBoostClassifier, suggest_rows

X, y = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(y))
pool, test = rows[:1200], rows[1200:]

# %%


def label_in_rounds(choose, n_rounds=14):
    """Return the rows that were labelled, and the test accuracy, after each round."""
    known, unknown = pool[:20], pool[20:]
    history = []
    for _ in range(n_rounds):
        model = MPBoostClassifier(random_state=0).fit(X[known], y[known])
        history.append((known, model.score(X[test], y[test])))
        chosen = unknown[choose(model, X[unknown])]
        known, unknown = np.append(known, chosen), np.setdiff1d(unknown, chosen)
    return history


rng = np.random.default_rng(0)
at_random = label_in_rounds(lambda model, X: rng.choice(len(X), 20, replace=False))
suggested = label_in_rounds(lambda model, X: suggest_rows(model, X, 20).row)
for (known, score), (_, other) in zip(suggested, at_random, strict=True):
    print(f"{len(known):4d} labels: suggested {score:.3f}, at random {other:.3f}")

# %%
# On the right, the digits that were suggested in the eighth round, with their labels:
# many are written in an unusual way.

all_labels = MPBoostClassifier(random_state=0).fit(X[pool], y[pool])
fig = plt.figure(figsize=(7.4, 3.6), layout="constrained")
left, right = fig.subfigures(1, 2, width_ratios=(3, 2))
ax = left.subplots()
for name, history, colour in (
    ("suggested", suggested, "#0072B2"),
    ("at random", at_random, "#D55E00"),
):
    n_labels = [len(known) for known, _ in history]
    scores = [score for _, score in history]
    ax.plot(n_labels, scores, marker="o", markersize=3, color=colour, label=name)
ax.axhline(
    all_labels.score(X[test], y[test]),
    color="black",
    linestyle=":",
    linewidth=1,
    label=f"all {len(pool)} labels",
)
ax.set(xlabel="labels", ylabel="test accuracy", ylim=(None, 1))
ax.legend(loc="lower right")
ax.grid(alpha=0.3)
for ax, row in zip(right.subplots(4, 5).flat, suggested[8][0][-20:], strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(str(y[row]), fontsize=9)
    ax.set_axis_off()
plt.show()
