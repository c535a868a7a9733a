"""
Categories and missing values as they are
=========================================

A data frame with text, categories, numbers and gaps goes into ``fit`` as it is. Trees
split categories by subsets of their values, and send missing values to the side where
they fit better. There is nothing to encode and nothing to impute.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mpboost import EffectsDisplay, MPGradientBoostingRegressor

# %%
# Rents of made-up flats. The district is text, the heating a category; some sizes are
# missing. Owners leave out the year of cheap flats more often, so a missing year tells
# something.

rng = np.random.default_rng(0)
n_flats = 2000
extra = {
    "Docks": 250,
    "Hill": 420,
    "Market": 330,
    "Old Town": 380,
    "Station": 0,
    "Valley": 90,
}
flats = pd.DataFrame(
    {
        "district": rng.choice(list(extra), n_flats),
        "heating": pd.Categorical(
            rng.choice(["gas", "heat pump", "oil"], n_flats, p=[0.5, 0.3, 0.2])
        ),
        "size": rng.gamma(9, 8, n_flats).round(),
        "year": rng.integers(1900, 2025, n_flats).astype(float),
    }
)
rent = (
    150
    + 9 * flats["size"]
    + flats["district"].map(extra)
    + flats["heating"].astype(str).map({"gas": 0, "heat pump": 90, "oil": -60})
    + 1.5 * (flats["year"] - 1960)
    + rng.normal(0, 60, n_flats)
)
flats.loc[rng.random(n_flats) < 0.1, "size"] = np.nan
flats.loc[(rent < rent.median()) & (rng.random(n_flats) < 0.5), "year"] = np.nan
print(flats.head(6).assign(rent=rent.round()).to_string())

# %%

X_train, X_test, y_train, y_test = train_test_split(flats, rent, random_state=0)
model = MPGradientBoostingRegressor(random_state=0).fit(X_train, y_train)
print(f"R² on new flats {model.score(X_test, y_test):.3f}")
print(f"out-of-patch R² {model.oop_score_:.3f}")
print("categorical:", list(X_train.columns[model.is_categorical_]))

# %%
# The effects of the features: the mean prediction if all flats had this value. Dots of
# categories are larger the more flats have them; the mark beside a curve is the effect
# of a missing value.

fig, axes = plt.subplots(2, 2, figsize=(7.4, 5.4), layout="constrained")
display = EffectsDisplay.from_estimator(
    model, X_train, ["district", "heating", "size", "year"], ax=axes.ravel()
)
plt.show()
