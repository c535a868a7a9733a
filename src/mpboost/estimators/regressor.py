"""The regressor: scikit-learn's manners around the loop."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem, make_value_problem
from mpboost.estimators.assembly import LabelTask
from mpboost.estimators.parameters import REGRESSOR_CONSTRAINTS
from mpboost.estimators.patch_base import PatchBooster
from mpboost.estimators.publishing import Attributes, describe_regressor
from mpboost.learners.trees import Importance
from mpboost.outputs.kinds import Outputs, Values
from mpboost.sampling.sizes import REGRESSOR_SIZES, PatchSizes, Size
from mpboost.tasks.numbers import ResidualWeighting, ValueTask


class MPBoostRegressor(RegressorMixin, PatchBooster):
    """Minipatch boosting for numbers.

    Each iteration draws a minipatch, a few rows and a few features, and trains a decision tree on it. The model is the
    mean of the trees. Rows that it misses by far are drawn more often from then on (probabilities p), and so are
    features that the trees found useful (probabilities q). The mean of those trees that never saw a row gives the
    out-of-patch score: validation without a hold-out, which also tells when to stop.

    Parameters
    ----------
    estimator : scikit-learn regressor, default=None
        Weak learner. None stands for the native decision tree, which is by far the fastest.
    n_estimators : int, default=2000
        The most iterations.
    max_samples : int, float, "sqrt" or "auto", default="auto"
        Rows in a minipatch: a number, a share, the square root, or 3 out of 10 rows, but at most 20 000. Where rows
        have weights, a heavy one counts for several.
    max_features : int, float, "sqrt" or "auto", default="auto"
        Features in a minipatch: a number, a share, the square root, or a third of the features, but at least 25, or
        all if there are fewer, and at most 100.
    weighting : {"linear", "square", "exponential", "threshold"}, default="linear"
        How the probability of a row follows from its residual, which is taken as a multiple of the median residual and
        cut at 3. The first three are the losses of AdaBoost.R2: "square" looks harder at rows that are far off,
        "exponential" less. "threshold" only asks whether a residual is above the median, as AdaBoost.RT does.
    observation_exploration : float, default=0.25
        Share of the uniform distribution in p, between 0 and 1: rows that are right already are still drawn.
    feature_momentum : float, default=0.3
        How far q moves towards the importances that learners found, between 0 and 1: with "out_of_patch" the mean of
        all that a feature had so far, else those that the last learner found.
    feature_exploration : float, default=0.2
        Share of uniform draws among the draws of features, between 0 and 1.
    adaptive_observations, adaptive_features : bool, default=True
        Whether p and q are learned; if not they stay uniform.
    importance : {"out_of_patch", "impurity", "permutation"}, default="out_of_patch"
        How the features of a minipatch are credited. "out_of_patch" is how far the splits by a feature move what the
        tree says about as many rows again, which it never saw, towards their numbers; of a given ``estimator`` it is
        what the squared error on these rows gains when the feature is shuffled. "impurity" is the decrease of the
        squared error on the minipatch, or the ``feature_importances_`` or ``|coef_|`` of a given ``estimator``.
        "permutation" shuffles on the minipatch. Where minipatches hold all rows, "out_of_patch" is "impurity", or
        shuffles on the minipatch.
    max_depth : int, default=None
        Depth of the native trees. None lets them grow until their leaves are pure.
    min_samples_leaf : int, default=2
        Fewest rows in a leaf of the native trees.
    max_bins : int, default=255
        Most values that the native trees tell apart in a feature, between 2 and 255. Missing values are kept apart
        besides.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, default="from_dtype"
        Features that the native trees split by subsets of their values: those that a data frame declares to be
        categories or text, a mask, or their numbers or names. Categories that are new in prediction are treated as
        missing values. A given ``estimator`` sees categories as numbers.
    stopping : {"patience", "paper"} or None, default="patience"
        "patience" ends the fit when the out-of-patch score, or the one on ``X_val``, has not improved for
        ``n_iter_no_change`` iterations, "paper" by Algorithm 2 of the paper; both cut the model to the best iteration.
        None runs, and keeps, them all.
    n_iter_no_change : int, default=100
        Patience. The score that counts is the mean of the last fifth of so many, and the best iteration is not sought
        among the first half of so many.
    time_limit : float, default=None
        Seconds after which the fit ends, counted from its beginning; it ends with a whole iteration, and at least one.
    warm_start : bool, default=False
        Whether a second fit, on the same data and with more estimators, goes on from the first. Set it for the first
        fit already: the model then keeps its binned data.
    callbacks : list of Callback, default=None
        Objects that watch the fit and may end it. Those of scikit-learn (1.9 or later) go to ``set_callbacks``.
    verbose : int, default=0
        1 shows a progress bar (needs rich).
    n_jobs : int, default=None
        Threads; None is 1, -1 is all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X had any.
    n_iter_ : int
        Iterations that were run.
    best_iteration_ : int
        Iteration that the model is cut to: the number of its learners.
    stop_reason_ : str
        Why the fit ended.
    max_samples_, max_features_ : int
        Rows and features in a minipatch.
    oop_score_ : float
        Out-of-patch R^2 of the model: an estimate of its R^2 on new data.
    oop_scores_, train_scores_ : array of shape (n_iter_,)
        Out-of-patch and training R^2 after each iteration.
    validation_score_, validation_scores_ : float, array of shape (n_iter_,)
        R^2 on ``X_val``, of the model and after each iteration, if there was such data.
    oop_prediction_ : array of shape (n_samples,)
        For each row, the prediction of the learners that never saw it; NaN where there is none, and for rows of
        weight 0.
    oop_counts_ : int32 array of shape (n_samples,)
        How many learners judged each row without having seen it; 0 for rows in all minipatches and of weight 0.
    observation_difficulty_ : array of shape (n_samples,)
        How hard each row is for the learners that never saw it: r / (r + m), with r the size of its out-of-patch
        residual and m the median of all, so that 1/2 is as hard as usual; 1/2 for rows without such learners, NaN for
        rows of weight 0. ``find_label_issues`` ranks suspect numbers by it.
    observation_probabilities_ : array of shape (n_samples,)
        p: where the hard rows are.
    feature_probabilities_ : array of shape (n_features_in_,)
        q: where the useful features are.
    feature_importances_ : array of shape (n_features_in_,)
        Mean importance over the learners; they sum to 1.
    history_ : History
        How p and q developed, at some thirty iterations; see ``mpboost.boosting.history.History``.
    is_categorical_ : bool array of shape (n_features_in_,)
        Which features are categorical, if any is.
    categories_ : list
        For each feature its categories, or None for numbers, if any is categorical.
    has_other_category_ : bool array of shape (n_features_in_,)
        Which features have more categories than ``max_bins``, so that rare ones, and new ones, are as one.

    References
    ----------
    M. T. Toghani and G. I. Allen, "MP-Boost: Minipatch Boosting via Adaptive Feature and Observation Sampling", 2020.
    H. Drucker, "Improving Regressors using Boosting Techniques", 1997 (AdaBoost.R2).
    D. P. Solomatine and D. L. Shrestha, "AdaBoost.RT", 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mpboost import MPBoostRegressor
    >>> X, y = make_friedman1(500, random_state=0)
    >>> model = MPBoostRegressor(random_state=0).fit(X, y)
    >>> bool(model.oop_score_ > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = REGRESSOR_CONSTRAINTS
    _auto_sizes: ClassVar[PatchSizes] = REGRESSOR_SIZES

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 2000,
        max_samples: Size = "auto",
        max_features: Size = "auto",
        weighting: ResidualWeighting = "linear",
        observation_exploration: float = 0.25,
        feature_momentum: float = 0.3,
        feature_exploration: float = 0.2,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        importance: Importance = "out_of_patch",
        max_depth: int | None = None,
        min_samples_leaf: int = 2,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        stopping: str | None = "patience",
        n_iter_no_change: int = 100,
        time_limit: float | None = None,
        warm_start: bool = False,
        callbacks: Sequence[Callback] | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.weighting = weighting
        self.observation_exploration = observation_exploration
        self.feature_momentum = feature_momentum
        self.feature_exploration = feature_exploration
        self.adaptive_observations = adaptive_observations
        self.adaptive_features = adaptive_features
        self.importance = importance
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.stopping = stopping
        self.n_iter_no_change = n_iter_no_change
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers: the mean of the learners.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        predictions : array of shape (n_samples,)
            Numbers.
        """
        total: NDArray[np.float64] = self._total(X)
        return total / len(self._ensemble)

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict with the first, the first two, ... learners.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Yields
        ------
        predictions : array of shape (n_samples,)
            As ``predict``, for one more learner each time.
        """
        for n_learners, total in enumerate(self._staged_total(X), start=1):
            yield total / n_learners

    def _pose(self, data: TrainingData) -> Problem:
        return make_value_problem(data)

    def _make_task(self, problem: Problem, seed: int) -> LabelTask:
        return ValueTask(
            problem.examples.labels,
            weighting=self.weighting,
            exploration=self.observation_exploration,
            adaptive=self.adaptive_observations,
            sample_weights=problem.examples.weights,
        )

    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        return describe_regressor(run, problem, known)

    @property
    def _outputs(self) -> Outputs[Any]:
        return Values()
