"""
Which way a feature pushes
==========================

An effect is the mean prediction with a feature set to each of its values. Friedman's
test function shows whether to believe it: we know that it contains a sine of ``a``
times ``b``, a parabola in ``c``, two lines in ``d`` and ``e``, and that ``f`` is
noise.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_friedman1

from mpboost import EffectsDisplay, MPGradientBoostingRegressor, compute_effects

X, y = make_friedman1(1500, n_features=6, noise=1.0, random_state=0)
X = pd.DataFrame(X, columns=list("abcdef"))
model = MPGradientBoostingRegressor(random_state=0).fit(X, y)
print(f"out-of-patch R² {model.oop_score_:.3f}")

# %%
# The band shows how single rows move around the mean. It is wide for ``a`` and ``b``,
# whose effects depend on each other, and narrow for the others, which act alone. The
# marks at the bottom show where the rows are.

fig, axes = plt.subplots(2, 3, figsize=(7.6, 4.6), layout="constrained")
display = EffectsDisplay.from_estimator(model, X, list("abcdef"), ax=axes.ravel())
plt.show()

# %%
# :func:`mpboost.compute_effects` returns the numbers, and a word for each direction.

for effect in compute_effects(model, X, list("abcdef")):
    curve = effect.curves[0]
    low, high = curve.means.min(), curve.means.max()
    print(f"{effect.name}: {curve.direction:16} from {low:5.2f} to {high:5.2f}")
