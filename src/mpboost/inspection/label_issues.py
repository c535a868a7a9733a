"""Find labels that are probably wrong: compare them with out-of-patch predictions."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from mpboost._compat import Interval, validate_params
from mpboost.inspection.checks import check_model
from mpboost.inspection.judgement import decode_targets, require_judgement

#: The difficulty of a row whose residual is five times the median: it is suspect.
RESIDUAL_THRESHOLD = 5 / 6


@validate_params(
    {
        "model": "no_validation",
        "n": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
    },
    prefer_skip_nested_validation=True,
)
def find_label_issues(model: Any, *, n: int | None = None, threshold: float | None = None) -> Bunch:
    """Find training rows whose labels, or numbers, are probably wrong, the most suspect first.

    Each row is judged by the learners that were not trained on it (``observation_difficulty_``); nothing is trained
    again. Gradient models judge only the rows that they reserved: with ``n_models=5, oop_size=0.2`` these are all rows.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted or loaded model; no data are needed.
    n : int, default=None
        Maximum number of rows to return. Without a threshold, return exactly so many, suspect or not.
    threshold : float, default=None
        Return rows with at least this difficulty, between 0 and 1; 0 ranks all judged rows. If ``n`` and ``threshold``
        are None, a label is suspect if another class wins the vote at least as clearly as that class wins its own rows
        on average, and a number if its residual is at least five times the median.

    Returns
    -------
    issues : Bunch
        A dict of arrays of the same length, as for ``pandas.DataFrame(issues)``: ``row``, positions in the training
        data; ``difficulty``; ``given``, the labels; ``suggested``, the out-of-patch predictions. Rows that no learner
        could judge (``oop_counts_`` is 0) are left out.

    See Also
    --------
    MPBoostClassifier : Fits a model. If more than a tenth of the labels are wrong, ``adaptive_observations=False``
        finds them a little better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[7, 20]] = 2
    >>> issues = find_label_issues(MPBoostClassifier(random_state=0).fit(X, y))
    >>> sorted(issues.row[:2].tolist()), issues.given[:2], issues.suggested[:2]
    ([7, 20], array([2, 2]), array([0, 0]))
    """
    check_model(model)
    judgement = require_judgement(model)
    rows, given, suggested = judgement.rows, judgement.given, judgement.predicted
    difficulty = model.observation_difficulty_[rows]
    if hasattr(model, "oop_size") and 2 * len(rows) < np.count_nonzero(model.observation_probabilities_):
        warnings.warn(
            f"Only the {len(rows)} rows that this model reserved are judged. To judge all rows, fit with n_models=5 "
            "and oop_size=0.2.",
            stacklevel=3,
        )
    if threshold is not None:
        is_suspect = difficulty >= threshold
    elif n is not None:
        is_suspect = np.ones(len(rows), dtype=bool)
    elif hasattr(model, "classes_"):
        is_suspect = _are_clear_wins(difficulty, given, suggested)
    else:
        is_suspect = difficulty >= RESIDUAL_THRESHOLD
    places = np.flatnonzero(is_suspect)
    places = places[np.argsort(-difficulty[places], kind="stable")][:n]
    return Bunch(
        row=rows[places],
        difficulty=difficulty[places],
        given=decode_targets(model, given[places]),
        suggested=decode_targets(model, suggested[places]),
    )


def _are_clear_wins(
    difficulty: NDArray[np.float64], given: NDArray[np.int64], winners: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Check for which rows another class wins at least as clearly as it wins its own rows on average.

    There is no fixed threshold, since typical votes depend on the class, on the noise of labels and on the learners.
    Confident learning (Northcutt, Jiang and Chuang, 2021) compares probabilities in the same way.
    """
    n_classes = 1 + max(given.max(), winners.max())
    sums, counts = (np.bincount(given, weights, n_classes) for weights in (1.0 - difficulty, None))
    typical = sums / np.maximum(counts, 1)
    return (difficulty > 0.5) & (difficulty >= typical[winners])
