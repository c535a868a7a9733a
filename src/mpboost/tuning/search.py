"""The search for parameters: one fit per candidate, and most fits are stopped early."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mpboost._compat import HasMethods, Interval, StrOptions, fit_context
from mpboost.boosting.stop_reasons import StopReason
from mpboost.outputs.metrics import Scoring, check_scoring
from mpboost.tuning.candidates import check_candidates, check_tunable, list_candidates
from mpboost.tuning.halving import Candidate, SearchBar, Tournament, plan_rungs, tabulate


def _best_has(name: str) -> Callable[["OOPSearch"], bool]:
    """Make a check whether the best estimator, or the given one before the fit, has a method."""

    def check(search: "OOPSearch") -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return check


class OOPSearch(MetaEstimatorMixin, BaseEstimator):
    """Search for the parameters with the best out-of-patch score.

    The out-of-patch score validates a model on its own training rows, so a candidate needs one fit, where
    cross-validation needs several. Successive halving stops most fits early: all candidates run some iterations (a
    rung), the best of them continue in the next rung, and so on; the last few run to the end. Fits are continued, never
    repeated. The fit of the winner is the final model.

    In a rung all candidates get the same number of out-of-patch votes per row, so candidates with larger minipatches
    run more iterations: after equal iterations they would look worse than they are. The score of a candidate is the
    current out-of-patch score of its model, averaged with the scores just before and after it. A candidate that its own
    stopping rule has stopped stays in the tournament with its score. At ties the first candidate wins. ``X_val``, if
    passed to fit, is only used for stopping; candidates are still compared by the out-of-patch score. With ``X_val``,
    gradient models need a positive ``oop_size``: else they have no such score, which is an error.

    Each candidate holds its own binned data, one byte per value of X, until it has lost. In memory at the same time are
    those of the survivors of the first rung, one in ``factor``, and of the current candidate. Candidates are fitted one
    after the other, each with the ``n_jobs`` of the estimator.

    Parameters
    ----------
    estimator : estimator of mpboost
        Estimator to tune; it is not changed. All candidates use its ``n_estimators``, ``stopping`` and ``n_jobs``.
    parameters : dict or list of dict
        Values to try for each parameter name: a list, or a distribution of scipy (with a method ``rvs``). With several
        dicts, each is a separate set of combinations.
    n_candidates : int, default=None
        Number of candidates to draw. None tries all combinations of lists, or draws 27 if there are distributions.
    factor : int, default=3
        One candidate in ``factor`` survives a rung, and the next rung ends after ``factor`` times as many iterations.
    min_iterations : int, default=30
        Iterations of a candidate in the first rung. An iteration counts as the share of rows outside its minipatch: a
        candidate with minipatches of half the rows runs twice as many.
    scoring : str or callable, default=None
        The score to compare by, as in the estimators: it replaces their ``scoring``. None leaves that as it is.
    time_limit : float, default=None
        Seconds after which the search ends with the best model so far.
    error_score : "raise" or float, default="raise"
        What to do if the fit of a candidate fails, or has no out-of-patch score because its minipatches contain all
        rows: "raise" raises the error; a number is put into the table, with a warning, and the candidate ranks last.
    verbose : int, default=0
        1 shows a progress bar (needs rich).
    random_state : int, RandomState instance or None, default=None
        Seed for drawing candidates, and for the fits if the estimator has none. All fits have the same seed, so that
        candidates differ only by their parameters.

    Attributes
    ----------
    best_estimator_ : estimator
        The model of the winner, as a normal fit with ``best_params_`` would give it.
    best_params_ : dict
        Parameters of the winner.
    best_score_ : float
        Score of the winner, as described above.
    best_index_ : int
        Row of the winner in ``results_``.
    results_ : dict of arrays
        A table with a row for each candidate, for ``pandas.DataFrame(search.results_)``: ``params`` and a column
        ``param_...`` for each parameter; the last ``rung`` it entered, counted from 1; its ``n_iterations``; its
        ``oop_score`` after these; ``fit_time`` in seconds; its ``rank``, by rung, then by score.
    stop_reason_ : str
        Why the search ended.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X has names.
    classes_ : array of shape (n_classes,)
        The class labels, sorted, if a classifier is tuned.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, OOPSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(n_estimators=100, random_state=0)
    >>> search = OOPSearch(model, {"max_depth": [1, 4], "max_samples": [5, 50, 200]}).fit(X, y)
    >>> search.results_["oop_score"].shape
    (6,)
    >>> bool(search.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])],
        "parameters": [dict, list, tuple],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "factor": [Interval(Integral, 2, None, closed="left")],
        "min_iterations": [Interval(Integral, 1, None, closed="left")],
        "scoring": [str, callable, None],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "error_score": [StrOptions({"raise"}), Real],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_candidates: int | None = None,
        factor: int = 3,
        min_iterations: int = 30,
        scoring: Scoring = None,
        time_limit: float | None = None,
        error_score: Any = "raise",
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.parameters = parameters
        self.n_candidates = n_candidates
        self.factor = factor
        self.min_iterations = min_iterations
        self.scoring = scoring
        self.time_limit = time_limit
        self.error_score = error_score
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Search for the best parameters. Ctrl-C ends the search with the best model so far.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Training data, as for the estimator.
        y : array-like of shape (n_samples,)
            Targets: labels or numbers; None for those of a dataset.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, also in the scores.
        **fit_params : dict
            Other arguments of the fits: ``X_val``, ``y_val``, ``sample_weight_val``.

        Returns
        -------
        self : OOPSearch
            The search, with the best model.
        """
        check_tunable(self.estimator)
        check_scoring(self.scoring)
        check_candidates(self.parameters, self.estimator)
        candidates = self._make_candidates()
        rungs = plan_rungs(len(candidates), self.estimator.n_estimators, self.factor, self.min_iterations)
        bar = SearchBar() if self.verbose else None
        tournament = Tournament(candidates, rungs, error_score=self.error_score, time_limit=self.time_limit, bar=bar)

        with nullcontext() if bar is None else bar.watch(tournament):
            winner = tournament.run(lambda model: model.fit(X, y, sample_weight=sample_weight, **fit_params))

        self.best_estimator_ = winner.held_model
        if not self.best_estimator_.warm_start:
            self.best_estimator_.__dict__.pop("_run", None)  # the binned data
        self.best_params_, self.best_score_, self.best_index_ = winner.params, winner.score, winner.index
        self.results_ = tabulate(candidates, self.error_score)
        self.stop_reason_ = "all rungs done" if tournament.stop_reason is None else tournament.stop_reason.describe()
        if tournament.stop_reason is StopReason.INTERRUPTED:
            warnings.warn(
                f"The search was interrupted in {tournament.where}; the best model so far has {winner.n_iterations} "
                "iterations and can be used.",
                RuntimeWarning,
                stacklevel=3,
            )
        return self

    @available_if(_best_has("predict"))
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the best model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        predictions : array of shape (n_samples,)
            Predicted labels or numbers.
        """
        return self._best.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class with the best model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        return self._best.predict_proba(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the decision function of the best model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        decision : array of shape (n_samples,) or (n_samples, n_classes)
            Like that of the estimator.
        """
        return self._best.decision_function(X)

    @available_if(_best_has("score"))
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the score of the best model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            True labels or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Accuracy for a classifier, R^2 for a regressor.
        """
        return self._best.score(X, y, sample_weight=sample_weight)

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit."""
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features."""
        return self.best_estimator_.feature_names_in_

    @property
    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _make_candidates(self) -> list[Candidate]:
        rng = check_random_state(self.random_state)
        candidate_params = list_candidates(self.parameters, self.n_candidates, rng)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        candidates = []
        for index, params in enumerate(candidate_params):
            model = clone(self.estimator)
            if self.scoring is not None:
                model.scoring = self.scoring
            if model.random_state is None:
                model.random_state = seed
            candidates.append(Candidate(index, params, model.set_params(**clone(params, safe=False))))
        return candidates

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags = deepcopy(own.classifier_tags)
        tags.regressor_tags = deepcopy(own.regressor_tags)
        tags.input_tags = deepcopy(own.input_tags)
        return tags


def oop_tune(
    estimator: Any,
    X: Any,
    y: ArrayLike | None,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    n_candidates: int | None = None,
    sample_weight: ArrayLike | None = None,
    factor: int = 3,
    min_iterations: int = 30,
    scoring: Scoring = None,
    time_limit: float | None = None,
    error_score: Any = "raise",
    verbose: int = 0,
    random_state: Any = None,
    **fit_params: Any,
) -> OOPSearch:
    """Tune an estimator by the out-of-patch score: ``OOPSearch`` in one call.

    Parameters
    ----------
    estimator : estimator of mpboost
        Estimator to tune; it is not changed.
    X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
        Training data, as for the estimator.
    y : array-like of shape (n_samples,) or None
        Targets: labels or numbers; None for those of a dataset.
    parameters : dict or list of dict
        Values to try for each parameter name, as lists or distributions.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, also in the scores.
    n_candidates, factor, min_iterations, scoring, time_limit, error_score, verbose, random_state : any
        As in ``OOPSearch``.
    **fit_params : dict
        Other arguments of the fits: ``X_val``, ``y_val``, ``sample_weight_val``.

    Returns
    -------
    search : OOPSearch
        The search, with ``best_estimator_``, ``best_params_``, ``best_score_`` and the table ``results_``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mpboost import MPBoostRegressor, oop_tune
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MPBoostRegressor(n_estimators=100, random_state=0)
    >>> found = oop_tune(model, X, y, {"min_samples_leaf": [1, 10], "max_samples": [0.1, 0.5]})
    >>> found.best_estimator_.get_params()["min_samples_leaf"] == found.best_params_["min_samples_leaf"]
    True
    """
    search = OOPSearch(
        estimator,
        parameters,
        n_candidates=n_candidates,
        factor=factor,
        min_iterations=min_iterations,
        scoring=scoring,
        time_limit=time_limit,
        error_score=error_score,
        verbose=verbose,
        random_state=random_state,
    )
    return search.fit(X, y, sample_weight=sample_weight, **fit_params)
