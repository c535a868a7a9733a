"""Update rules of your own: how rows are weighted, how features are credited, and how q moves.

A rule is any object that has the method of one of the protocols here; it need not derive from them. ``weighting`` of
``MPBoostClassifier`` and ``MPBoostRegressor`` takes a ``MarginWeighting`` or a ``RowWeighting``, ``importance`` a
``FeatureCredit``, and ``feature_update`` a ``FeatureUpdate``. A rule is given
a record of the rows or features that it is about.

A rule must be a function of what it is given: it keeps nothing from call to call. The same state may be asked about
twice, an earlier one after a later one, and several fits may use one rule. ``credit_features`` may be called by several
threads at once: draw random numbers by a generator that is seeded with ``learner.iteration``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost._arrays import Floats, Positions, as_real
from mpboost._wording import count

__all__ = [
    "FeatureCredit",
    "FeatureUpdate",
    "MarginWeighting",
    "PatchFeatures",
    "PatchLearner",
    "RowWeighting",
    "TrainingRows",
]

#: The largest logarithm of a weight: beside larger ones, differences between rows would be lost in rounding.
MAX_LOG = 1e12


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The training rows as a ``RowWeighting`` sees them. Its arrays are read-only.

    Attributes
    ----------
    n_learners : int
        Number of learners so far; 0 before the first one.
    n_samples : int
        Number of rows that were passed to ``fit``.
    positions : int64 array of shape (n_rows,)
        Positions of the rows among those that were passed to ``fit``: rows of weight 0 are left out. A rule that knows
        something about each row takes what it needs by them.
    targets : array of shape (n_rows,)
        Codes of the classes, 0, 1, 2, ... in the order of ``classes_``, or the numbers to predict.
    outputs : float64 array of shape (n_rows,) or (n_rows, n_classes)
        Two classes: the decision function, above 0 for class 1. More classes: the learning rate times the votes for
        each. Numbers: the predictions; before the first learner, the mean of the targets.
    margins : float64 array of shape (n_rows,)
        Classes: the learning rate times the votes for the row's own class minus those for the strongest other one.
        Numbers: residuals, the target minus the prediction.
    sample_weight : float64 array of shape (n_rows,) or None
        ``sample_weight`` times ``class_weight``, with a mean of 1; None if all are the same. They multiply the weights
        that a rule returns.
    """

    n_learners: int
    n_samples: int
    positions: Positions
    targets: NDArray[Any]
    outputs: Floats
    margins: Floats
    sample_weight: Floats | None
    _compute_oop_outputs: Callable[[], Floats]

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def oop_outputs(self) -> Floats:
        """The same as ``outputs``, by the learners that never saw the row; NaN for a number that all of them saw."""
        return _protect(self._compute_oop_outputs())


