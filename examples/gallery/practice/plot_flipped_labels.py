"""
Find wrong labels
=================

The trees that never saw a row can judge its label. We give a twentieth of the digits
a wrong label and let :func:`mpboost.find_label_issues` look for them in the fitted
model; nothing is trained again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mpboost import MPBoostClassifier, estimate_label_noise, find_label_issues

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
is_flipped = np.zeros(len(y), dtype=bool)
is_flipped[rng.choice(len(y), len(y) // 20, replace=False)] = True
labels = np.where(is_flipped, (y + rng.integers(1, 10, len(y))) % 10, y)

# %%

model = MPBoostClassifier(random_state=0).fit(X, labels)
issues = find_label_issues(model)
n_found = np.count_nonzero(is_flipped[issues.row])
print(f"flipped {is_flipped.sum()} of {len(y)} labels ({is_flipped.mean():.1%})")
print(f"at most wrong, by the model's own estimate: {estimate_label_noise(model):.1%}")
print(f"suspect {len(issues)}, of these flipped {n_found}")
print(issues)

# %%
# The first suspects, with the given label and the suggested one. An orange title marks
# a label that we did not flip. And how many flipped labels are found as one looks
# through all rows, the most suspect first:

fig = plt.figure(figsize=(7.4, 3.8), layout="constrained")
left, right = fig.subfigures(1, 2)
for ax, row, suggested in zip(
    left.subplots(4, 4).flat, issues.row, issues.suggested, strict=False
):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(
        f"{labels[row]} → {suggested}",
        fontsize=9,
        color="black" if is_flipped[row] else "#D55E00",
    )
    ax.set_axis_off()
ranked = find_label_issues(model, threshold=0).row
ax = right.subplots()
ax.plot(np.arange(1, len(ranked) + 1), np.cumsum(is_flipped[ranked]), color="#0072B2")
ax.axvline(
    len(issues), color="black", linestyle="--", linewidth=1, label="suspect by default"
)
ax.axhline(
    is_flipped.sum(),
    color="black",
    linestyle=":",
    linewidth=1,
    label="all flipped labels",
)
ax.set(
    xlabel="rows looked at",
    ylabel="flipped labels found",
    xlim=(0, 3 * is_flipped.sum()),
    ylim=(0, None),
)
ax.legend(loc="lower right")
ax.grid(alpha=0.3)
plt.show()
