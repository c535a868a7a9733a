"""Which labels are probably wrong: what learners that never saw a row make of it, against what it is labelled."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from mpboost._compat import Interval, validate_params
from mpboost.inspection.checks import check_model
from mpboost.inspection.judgement import decode_targets, require_judgement

#: Numbers are suspect whose residual is at least five times the median.
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

    Every row is judged by those learners of the model that never saw it, as ``observation_difficulty_`` tells; nothing
    has to be trained again. Gradient models judge the rows that they reserved: with ``n_models=5, oop_size=0.2`` all.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted model, or one from a file; no data are needed.
    n : int, default=None
        The most rows to give; alone, so many whether their labels look wrong or not.
    threshold : float, default=None
        Give the rows whose difficulty is at least this, between 0 and 1; 0 ranks all that are judged. If both are None,
        a row is suspect if another class wins it, by votes as clear as that class has, on average, on rows that are
        labelled so; and a number, if its residual is at least five times the median.

    Returns
    -------
    issues : Bunch
        A dict of arrays of the same length, for ``pandas.DataFrame(issues)`` or the like: ``row``, positions in the
        training data; ``difficulty``; ``given``, their labels; ``suggested``, what the learners say instead. Rows that
        no learner judged (``oop_counts_`` is 0) are never among them.

    See Also
    --------
    MPBoostClassifier : Fits a model. With more than a tenth of wrong labels, ``adaptive_observations=False`` finds them
        a little better.

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
            f"Only the {len(rows)} rows that this model reserved are judged: fit with n_models=5 and oop_size=0.2 to "
            "judge all.",
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
    """Tell which rows another class wins as clearly as it wins, on average, the rows of its own.

    How clear that is depends on the class, on how noisy labels are, and on how learners vote: as in confident learning
    (Northcutt, Jiang and Chuang, 2021), which compares probabilities in this way, no fixed threshold does for all.
    """
    n_classes = 1 + max(given.max(), winners.max())
    sums, counts = (np.bincount(given, weights, n_classes) for weights in (1.0 - difficulty, None))
    typical = sums / np.maximum(counts, 1)
    return (difficulty > 0.5) & (difficulty >= typical[winners])
