"""
Which digits are hard
=====================

Rows that the ensemble gets wrong are drawn more often. After training,
``observation_probabilities_`` (p) ranks all rows from easy to hard. Among handwritten
digits, the hardest are those that people would have to look at twice, too.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from mpboost import MPBoostClassifier

X, y = load_digits(return_X_y=True)
model = MPBoostClassifier(random_state=0).fit(X, y)
print(
    f"out-of-patch accuracy {model.oop_score_:.3f} with {len(model.classes_)} classes"
)

# %%
# The votes of the trees that never saw an image tell what the model takes it for:
# ``oop_decision_function_`` has a column for each class.

taken_for = model.classes_[model.oop_decision_function_.argmax(axis=1)]
p = model.observation_probabilities_
ranked = p.argsort()[::-1]

fig, axes = plt.subplots(4, 8, figsize=(7, 4.8), layout="constrained")
for ax, row in zip(axes.flat, [*ranked[:24], *ranked[-8:]], strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    is_right = taken_for[row] == y[row]
    title = f"{y[row]}" if is_right else f"{y[row]}, not {taken_for[row]}"
    ax.set_title(title, fontsize=9, color="black" if is_right else "#D55E00")
    ax.set_axis_off()
fig.suptitle(
    "The 24 hardest digits, and below them the 8 easiest (orange: votes are wrong)",
    fontsize=11,
)
plt.show()

# %%
# Training ends up spending most of its draws on few rows:

for share in (0.01, 0.1, 0.5):
    total = p[ranked[: int(share * len(p))]].sum()
    print(
        f"the hardest {share:3.0%} of the digits have {total:3.0%} of the probability"
    )
