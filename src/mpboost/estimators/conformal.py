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
from mpboost.outputs.statistics import compute_mean

#: The smallest error that counts, as a share of the mean error.
MIN_ERROR = 1e-3


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
        spread: "IntervalPredictions | None" = None,
        upper: "IntervalPredictions | None" = None,
        groups: ArrayLike | None = None,
        training_groups: ArrayLike | None = None,
    ) -> Floats:
        """Predict an interval for each row that holds its number with a chosen probability.

        The interval reaches from the prediction as far as the out-of-patch residuals of the training rows do: as many
        numbers are below it as above it. It is as wide for one row as for another, unless a second model tells how far
        off the prediction of a row may be (``spread``, ``upper``). Coverage is a share of many new rows from the source
        of the training rows, not a promise for each of them: with one width for all, hard rows are covered less often
        than easy ones. docs/intervals.md has how well it holds.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Share of rows whose number should be in their interval, between 0 and 1.
        spread : regressor, default=None
            A model of how large the errors of this model are, from ``fit_spread``: intervals are then wide for hard
            rows and narrow for easy ones.
        upper : regressor, default=None
            A second model of the same rows, for the upper ends; this one is then for the lower ends. Fit both with
            ``loss="quantile"``, this one with a small ``alpha``, that one with a large ``alpha``, and the same
            ``random_state`` (conformalized quantile regression). Needs two fits, and on our sets gives wider intervals
            than ``spread``.
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
        if spread is not None and upper is not None:
            raise ValueError("Pass spread or upper, not both.")
        rows = find_judged_rows(self)
        if spread is not None:
            _check_spread(spread, self, rows)
        if upper is not None:
            _check_upper(upper, self)
            _warn_if_judged_apart(rows, find_judged_rows(upper))
        for other in (spread, upper):
            if other is not None:
                rows = np.intersect1d(rows, find_judged_rows(other), assume_unique=True)
        lower_ends = self.predict(X)
        upper_ends = lower_ends if upper is None else upper.predict(X)
        known = _match_groups(groups, training_groups, rows, self.n_samples_, len(lower_ends))
        one_side = (1.0 + coverage) / 2.0
        units, new_units = (1.0, 1.0) if spread is None else (spread.oop_prediction_[rows], spread.predict(X))
        down, up = (
            new_units * find_limits(scores / units, known.judged, len(known.names), one_side)[known.predicted]
            for scores in (-_find_residuals(self, rows), _find_residuals(self if upper is None else upper, rows))
        )
        _warn_if_endless(known, one_side, "intervals are infinite")
        ends = lower_ends - down, upper_ends + up
        # Models of two quantiles may cross: such an interval has its ends in the other order.
        return np.column_stack([np.maximum(np.minimum(*ends), self._least_value), np.maximum(*ends)])


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


def measure_errors(model: IntervalPredictions, rows: NDArray[np.int64]) -> Floats:
    """Measure how far off the out-of-patch predictions of judged training rows are: positive numbers.

    Errors next to zero count as a thousandth of the mean error, so that models of their logarithm can be fitted.
    """
    errors: Floats = np.abs(_find_residuals(model, rows))
    mean = compute_mean(errors, None)
    return np.maximum(errors, MIN_ERROR * mean) if mean > 0.0 else np.ones(len(rows))


def _find_residuals(model: IntervalPredictions, rows: NDArray[np.int64]) -> Floats:
    """Return how far the numbers of judged training rows are above their out-of-patch predictions."""
    residuals: Floats = model._targets[rows] - model.oop_prediction_[rows]
    return residuals


def _check_spread(spread: Any, model: IntervalPredictions, rows: NDArray[np.int64]) -> None:
    """Check that a model was fitted to the errors of another one."""
    if isinstance(spread, IntervalPredictions):
        check_is_fitted(spread)
        if spread.n_samples_ == model.n_samples_ and np.allclose(
            spread._targets[rows], measure_errors(model, rows), rtol=1e-6, atol=0.0
        ):
            return
    raise ValueError("spread must be a model of the errors of this model: pass fit_spread(model, X).")


def _check_upper(upper: Any, model: IntervalPredictions) -> None:
    """Check that a model was fitted to the same rows as another one."""
    if isinstance(upper, IntervalPredictions):
        check_is_fitted(upper)
        if upper.n_samples_ == model.n_samples_ and np.array_equal(upper._targets, model._targets, equal_nan=True):
            return
    raise ValueError("upper must be a regressor of mpboost that was fitted to the same rows as this model.")


def _warn_if_judged_apart(rows: NDArray[np.int64], other_rows: NDArray[np.int64]) -> None:
    """Warn if most judged rows of two models were judged by one of them only."""
    n_rows, n_both = len(np.union1d(rows, other_rows)), len(np.intersect1d(rows, other_rows, assume_unique=True))
    if n_both < n_rows / 2:
        warnings.warn(
            f"Only {n_both} of {n_rows} judged rows were judged by both models: fit both with the same random_state "
            "and oop_size.",
            stacklevel=3,
        )


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
        in_training = set(known.tolist())
        absent = [name for name in unknown if name not in in_training]
        problem = "is in these groups" if absent else "of these groups was judged out of patch"
        raise ValueError(
            f"No training row {problem}: {list_names(absent or unknown)}. Predict their rows without groups."
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
