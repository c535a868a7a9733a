"""Predictions that say how sure they are: intervals of numbers and sets of classes, by conformal prediction.

How far a prediction may be off is known from the training rows, each judged by learners that never saw it.
"""

import warnings
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from mpboost._arrays import Floats
from mpboost._wording import list_names
from mpboost.estimators.explained import ExplainedBooster
from mpboost.estimators.out_of_patch import estimate_given_classes, find_judged_rows
from mpboost.outputs.conformal import count_needed, find_limits


class _Groups(NamedTuple):
    """Groups of rows: of the judged training rows and of the rows to predict, as places in the list of names."""

    judged: NDArray[np.intp]
    predicted: NDArray[np.intp]
    names: list[Any]


class IntervalPredictions(ExplainedBooster):
    """Base class of the regressors: predicts intervals."""

    @property
    def _least_value(self) -> float:
        """The least number that the model can predict."""
        return -np.inf

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Predict numbers."""

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        groups: ArrayLike | None = None,
        training_groups: ArrayLike | None = None,
    ) -> Floats:
        """Predict an interval for each row that holds its number with a chosen probability.

        The interval reaches from the prediction as far as the out-of-patch residuals of the training rows do: as many
        numbers are below it as above it. It is as wide for one row as for another. Coverage is a share of many new rows
        from the source of the training rows, not a promise for each of them: hard rows are covered less often than easy
        ones, unless they are a group of their own. docs/intervals.md has how well it holds.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Share of rows whose number should be in their interval, between 0 and 1.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, such as a region. Each group then has a width of its own, from the training rows of
            this group, and is covered as often as the others.
        training_groups : array-like of shape (n_training_samples,), default=None
            The group of each training row; needed with ``groups``.

        Returns
        -------
        intervals : array of shape (n_samples, 2)
            The lower and the upper end for each row. If there are too few training rows for the coverage, intervals
            are infinite, and a warning says so.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from mpboost import MPBoostRegressor
        >>> X, y = make_friedman1(2000, noise=1.0, random_state=0)
        >>> model = MPBoostRegressor(random_state=0).fit(X[:1000], y[:1000])
        >>> low, high = model.predict_interval(X[1000:], coverage=0.9).T
        >>> bool(0.85 < ((low <= y[1000:]) & (y[1000:] <= high)).mean() < 0.95)
        True
        """
        check_is_fitted(self)
        coverage = _check_coverage(coverage)
        predictions = self.predict(X)
        rows = find_judged_rows(self)
        known = _match_groups(groups, training_groups, rows, self.n_samples_, len(predictions))
        residuals = self._targets[rows] - self.oop_prediction_[rows]
        one_side = (1.0 + coverage) / 2.0
        low, high = (
            find_limits(sign * residuals, known.judged, len(known.names), one_side)[known.predicted]
            for sign in (-1.0, 1.0)
        )
        _warn_if_endless(known, one_side, "intervals are infinite")
        return np.column_stack([np.maximum(predictions - low, self._least_value), predictions + high])


class SetPredictions(ExplainedBooster):
    """Base class of the classifiers: predicts sets of classes."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class."""

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        per_class: bool = False,
        groups: ArrayLike | None = None,
        training_groups: ArrayLike | None = None,
    ) -> NDArray[np.bool_]:
        """Predict a set of classes for each row that holds its class with a chosen probability.

        A class is in the set if its probability is as large as that of the right class was for most training rows, out
        of patch. A sure prediction is a set of one class; where several are likely, the set has several. It may be
        empty: if fewer classes than one are needed on average, the model is right more often than ``coverage`` asks
        for. Coverage is a share of many new rows from the source of the training rows, not a promise for each of them.
        docs/intervals.md has how well it holds.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Share of rows whose class should be in their set, between 0 and 1.
        per_class : bool, default=False
            Whether the rows of each class should be covered as often as those of the others. Otherwise the rows of a
            rare class may be covered less often.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, such as a region. Each group is then covered as often as the others.
        training_groups : array-like of shape (n_training_samples,), default=None
            The group of each training row; needed with ``groups``.

        Returns
        -------
        sets : bool array of shape (n_samples, n_classes)
            Which classes are in the set of each row, in the order of ``classes_``. If there are too few training rows
            for the coverage, sets have all classes, and a warning says so.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from mpboost import MPGradientBoostingClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = MPGradientBoostingClassifier(random_state=0).fit(X[:1200], y[:1200])
        >>> sets = model.predict_set(X[1200:], coverage=0.99)
        >>> sets.shape
        (597, 10)
        """
        check_is_fitted(self)
        coverage = _check_coverage(coverage)
        if per_class and groups is not None:
            raise ValueError("Pass groups or per_class=True, not both.")
        doubts = 1.0 - self.predict_proba(X)
        rows = find_judged_rows(self)
        codes = self._targets[rows].astype(np.intp)
        own = 1.0 - estimate_given_classes(self, rows)
        if per_class:
            known = _Groups(codes, codes[:0], self.classes_.tolist())
            limits = find_limits(own, codes, len(self.classes_), coverage)
        else:
            known = _match_groups(groups, training_groups, rows, self.n_samples_, len(doubts))
            limits = find_limits(own, known.judged, len(known.names), coverage)[known.predicted, None]
        _warn_if_endless(known, coverage, "sets have all classes")
        return doubts <= limits


def _check_coverage(coverage: float) -> float:
    try:
        share = float(coverage)
    except (TypeError, ValueError):
        share = np.nan
    if not 0.0 < share < 1.0:
        raise ValueError(f"coverage must be a number between 0 and 1, such as 0.9, not {coverage!r}.")
    return share


def _match_groups(
    groups: ArrayLike | None, training_groups: ArrayLike | None, rows: NDArray[np.int64], n_training: int, n_rows: int
) -> _Groups:
    """Match the groups of rows to predict with those of the judged training rows; without groups, all are one."""
    if (groups is None) != (training_groups is None):
        raise ValueError("Pass both groups and training_groups, or neither.")
    if groups is None:
        return _Groups(np.zeros(len(rows), dtype=np.intp), np.zeros(n_rows, dtype=np.intp), [None])
    given, known = column_or_1d(groups), column_or_1d(training_groups)
    for name, array, n_wanted in (("groups", given, n_rows), ("training_groups", known, n_training)):
        if len(array) != n_wanted:
            raise ValueError(f"{name} has {len(array)} entries, but there are {n_wanted} rows.")
    places = {name: place for place, name in enumerate(dict.fromkeys(known[rows].tolist()))}
    unknown = [name for name in dict.fromkeys(given.tolist()) if name not in places]
    if unknown:
        raise ValueError(
            f"No training row is in these groups: {list_names(unknown)}. Predict their rows without groups."
        )
    return _Groups(
        np.array([places[name] for name in known[rows].tolist()], dtype=np.intp),
        np.array([places[name] for name in given.tolist()], dtype=np.intp),
        [*places],
    )


def _warn_if_endless(known: _Groups, coverage: float, consequence: str) -> None:
    """Warn if some groups have too few judged training rows."""
    n_needed = count_needed(coverage)
    n_judged = np.bincount(known.judged, minlength=len(known.names))
    if n_judged.min() >= n_needed:
        return
    where = ""
    if len(known.names) > 1:
        few = [name for name, n_rows in zip(known.names, n_judged, strict=True) if n_rows < n_needed]
        where = f" of {list_names(few)}"
    warnings.warn(
        f"For this coverage, {n_needed} training rows{where} must have been judged, but there are {n_judged.min()}: "
        f"{consequence}. Choose a lower coverage.",
        stacklevel=3,
    )
