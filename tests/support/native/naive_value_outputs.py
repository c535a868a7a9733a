"""A naive twin of the kernels for sums of predictions and for weights by residuals."""

import numpy as np

#: What a residual weighs, given as a multiple of the median one.
RESIDUAL_WEIGHTINGS = {
    "linear": lambda r: min(r, 3),
    "square": lambda r: min(r, 3) ** 2,
    "exponential": lambda r: 1 - np.exp(-min(r, 3)),
    "threshold": lambda r: 1 if r > 1 else 0,
}


def add_values(values, patch, labels, weights, sums, oop_sums, oop_counts, n_learners, unseen):
    """Return the new sums, out-of-patch sums and counts, and both sums of squared errors."""
    weights = np.ones(len(labels)) if weights is None else weights
    is_outside = ~np.isin(np.arange(len(values)), patch)
    sums, oop_sums, oop_counts = sums + values, oop_sums + np.where(is_outside, values, 0.0), oop_counts + is_outside
    oop = np.where(oop_counts > 0, oop_sums / np.maximum(oop_counts, 1), unseen)
    errors = [np.sum(weights * (labels - predictions) ** 2) for predictions in (sums / n_learners, oop)]
    return sums, oop_sums, oop_counts, errors


def compute_median(values, weights):
    """Return the median or, with weights, the lowest value such that those up to it have half of the weight."""
    if weights is None:
        return np.median(values)
    return min(v for v in values.tolist() if 2 * weights[values <= v].sum() >= weights.sum())


def weigh_residuals(weighting, exploration, labels, sums, n_learners, rows, median_weights, weights):
    """Return the logarithms of the weights of rows."""
    weights = np.ones(len(labels)) if weights is None else weights
    residuals = np.abs(labels - sums / n_learners)
    scale = compute_median(residuals[rows], median_weights) or np.average(residuals, weights=weights) or 1.0
    found = np.array([RESIDUAL_WEIGHTINGS[weighting](r) for r in residuals / scale])
    floor = max(exploration, np.finfo(float).tiny)
    mean = np.average(found, weights=weights) or 1.0
    return np.log((1 - exploration) * found / mean + floor) + np.log(weights)
