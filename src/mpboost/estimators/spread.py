"""Models of how large the errors of other models are, for intervals whose width depends on the row."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mpboost.estimators.conformal import IntervalPredictions, measure_errors
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.out_of_patch import find_judged_rows

#: The fewest judged training rows that a spread is learned from.
MIN_JUDGED = 10


def fit_spread(model: Any, X: Any) -> MPGradientBoostingRegressor:
    """Fit a model of how large the errors of a regressor are, for intervals that are wide where predictions are poor.

    It learns the absolute out-of-patch residuals of the training rows: errors for rows that the learners never saw.
    Pass it to ``predict_interval`` as ``spread``. Save it as a model of its own.

    Parameters
    ----------
    model : MPBoostRegressor or MPGradientBoostingRegressor
        A fitted model.
    X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
        The rows that it was fitted to.

    Returns
    -------
    spread : MPGradientBoostingRegressor
        Predicts the mean absolute error of the model for each row. It has ``loss="gamma"``, and treats categories and
        bins, threads and the seed as ``model`` does. Rows without an out-of-patch prediction have weight 0, all
        others, of which it needs 10 or more, weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost import MPGradientBoostingRegressor, fit_spread
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 3))
    >>> y = X[:, 0] + X[:, 1] * rng.normal(size=2000)  # noisy where the second feature is large
    >>> model = MPGradientBoostingRegressor(random_state=0).fit(X, y)
    >>> spread = fit_spread(model, X)
    >>> low, high = model.predict_interval([[0.5, 0.1, 0.5], [0.5, 0.9, 0.5]], spread=spread).T
    >>> calm, noisy = high - low
    >>> bool(noisy > 3 * calm)
    True
    """
    if not isinstance(model, IntervalPredictions):
        raise TypeError(f"fit_spread needs a regressor of mpboost, not {type(model).__name__}.")
    check_is_fitted(model)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != model.n_samples_:
        raise ValueError(f"X has {n_rows} rows, but the model was fitted to {model.n_samples_}: pass the same rows.")
    rows = find_judged_rows(model)
    if len(rows) < MIN_JUDGED:
        raise ValueError(
            f"Only {len(rows)} training rows have out-of-patch predictions, too few to learn a spread: "
            f"{MIN_JUDGED} or more are needed. Use predict_interval without it."
        )
    errors, weights = np.ones(n_rows), np.zeros(n_rows)
    errors[rows], weights[rows] = measure_errors(model, rows), 1.0
    shared = ("categorical_features", "max_bins", "n_jobs", "random_state")
    spread = MPGradientBoostingRegressor(loss="gamma", **{name: getattr(model, name) for name in shared})
    return spread.fit(X, errors, weights)  # None would be the weights of a dataset