@dataclass(frozen=True, eq=False)
class PatchLearner:
    """A learner and the rows to judge it by, as a ``FeatureCredit`` sees them.

    Attributes
    ----------
    iteration : int
        Number of the learner, counted from 1.
    features : int64 array of shape (n_patch_features,)
        The features of the minipatch.
    positions : int64 array of shape (n_rows,)
        Positions of the judged rows among those that were passed to ``fit``. The learner never saw them, unless every
        minipatch contains all rows: then they are those of the minipatch.
    X : array of shape (n_rows, n_patch_features)
        The features of these rows as the learner reads them: native trees read the numbers of bins, where 255 stands
        for a missing value; a given ``estimator`` reads values.
    targets : array of shape (n_rows,)
        What the learner should predict: codes of classes, 0, 1, 2, ..., or numbers. With ``multiclass="oc"`` the codes
        are those of the two colours.
    importances : float64 array of shape (n_patch_features,)
        What ``importance="out_of_patch"`` credits the features with, before it is scaled; some may be negative.
    predict : callable
        Predicts rows like those of ``X``, say with a feature shuffled: codes of classes, or numbers.
    """

    iteration: int
    features: Positions
    positions: Positions
    X: NDArray[Any]
    targets: NDArray[Any]
    importances: Floats
    predict: Callable[[ArrayLike], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PatchFeatures:
    """The features of a minipatch as a ``FeatureUpdate`` sees them, in ascending order.

    Attributes
    ----------
    iteration : int
        Number of the learner, counted from 1.
    n_features : int
        Number of all features.
    features : int64 array of shape (n_patch_features,)
        The features of the minipatch.
    probabilities : float64 array of shape (n_patch_features,)
        Their q.
    importances : float64 array of shape (n_patch_features,)
        What the learner credits them with: not all are 0. With ``importance="out_of_patch"`` or a rule some may be
        negative, and sizes sum to 1; otherwise they are shares.
    mean_importances : float64 array of shape (n_patch_features,)
        Their means over the learners so far that had the feature, this one included.
    counts : int64 array of shape (n_patch_features,)
        Numbers of these learners.
    """

    iteration: int
    n_features: int
    features: Positions
    probabilities: Floats
    importances: Floats
    mean_importances: Floats
    counts: Positions


class MarginWeighting(Protocol):
    """A rule for p by the margin of a row alone: L of the paper's Table I.

    For classes it is called for a table of margins, not for rows, so a fit is as fast as with the rules that are built
    in. The table has the margins of 256 votes or more, beyond those that rows have: they need finite weights, too. With
    more than two classes, ``multiclass`` says which margins L is applied to. For numbers it is called for the residuals
    of all rows.

    Examples
    --------
    Rows that are far on the wrong side are probably mislabelled; this rule gives them less weight again:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier
    >>> class Bell:
    ...     def log_weight(self, margins):
    ...         return -np.log1p((margins + 1.0) ** 2)
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(weighting=Bell(), random_state=0).fit(X, y)
    >>> bool(model.oop_score_ > 0.95)
    True
    """

    def log_weight(self, margins: Floats) -> ArrayLike:
        """Compute the logarithm of the weight at each margin.

        Parameters
        ----------
        margins : float64 array of shape (n,)
            Classes: margins, the learning rate times the votes for a row's class minus those against it. Numbers:
            residuals, the target minus the prediction, as multiples of the median size of residuals, cut at a million.

        Returns
        -------
        log_weights : array of shape (n,)
            Finite numbers, up to a constant. For "almost never" return a low number, such as -1000.
        """


class RowWeighting(Protocol):
    """A rule for p that sees all rows: it may depend on targets, groups, time, or out-of-patch outputs.

    It is called whenever p is needed: with the default ``round_size`` every 8 iterations or more often. It replaces
    what ``multiclass`` says about weights.

    Examples
    --------
    Rows of the group with the lower accuracy get more weight:

    >>> import numpy as np
    >>> from mpboost import MPBoostClassifier
    >>> class WorstGroup:
    ...     def __init__(self, group):
    ...         self.group = group
    ...
    ...     def log_weight_rows(self, rows):
    ...         group = self.group[rows.positions]
    ...         errors = np.bincount(group, rows.margins <= 0) / np.bincount(group)
    ...         return np.log(errors + 0.01)[group] - np.logaddexp(0.0, rows.margins)
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 5))
    >>> y = X[:, 0] + rng.normal(size=500) > 0
    >>> rule = WorstGroup((X[:, 1] > 0).astype(int))
    >>> model = MPBoostClassifier(weighting=rule, random_state=0).fit(X, y)
    >>> bool(model.oop_score_ > 0.6)
    True
    """

    def log_weight_rows(self, rows: TrainingRows) -> ArrayLike:
        """Compute the logarithm of the weight of each row.

        Parameters
        ----------
        rows : TrainingRows
            The rows, and what the learners so far say about them.

        Returns
        -------
        log_weights : array of shape (n_rows,)
            Numbers, up to a constant. Rows of minus infinity are drawn only if there are too few others; by
            ``MPBoostRegressor`` also for the share ``observation_exploration``, unless it is 0.
        """


class FeatureCredit(Protocol):
    """A rule that credits the features of a minipatch after a learner was trained on it; q moves towards the credits.

    Examples
    --------
    Features cost something, and have to earn it:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier
    >>> class Costs:
    ...     def __init__(self, costs):
    ...         self.costs = costs
    ...
    ...     def credit_features(self, learner):
    ...         return learner.importances / self.costs[learner.features]
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cheap = MPBoostClassifier(importance=Costs(np.where(np.arange(30) < 10, 1.0, 50.0)), random_state=0).fit(X, y)
    >>> bool(cheap.feature_probabilities_[:10].sum() > 0.5)
    True
    """

    def credit_features(self, learner: PatchLearner) -> ArrayLike:
        """Compute the credits of the features.

        Parameters
        ----------
        learner : PatchLearner
            The learner, and rows to judge it by.

        Returns
        -------
        credits : array of shape (n_patch_features,)
            Finite numbers; negative for features that do harm. They are divided by the sum of their sizes, so that
            all learners count the same. Credits that are all 0 do not change q.
        """


class FeatureUpdate(Protocol):
    """A rule that moves q inside a minipatch. It replaces ``feature_momentum``.

    Examples
    --------
    Multiply q by a factor that depends on the credits:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier
    >>> class Hedge:
    ...     def update_probabilities(self, features):
    ...         return features.probabilities * np.exp(0.5 * features.importances)
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(feature_update=Hedge(), random_state=0).fit(X, y)
    >>> round(float(model.feature_probabilities_.sum()), 12)
    1.0
    """

    def update_probabilities(self, features: PatchFeatures) -> ArrayLike:
        """Compute q of the features of a minipatch.

        Parameters
        ----------
        features : PatchFeatures
            The features, their q and their importances.

        Returns
        -------
        probabilities : array of shape (n_patch_features,)
            Finite numbers, not negative, not all 0, unless q of all of them is 0. They are scaled so that their sum
            stays what it was. Return ``features.probabilities`` to leave q as it is.
        """


def weigh_margins(rule: MarginWeighting, margins: Floats, n_learners: int) -> Floats:
    """Ask a rule for the logarithms of weights at margins, and check them.

    Examples
    --------
    >>> class Doubled:
    ...     def log_weight(self, margins):
    ...         return -2 * margins
    >>> weigh_margins(Doubled(), np.array([0.5, 1.0]), 1)
    array([-1., -2.])
    """
    logs = _ask(rule, "log_weight", margins, f"after {count(n_learners, 'learner')}", margins.shape)
    is_bad = ~(np.abs(logs) <= MAX_LOG)
    if is_bad.any():
        raise ValueError(
            f"log_weight of {_name(rule)} must return finite numbers, at most {MAX_LOG:g} in size, but is "
            f"{logs[is_bad][0]} at a margin or residual of {margins[is_bad][0]:.6g}: for a weight of about 0 return a "
            "low number such as -1000."
        )
    return logs


def weigh_rows(rule: RowWeighting, rows: TrainingRows) -> Floats:
    """Ask a rule for the logarithms of the weights of all rows, and check them."""
    when = f"after {count(rows.n_learners, 'learner')}"
    logs = _ask(rule, "log_weight_rows", rows, when, (len(rows),))
    is_bad = ~((np.abs(logs) <= MAX_LOG) | np.isneginf(logs))
    if is_bad.any():
        raise ValueError(
            f"log_weight_rows of {_name(rule)} must return numbers of at most {MAX_LOG:g} in size, or minus infinity, "
            f"but {when} returned {logs[is_bad][0]} for row {rows.positions[is_bad][0]}."
        )
    if not np.isfinite(logs).any():
        raise ValueError(
            f"log_weight_rows of {_name(rule)} gave all rows a weight of 0 (minus infinity) {when}: leave some to draw."
        )
    return logs


def make_rows(
    n_learners: int,
    positions: Positions,
    n_samples: int,
    targets: NDArray[Any],
    outputs: Floats,
    margins: Floats,
    sample_weight: Floats | None,
    compute_oop_outputs: Callable[[], Floats],
) -> TrainingRows:
    """Make what a rule sees of rows: arrays that it cannot change."""
    weights = None if sample_weight is None else _protect(sample_weight)
    arrays = _protect(positions), _protect(targets), _protect(outputs), _protect(margins), weights
    return TrainingRows(n_learners, n_samples, *arrays, compute_oop_outputs)


def credit_features(rule: FeatureCredit, learner: PatchLearner) -> Floats:
    """Ask a rule for the credits of features, and check them."""
    when = f"for learner {learner.iteration}"
    credits = _ask(rule, "credit_features", learner, when, learner.features.shape)
    if not np.isfinite(credits).all():
        raise ValueError(
            f"credit_features of {_name(rule)} must return finite numbers, but {when} returned "
            f"{credits[~np.isfinite(credits)][0]} for feature {learner.features[~np.isfinite(credits)][0]}."
        )
    return credits


def update_probabilities(rule: FeatureUpdate, features: PatchFeatures) -> Floats:
    """Ask a rule for q of the features of a minipatch; check it, and scale it to the mass that they had.

    Examples
    --------
    >>> class Equal:
    ...     def update_probabilities(self, features):
    ...         return np.ones(len(features.features))
    >>> q, importances = np.array([0.1, 0.3]), np.array([0.0, 1.0])
    >>> features = PatchFeatures(1, 5, np.array([0, 3]), q, importances, importances, np.array([1, 1]))
    >>> update_probabilities(Equal(), features)
    array([0.2, 0.2])
    """
    when, mass = f"after learner {features.iteration}", features.probabilities.sum()
    given = _ask(rule, "update_probabilities", features, when, features.features.shape)
    is_bad = ~(np.isfinite(given) & (given >= 0))
    if is_bad.any():
        raise ValueError(
            f"update_probabilities of {_name(rule)} must return finite numbers that are not negative, but {when} "
            f"returned {given[is_bad][0]} for feature {features.features[is_bad][0]}."
        )
    if mass == 0:
        return np.zeros_like(given)  # whatever the shares are
    largest = given.max()
    if largest == 0:
        raise ValueError(
            f"update_probabilities of {_name(rule)} returned only zeros {when}: return features.probabilities to "
            "leave q as it is."
        )
    shares = given / largest  # sums of large numbers may overflow
    scale = mass / shares.sum()
    if abs(scale - largest) <= len(given) * np.finfo(np.float64).eps * scale:
        return given  # it keeps the mass itself, but for rounding
    return np.asarray(shares * scale)


def _ask(rule: Any, method: str, seen: Any, when: str, shape: tuple[int, ...]) -> Floats:
    """Call a method of a rule; return its numbers in a new array. Errors of the rule get a note that names it."""
    if isinstance(rule, type):
        raise TypeError(f"{rule.__name__} is a class: pass an instance of it as the rule.")
    try:
        given = getattr(rule, method)(seen)
    except Exception as error:
        error.add_note(f"This was raised by {method} of {_name(rule)}, a rule of your own, {when}.")
        raise
    numbers = as_real(given, f"What {method} of {_name(rule)} returned {when}")
    if numbers.shape != shape:
        raise ValueError(
            f"{method} of {_name(rule)} must return an array of shape {shape}, but {when} returned one of shape "
            f"{numbers.shape}."
        )
    return numbers


def _name(rule: object) -> str:
    return type(rule).__name__


def _protect(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
