"""
Which pixels tell a 3 from an 8
===============================

Features that trees found useful are drawn more often: these are the probabilities q.
A callback records them during training, and since each feature is a pixel here, q is
an image. It lights up on the left, where the loops of an 8 have ink and a 3 is open.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mpboost import (
    FeatureProbabilitiesDisplay,
    FeatureProbabilityRecorder,
    MPBoostClassifier,
)

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, (3, 8))
X, y = X[chosen], y[chosen]

recorder = FeatureProbabilityRecorder([0, 10, 25, 50, 100])
model = MPBoostClassifier(
    n_estimators=200, stopping=None, callbacks=[recorder], random_state=0
).fit(X, y)
print(f"out-of-patch accuracy {model.oop_score_:.3f}")

# %%
# Beside the mean images of both digits, q after t iterations. At the beginning all
# pixels have the same probability.

fig, axes = plt.subplots(2, 4, figsize=(7, 3.6), layout="constrained")
for ax, digit in zip(axes[:, 0], model.classes_, strict=True):
    ax.imshow(X[y == digit].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"mean {digit}")
display = FeatureProbabilitiesDisplay.from_estimator(
    model, kind="image", recorder=recorder, image_shape=(8, 8), ax=axes[:, 1:].ravel()
)
plt.show()
