"""Rows as exported models read them, where these know only numbers."""

from typing import Any

import numpy as np

from mpboost._arrays import Floats
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.inputs import check_table
from mpboost.export.description import check_model


def encode_rows(model: MinipatchBooster, X: Any) -> Floats:
    """Encode a table as the numbers that treelite, shap and C expect: categories by code, missing values as NaN.

    The code of a category is its position in ``model.categories_``. Categories that did not occur in training are
    missing; if a feature has too many categories, rare and new ones have one more code.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Rows to encode.

    Returns
    -------
    rows : float64 array of shape (n_samples, n_features)
        One column per feature. Without categorical features, these are the numbers of X.

    Examples
    --------
    >>> import pandas as pd
    >>> from mpboost import MPBoostClassifier
    >>> from mpboost.export import encode_rows
    >>> X = pd.DataFrame({"size": [1.5, 2.5] * 50, "kind": ["b", "a"] * 50})
    >>> model = MPBoostClassifier(n_estimators=5, random_state=0).fit(X, X["kind"])
    >>> encode_rows(model, pd.DataFrame({"size": [2, 3], "kind": ["b", "new"]}))
    array([[ 2.,  1.],
           [ 3., nan]])
    """
    check_model(model)
    if isinstance(X, BinnedDataset):
        raise TypeError("A dataset on disk has bins in place of values: pass the table that it was built from.")
    return np.asarray(check_table(model, X).to_array(), dtype=np.float64)
