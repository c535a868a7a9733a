"""
A report, for people and for programs
=====================================

:func:`mpboost.report` makes a page about a model: scores, features, hard rows,
suspect labels, and what looks wrong. ``save`` writes it to one file of HTML, a
notebook shows it, and ``dict`` gives the same content to programs, as here.
"""

import textwrap

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import mpboost

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
model = mpboost.MPBoostClassifier(random_state=0).fit(X, y)
report = mpboost.report(
    model, X, y, title="Tumours"
)  # report.save("report.html") writes the page

content = report.dict()
print(textwrap.fill(", ".join(content), 88))

# %%
# What is wrong with the model, if anything, with advice:

print(content["warnings"] or "no warnings")

# %%
# Which way the features push, in words:

for effect in content["effects"]["features"][:4]:
    print(f"{effect['name']}: {effect['sentence']}")

# %%
# The hardest rows, and what the trees that never saw them say:

for row in content["observations"]["hardest"][:4]:
    suspect = ", suspect" if row["is_suspect"] else ""
    print(f"row {row['row']}: {row['given']}, by the votes {row['suggested']}{suspect}")

# %%
# All scores with their intervals, out-of-patch:

measures = [
    measure
    for measure in content["score"]["measures"]
    if not measure["smaller_is_better"]
]
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
for place, measure in enumerate(measures):
    low, high = measure["oop_interval"]
    ax.plot(
        [low, high], [place, place], color="#56B4E9", linewidth=6, solid_capstyle="butt"
    )
    ax.plot(measure["oop_value"], place, "o", color="#0072B2")
    ax.annotate(
        f"{measure['oop_value']:.3f}",
        (measure["oop_value"], place),
        (0, 7),
        textcoords="offset points",
        ha="center",
    )
ax.set_yticks(range(len(measures)), [measure["title"] for measure in measures])
ax.set(
    ylim=(len(measures) - 0.5, -0.7),
    xlabel="score and 95 % interval",
    title="Tumours: out-of-patch scores",
)
ax.grid(alpha=0.3, axis="x")
plt.show()
