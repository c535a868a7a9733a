"""
Which features help, tested
===========================

Every feature gets an importance, useless ones, too. A test tells how much of it is
chance. Friedman's test function shows whether to believe it: we know that ``a`` to
``e`` matter, that ``f`` and ``g`` are noise, and we add ``h``, which is a noisy copy of
``d``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1

from mpboost import FeatureInferenceDisplay, MPBoostRegressor, infer_features

X, y = make_friedman1(600, n_features=7, noise=1.0, random_state=0)
X = pd.DataFrame(X, columns=list("abcdefg"))
X["h"] = X["d"] + 0.2 * np.random.default_rng(0).normal(size=len(X))
found = infer_features(MPBoostRegressor(random_state=0), X, y)
print(found)

# %%
# The importance is what the ensemble loses in R² if a shuffled copy takes the place of
# the feature, judged on each row by learners that were not trained on it. The noise
# features are near 0. Yet ``g`` is called useful here, by chance, as must happen now
# and then in tests at 5 %; with copies that are shuffled in another order
# (``random_state=1``) it is not. And ``h`` is found useful, although it tells nothing
# that ``d`` does not: it helps learners that do not have ``d``.

FeatureInferenceDisplay(found).plot()
plt.show()

# %%
# Features that say the same share their importance. A group is left out as a whole.

groups = {"d and h": ["d", "h"], "f and g": ["f", "g"]}
together = infer_features(MPBoostRegressor(random_state=0), X, y, groups=groups)
print(together)
