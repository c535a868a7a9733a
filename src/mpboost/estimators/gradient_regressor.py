"""The regressor of minipatch gradient boosting: scikit-learn's manners around the loop."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem, make_value_problem
from mpboost.estimators.gradient_base import GradientBooster
from mpboost.estimators.parameters import GRADIENT_REGRESSOR_CONSTRAINTS
from mpboost.estimators.publishing import Attributes, describe_gradient_regressor
from mpboost.learners.gradient_trees import GradientImportance
from mpboost.sampling.sizes import Size
from mpboost.tasks.custom_loss import CustomLoss
from mpboost.tasks.losses import Loss, ValueLoss, ValueLossName, check_values, predict_values


class MPGradientBoostingRegressor(RegressorMixin, GradientBooster):
    """Gradient boosting on minipatches, for numbers.

    Each iteration draws a minipatch, some rows and some features, and grows a small tree on it, leaf by leaf, that
    steps down the slope of the loss. Rows whose gradient is large are drawn more often, and weighted so that sums stay
    unbiased; so are features that earlier trees found useful (probabilities q). The structure of a tree comes from the
    minipatch alone, the values of its leaves from all rows. Rows that no tree learns from give an honest score, which
    also tells when to stop.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"} or object, \
            default="squared_error"
        What is made small. "poisson" and "gamma" predict means by their logarithms; they need numbers that are not
        negative, or positive. An object has a method ``gradient_hessian(y, raw)`` that gives the first and second
        derivatives by raw predictions. It may have ``loss(y, raw)``, the loss of each row, to stop by,
        ``baseline(y, sample_weight)``, the raw prediction to start from, and ``inverse_link(raw)``, which gives
        predictions.
    alpha : float, default=0.9
        With ``loss="quantile"``, which quantile is predicted. With "huber", the share of the distances to the median
        that count by their square; those beyond count by their size.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied by.
    n_estimators : int, default=3000
        The most iterations; each grows one tree.
    max_samples : int, float, "sqrt" or "auto", default="auto"
        Draws of rows for a minipatch: a number, a share, the square root, or 40 times the square root of the number of
        rows, but at most 20 000 and at most as many as there are.
    max_features : int, float, "sqrt" or "auto", default="auto"
        Features in a minipatch: a number, a share, the square root, or a third of the features, but at most 50, and at
        least 20, or half of them if that is less; up to 8 are all taken.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Most leaves of a tree; None for no limit. Trees grow leaf by leaf, where the loss falls most. "auto" is a third
        of the square root of the number of rows, but at least 31 and at most 255.
    max_depth : int, default=None
        Most splits on the way to a leaf; None for no limit.
    min_samples_leaf : int, default=5
        Fewest rows of the minipatch in a leaf.
    l2_regularization : float, default=1.0
        Added to the second derivatives in a leaf: draws the values of small leaves towards 0.
    leaf_refit : bool, default=True
        Whether the values of leaves come from all rows, so that only the structure of trees comes from minipatches.
    adaptive_observations, adaptive_features : bool, default=True
        Whether rows are drawn by the size of their gradients, and features by how useful they were; if not, all are
        drawn alike.
    observation_exploration : float, default=0.5
        Share of uniform draws among the draws of rows, between 0 and 1.
    feature_momentum : float, default=0.3
        How far q moves towards the importances that trees found, between 0 and 1.
    feature_exploration : float, default=0.2
        Share of uniform draws among the draws of features, between 0 and 1.
    importance : {"out_of_patch", "gain"}, default="out_of_patch"
        How features are credited: with what their splits are worth to rows outside the minipatch, or with what they
        gained on it.
    monotonic_cst : array-like of int or dict, default=None
        For each feature 1 if predictions must not fall as it rises, -1 if they must not rise, 0 if they are free; a
        dict maps names or numbers of features to these.
    interaction_cst : "pairwise", "no_interactions" or list of lists of int or str, default=None
        Sets of features that may be on one path of a tree; features that are in none are a set of their own.
    max_bins : int, default=255
        Most values that are told apart in a feature, between 2 and 255. Missing values are kept apart besides.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, default="from_dtype"
        Features that trees split by subsets of their values: those that a data frame declares to be categories or
        text, a mask, or their numbers or names. Categories that are new in prediction are treated as missing values.
    oop_size : int, float or "auto", default="auto"
        Rows, or share of rows, that a model never learns from, for an honest out-of-patch score. "auto" is a fifth of
        up to 5000 rows, else a tenth, at most 5000; none if there is ``X_val``. With 0 and ``leaf_refit=False``, the
        score is that of the trees that did not have a row in their minipatch, which is too low: these make up for what
        others did that had it.
    n_models : int or "auto", default="auto"
        Models that take turns and are averaged, each with reserved rows of its own: so no row is lost. "auto" is 5
        for tables of up to 5000 rows, 3 for up to 50 000, and 1 for more. Of wide ones, which have more than 2 million
        cells, times the number of classes, it is 2 and 1, and where ``oop_size`` is given 1.
    stopping : {"patience"} or None, default="patience"
        "patience" ends the fit when the loss on reserved rows, or on ``X_val``, has not fallen for
        ``n_iter_no_change`` iterations of each model, and cuts the model to the best iteration. None runs, and keeps,
        them all.
    n_iter_no_change : int, default=100
        Patience. The loss that counts is the mean of the last twentieth of so many.
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
        Iteration that the model is cut to: the number of its trees.
    stop_reason_ : str
        Why the fit ended.
    max_samples_, max_features_ : int
        Draws of rows, and features, in a minipatch.
    n_models_ : int
        Models that took turns.
    baseline_ : array of shape (n_outputs,)
        Raw prediction before the first tree.
    oop_score_ : float
        R^2 of the model on rows that it never learned from: an estimate of that on new data; NaN if there are
        none.
    oop_scores_, train_scores_ : array of shape (n_iter_,)
        Out-of-patch and training R^2 after each iteration.
    oop_losses_ : array of shape (n_iter_,)
        Out-of-patch loss after each iteration: what training stops by. Half of the squared error, and "poisson" and
        "gamma" without the terms that do not depend on predictions.
    validation_score_, validation_scores_ : float, array of shape (n_iter_,)
        R^2 on ``X_val``, of the model and after each iteration, if there was such data.
    validation_losses_ : array of shape (n_iter_,)
        Loss on ``X_val`` after each iteration: what training then stops by.
    oop_prediction_ : array of shape (n_samples,)
        Predictions for rows that were reserved, by a model that never learned from them; NaN for others.
    oop_counts_ : int32 array of shape (n_samples,)
        How many trees judged each row: those of the model that reserved it, 0 for other rows; with ``oop_size=0`` and
        without ``leaf_refit`` those whose minipatch did not have it.
    observation_difficulty_ : array of shape (n_samples,)
        r / (r + m), with r the size of the residual of ``oop_prediction_`` and m the median of all; NaN for rows that
        were not reserved. ``find_label_issues`` ranks suspect numbers by it.
    observation_probabilities_ : array of shape (n_samples,)
        p: the size of the gradient of each row, as a share of all.
    feature_probabilities_ : array of shape (n_features_in_,)
        q: where the useful features are.
    feature_importances_ : array of shape (n_features_in_,)
        Mean importance over the trees; they sum to 1.
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
    J. H. Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mpboost import MPGradientBoostingRegressor
    >>> X, y = make_friedman1(500, random_state=0)
    >>> model = MPGradientBoostingRegressor(random_state=0).fit(X, y)
    >>> bool(model.oop_score_ > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = GRADIENT_REGRESSOR_CONSTRAINTS

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        alpha: float = 0.9,
        learning_rate: float = 0.1,
        n_estimators: int = 3000,
        max_samples: Size = "auto",
        max_features: Size = "auto",
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        l2_regularization: float = 1.0,
        leaf_refit: bool = True,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        observation_exploration: float = 0.5,
        feature_momentum: float = 0.3,
        feature_exploration: float = 0.2,
        importance: GradientImportance = "out_of_patch",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        oop_size: int | float | Literal["auto"] = "auto",
        n_models: int | Literal["auto"] = "auto",
        stopping: str | None = "patience",
        n_iter_no_change: int = 100,
        time_limit: float | None = None,
        warm_start: bool = False,
        callbacks: Sequence[Callback] | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.loss = loss
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.leaf_refit = leaf_refit
        self.adaptive_observations = adaptive_observations
        self.adaptive_features = adaptive_features
        self.observation_exploration = observation_exploration
        self.feature_momentum = feature_momentum
        self.feature_exploration = feature_exploration
        self.importance = importance
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.oop_size = oop_size
        self.n_models = n_models
        self.stopping = stopping
        self.n_iter_no_change = n_iter_no_change
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        predictions : array of shape (n_samples,)
            Numbers.
        """
        raw = self._predict_raw(X)
        return predict_values(self._loss, raw)

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict with the first, the first two, ... trees.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to judge.

        Yields
        ------
        predictions : array of shape (n_samples,)
            As ``predict``, for one more tree each time.
        """
        for raw in self._staged_raw(X):
            yield predict_values(self._loss, raw)

    def _pose(self, data: TrainingData) -> Problem:
        return make_value_problem(data)

    def _make_loss(self, problem: Problem) -> Loss:
        labels, weights = problem.examples.labels, problem.examples.weights
        if isinstance(self.loss, str):
            name = cast(ValueLossName, self.loss)
            check_values(name, labels, "y")
            if problem.validation is not None:
                check_values(name, problem.validation.labels, "y_val")
            return ValueLoss(name, labels, weights, self.alpha)
        return CustomLoss(self.loss, ValueLoss("squared_error", labels, weights, self.alpha), labels, weights)

    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        return describe_gradient_regressor(run, problem, known)

    @property
    def _n_outputs(self) -> int:
        return 1
