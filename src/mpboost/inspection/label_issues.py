"""Find suspect labels: compare them with out-of-patch predictions."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._compat import Interval, validate_params
from mpboost.inspection.checks import check_model
from mpboost.inspection.judgement import Judgement, compute_own_and_predicted, decode_targets, require_judgement
from mpboost.inspection.row_table import RowTable
from mpboost.outputs.statistics import estimate_share_interval

#: The difficulty of a row whose residual is five times the median: it is suspect.
RESIDUAL_THRESHOLD = 5 / 6

#: Shares of the rows, the most confidently predicted first, that label noise is estimated on; the least number of rows.
CONFIDENT_SHARES, MIN_CONFIDENT_ROWS = (0.1, 0.2, 0.5, 1.0), 100

#: No label is suspect if the surest predictions are wrong this often, relative to always predicting the largest class.
MAX_NOISE = 2 / 3


class LabelIssues(RowTable):
    """Suspect labels, the most suspect first: a table of four columns, ``issues.row`` or ``issues["row"]``.

    It is also a dict of arrays of the same length. ``find_label_issues`` makes it.

    Attributes
    ----------
    row : int64 array of shape (n_issues,)
        Positions in the training data.
    difficulty : float64 array of shape (n_issues,)
        ``observation_difficulty_`` of these rows.
    given, suggested : arrays of shape (n_issues,)
        The labels, or numbers, and the out-of-patch predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> issues = find_label_issues(MPBoostClassifier(random_state=0).fit(X, y), n=3)
    >>> len(issues), list(issues.to_frame().columns)
    (3, ['row', 'difficulty', 'given', 'suggested'])
    """

    _order = "the most suspect first"


@validate_params(
    {
        "model": "no_validation",
        "n": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
    },
    prefer_skip_nested_validation=True,
)
def find_label_issues(model: Any, *, n: int | None = None, threshold: float | None = None) -> LabelIssues:
    """Find training rows whose labels, or numbers, are suspect, the most suspect first.

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
        are None, a number is suspect if its residual is at least five times the median, and a label if it is more
        likely wrong than right, supposing that wrong labels occur at random in the share that ``estimate_label_noise``
        returns. Where labels are noisy by nature, even such labels may be right. If the surest predictions are hardly
        better than a constant, no label is suspect.

    Returns
    -------
    issues : LabelIssues
        A table; ``issues.to_frame()`` is a data frame. Its columns are ``row``, positions in the training data;
        ``difficulty``; ``given``, the labels; ``suggested``, the out-of-patch predictions. Rows that no learner could
        judge (``oop_counts_`` is 0) are left out.

    See Also
    --------
    estimate_label_noise : Estimates how many labels are wrong at most.
    MPBoostClassifier : Fits a model. If more than a tenth of the labels are wrong, ``adaptive_observations=False``
        finds them a little better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[7, 20]] = 2
    >>> issues = find_label_issues(MPBoostClassifier(random_state=0).fit(X, y))
    >>> {7, 20} <= set(issues.row)
    True
    >>> issues.row[:1], issues.given[:1], issues.suggested[:1]
    (array([7]), array([2]), array([0]))
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
        is_suspect = _are_probably_wrong(*compute_own_and_predicted(model, judgement), judgement, len(model.classes_))
    else:
        is_suspect = difficulty >= RESIDUAL_THRESHOLD
    places = np.flatnonzero(is_suspect)
    places = places[np.argsort(-difficulty[places], kind="stable")][:n]
    return LabelIssues(
        row=rows[places],
        difficulty=difficulty[places],
        given=decode_targets(model, given[places]),
        suggested=decode_targets(model, suggested[places]),
    )


def estimate_label_noise(model: Any) -> float:
    """Estimate the largest share of the labels of a classifier that can be wrong, if labels are wrong at random.

    It is the share of labels that disagree with the out-of-patch predictions the model is most sure of. Where these
    predictions are right, only wrong labels disagree. But labels that are noisy by nature disagree as well, and data
    cannot tell the two apart: if some of the most confident predictions are wrong, fewer labels are wrong, or none.

    Parameters
    ----------
    model : classifier of mpboost
        A fitted or loaded model; no data are needed.

    Returns
    -------
    share : float
        Share of the judged labels, between 0 and 1.

    See Also
    --------
    find_label_issues : Finds the suspect labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, estimate_label_noise
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clean = estimate_label_noise(MPBoostClassifier(random_state=0).fit(X, y))
    >>> y[:57] = 1 - y[:57]
    >>> noisy = estimate_label_noise(MPBoostClassifier(random_state=0).fit(X, y))
    >>> bool(clean < 0.04), bool(0.08 < noisy < 0.2)
    (True, True)
    """
    check_model(model)
    if not hasattr(model, "classes_"):
        raise TypeError(f"Label noise is estimated for classifiers, not for {type(model).__name__}.")
    judgement = require_judgement(model)
    return _estimate_noise(compute_own_and_predicted(model, judgement)[1], ~judgement.is_right)


def _estimate_noise(confidences: NDArray[np.float64], is_wrong: NDArray[np.bool_]) -> float:
    """Estimate the share of labels that are wrong at random: the least share of disagreements among confident rows.

    Of each share the upper end of its interval counts: that it may be larger than was seen by chance.
    """
    n_rows = len(confidences)
    descending = np.sort(-confidences)
    n_wrong = np.cumsum(is_wrong[np.argsort(-confidences, kind="stable")])
    sizes = np.clip(np.ceil(np.array(CONFIDENT_SHARES) * n_rows).astype(int), min(n_rows, MIN_CONFIDENT_ROWS), n_rows)
    ends = np.searchsorted(descending, descending[sizes - 1], side="right")  # with all rows that are as confident
    return float(min(estimate_share_interval(n_wrong[end - 1], end)[1] for end in ends))


def _are_probably_wrong(
    own: NDArray[np.float64], predicted: NDArray[np.float64], judgement: Judgement, n_classes: int
) -> NDArray[np.bool_]:
    """Check which labels are more likely wrong than right, given the probabilities of the own and the predicted class.

    A label that is wrong at random has the probability noise / (n_classes - 1) where another class is sure. The
    probability ``own`` includes it, so the quotient is the share of such labels that are wrong.
    """
    is_wrong = ~judgement.is_right
    noise = _estimate_noise(predicted, is_wrong)
    if noise > MAX_NOISE * (1.0 - np.bincount(judgement.given).max() / len(is_wrong)):
        return np.zeros(len(is_wrong), dtype=bool)
    return is_wrong & (noise / (n_classes - 1) * predicted >= 0.5 * own)
