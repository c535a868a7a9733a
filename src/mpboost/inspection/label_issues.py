"""Which labels are probably wrong: what learners that never saw a row make of it, against what it is labelled."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, validate_params
from sklearn.utils.validation import check_is_fitted

from mpboost.estimators.base import MinipatchBooster
from mpboost.outputs.votes import find_winners

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
        Give the rows whose difficulty is at least this, between 0 and 1; 0 ranks all rows. If both are None, a row is
        suspect if another class wins it, by votes as clear as that class has, on average, on rows that are labelled so;
        and a number, if its residual is at least five times the median.

    Returns
    -------
    issues : Bunch
        A dict of arrays of the same length, for ``pandas.DataFrame(issues)`` or the like: ``row``, positions in the
        training data; ``difficulty``; ``given``, their labels; ``suggested``, what the learners say instead. Rows of
        weight 0, and those that a gradient model did not reserve, are never among them.

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
    if not isinstance(model, MinipatchBooster):
        raise TypeError(
            f"Label issues are found by a model of mpboost, not by {type(model).__name__}; of a pipeline, pass the "
            "last step."
        )
    check_is_fitted(model)
    if np.isnan(model.oop_score_):
        raise ValueError(f"No learner of this model can judge a row that it never saw. {model._oop_advice}")
    difficulty, given = model.observation_difficulty_, model._targets
    n_judged, n_learned = np.count_nonzero(~np.isnan(difficulty)), np.count_nonzero(model.observation_probabilities_)
    if 2 * n_judged < n_learned:
        warnings.warn(
            f"Only the {n_judged} rows that this model reserved are judged: fit with n_models=5 and oop_size=0.2 to "
            "judge all.",
            stacklevel=3,
        )
    suggested = _find_winners(model) if hasattr(model, "classes_") else model.oop_prediction_
    if threshold is not None:
        is_suspect = difficulty >= threshold
    elif n is not None:
        is_suspect = ~np.isnan(difficulty)
    elif hasattr(model, "classes_"):
        is_suspect = _find_clear_wins(difficulty, given, suggested)
    else:
        is_suspect = difficulty >= RESIDUAL_THRESHOLD
    rows = np.flatnonzero(is_suspect)
    rows = rows[np.argsort(-difficulty[rows], kind="stable")][:n]
    given, suggested = given[rows], suggested[rows]
    if hasattr(model, "classes_"):
        given, suggested = model.classes_[given], model.classes_[suggested]
    return Bunch(row=rows, difficulty=difficulty[rows], given=given, suggested=suggested)


def _find_winners(model: Any) -> NDArray[np.intp]:
    """Find the codes of the classes that win out of patch."""
    votes = model.oop_decision_function_
    if not hasattr(model, "_ranks"):  # log odds, which have no ties
        return np.asarray(votes >= 0 if votes.ndim == 1 else votes.argmax(axis=1), dtype=np.intp)
    return find_winners(votes if votes.ndim == 2 else np.column_stack([-votes, votes]), model._ranks)


def _find_clear_wins(
    difficulty: NDArray[np.float64], given: NDArray[np.uint16], winners: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Find the rows that another class wins as clearly as it wins, on average, the rows of its own.

    How clear that is depends on the class, on how noisy labels are, and on how learners vote: as in confident learning
    (Northcutt, Jiang and Chuang, 2021), which compares probabilities in this way, no fixed threshold does for all.
    """
    is_present = ~np.isnan(difficulty)
    labels, confidence = given[is_present], 1.0 - difficulty[is_present]
    n_classes = 1 + max(labels.max(), winners.max())
    sums, counts = (np.bincount(labels, weights, n_classes) for weights in (confidence, None))
    typical = sums / np.maximum(counts, 1)
    return (difficulty > 0.5) & (difficulty >= typical[winners])
