"""The minipatch boosting regressor."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mpboost._arrays import Floats
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem, make_value_problem
from mpboost.estimators.assembly import LabelTask
from mpboost.estimators.parameters import REGRESSOR_CONSTRAINTS
from mpboost.estimators.patch_base import PatchBooster
from mpboost.estimators.predictions import ValuePredictions
from mpboost.estimators.publishing import Attributes, RowSource, describe_fit, describe_regressor_rows
from mpboost.learners.trees import Importance
from mpboost.outputs.contributions import ExplainedOutput
from mpboost.outputs.kinds import Outputs, Values
from mpboost.outputs.metrics import Metric, Scoring
from mpboost.rules import FeatureCredit, FeatureUpdate, MarginWeighting, RowWeighting
from mpboost.sampling.sizes import REGRESSOR_SIZES, PatchSizes, Size
from mpboost.tasks.numbers import ResidualWeighting, ValueTask
from mpboost.tasks.weightings import bind_weighting


class MPBoostRegressor(ValuePredictions, PatchBooster):
    """Minipatch boosting for regression.

    Each iteration draws a minipatch, a few rows and a few features, and trains a decision tree on it. The model
    predicts the mean of its trees. Rows with large errors are drawn more often afterwards (probabilities p), and so are
    features that trees found useful (probabilities q). The mean of the trees that never saw a row gives the
    out-of-patch score: validation without a hold-out set. The fit stops by this score. For monotonic constraints, see
    ``MPGradientBoostingRegressor``.

    Parameters
    ----------
    estimator : scikit-learn regressor, default=None
        Weak learner. None uses the native decision tree, which is by far the fastest.
    n_estimators : int, default=2000
        Maximum number of iterations; each trains one weak learner.
    max_samples : int, float, "sqrt" or "auto", default="auto"
        Rows in a minipatch: a number (int), a share (float) or the square root ("sqrt") of all rows. "auto" takes 3/10
        of the rows, but at most 20 000. A row with a large weight counts as several.
    max_features : int, float, "sqrt" or "auto", default="auto"
        Features in a minipatch: a number (int), a share (float) or the square root ("sqrt") of all features. "auto"
        takes a third of the features, but at most 100, and at least 25, or all if there are fewer.
    round_size : int or "auto", default="auto"
        Number of minipatches in a round, K: they are drawn from the same distributions, their learners are trained side
        by side, and then taken in one after the other. The more, the more threads have work. The model depends on it,
        but not on the number of threads. "auto" is 8; 1 is the paper's algorithm.
    weighting : {"linear", "square", "exponential", "threshold"} or object, default="linear"
        How the probability of a row is computed from its residual, in units of the median residual and cut at 3.
        "linear", "square" and "exponential" are the losses of AdaBoost.R2: "square" gives more weight to large
        residuals, "exponential" less. "threshold" uses only whether the residual is above the median, as AdaBoost.RT
        does. Or a rule of your own: an object with the method ``log_weight`` or ``log_weight_rows`` (see
        ``mpboost.rules``).
    observation_exploration : float, default=0.25
        Share of the uniform distribution when rows are drawn, between 0 and 1: well-predicted rows are still drawn.
    feature_momentum : float, default=0.3
        How far q moves towards the importances in each iteration, between 0 and 1. With ``importance="out_of_patch"``
        these are the means over all learners so far, otherwise those of the last learner.
    feature_exploration : float, default=0.2
        Share of the uniform distribution when features are drawn, between 0 and 1.
    adaptive_observations, adaptive_features : bool, default=True
        Whether p (for rows) and q (for features) are learned; if not, they stay uniform.
    importance : {"out_of_patch", "impurity", "permutation"} or object, default="out_of_patch"
        How a learner scores the features of its minipatch. "out_of_patch" takes as many rows from outside the minipatch
        and measures how far the splits on a feature move predictions for them towards their targets; for a given
        ``estimator``, how much the squared error grows on these rows when the feature is shuffled. "impurity" is the
        decrease of the squared error in the minipatch, or the ``feature_importances_`` or ``|coef_|`` of a given
        ``estimator``. "permutation" shuffles features in the minipatch. If a minipatch contains all rows,
        "out_of_patch" means "impurity" for native trees and "permutation" for a given ``estimator``. Or a rule of your
        own: an object with the method ``credit_features`` (see ``mpboost.rules``).
    feature_update : object, default=None
        A rule of your own for how q moves inside a minipatch, in place of ``feature_momentum``: an object with the
        method ``update_probabilities`` (see ``mpboost.rules``).
    max_depth : int, default=None
        Maximum depth of the native trees. None does not limit it.
    min_samples_leaf : int, default=2
        Minimum number of rows in a leaf of the native trees.
    min_samples_split : int or "auto", default="auto"
        Minimum number of rows that a node of the native trees must have to be split. "auto" learns it during the fit:
        it starts with 2, and no longer splits small nodes if such splits clearly do not help on rows outside the
        minipatch, as is the case if labels are noisy. Without ``importance="out_of_patch"``, "auto" means 2.
    max_bins : int, default=255
        Maximum number of bins per feature for the native trees, between 2 and 255. Missing values have one more bin.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, default="from_dtype"
        Features that the native trees split by subsets of categories: "from_dtype" takes the columns of categories or
        text in a data frame; otherwise a mask, or indices or names of features. Categories not seen in fit are treated
        as missing values, with a warning if a feature has no others. A given ``estimator`` sees them as numbers.
    stopping : {"patience", "paper"} or None, default="patience"
        "patience" stops when the out-of-patch score, or the score on ``X_val`` if given, has not improved for
        ``n_iter_no_change`` iterations; "paper" stops by Algorithm 2 of the paper. Both keep the learners up to the
        best iteration. None runs all iterations and keeps all learners.
    n_iter_no_change : int, default=100
        "patience" stops after so many iterations without a noticeable gain: more than 0.01 % of the score. It compares
        means over the last ``n_iter_no_change // 5`` iterations, and does not look for the best one among the first
        ``n_iter_no_change // 2`` (twice as many with ``scoring``). It also stops if the score is perfect, or does not
        change at all, for ``n_iter_no_change // 2`` iterations.
    scoring : str, callable or None, default=None
        The score: what ``oop_scores_`` and the other scores are, and what "patience" watches. None is R^2. Otherwise
        the name of a scorer of scikit-learn ("neg_mean_absolute_error", "neg_median_absolute_error", ...), a scorer
        from ``sklearn.metrics.make_scorer``, or a function of (y, predictions, weights or None) that returns a number.
        Greater is better: scores of losses are negative, also for the short names "absolute_error" and "squared_error".
        A score other than None is computed every fifth iteration, on at most 50 000 rows; ``oop_score_`` is computed
        from all rows.
    time_limit : float, default=None
        Seconds after which the fit stops. The current iteration is completed, and at least one is done.
    warm_start : bool, default=False
        If True, a second fit on the same data with a larger ``n_estimators`` continues the first one. Set it before the
        first fit, because the model must keep its binned data.
    callbacks : list of Callback, default=None
        Objects that watch the fit and can stop it. For callbacks of scikit-learn (1.9 or later) use ``set_callbacks``.
    verbose : int, default=0
        1 shows a progress bar (needs rich).
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all random draws. With a whole number, the same data give the same model; None draws a new seed for each
        fit.

    Attributes
    ----------
    n_samples_ : int
        Number of training rows. For more than 20 million, the model has no attributes with an entry for each row.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X has names.
    n_iter_ : int
        Number of iterations that were run.
    best_iteration_ : int
        Number of learners in the model: those up to the best iteration.
    stop_reason_ : str
        Why the fit stopped.
    max_samples_, max_features_ : int
        Number of rows and of features in a minipatch.
    score_name_ : str
        Name of the score: "r2", or that of ``scoring``.
    oop_score_ : float
        Out-of-patch score of the model: an estimate of its score on new data.
    oop_interval_ : array of shape (2,)
        95 % confidence interval of ``oop_score_``: how far the score of this model on many new rows from the same
        source may be from it, because the judged rows are few. NaN if it is unknown.
    constant_score_ : float
        The score of a model that always predicts the mean: one that is not clearly better has learned nothing.
    oop_scores_, train_scores_ : array of shape (n_iter_,)
        Out-of-patch and training score after each iteration.
    validation_score_, validation_scores_ : float, array of shape (n_iter_,)
        Score on ``X_val``, of the model and after each iteration. Only set if ``X_val`` was given.
    oop_prediction_ : array of shape (n_samples,)
        Prediction for each row, from the learners that never saw it; NaN if there are none and for rows of weight 0.
    oop_counts_ : int32 array of shape (n_samples,)
        Number of learners that judged each row without having seen it; 0 for rows of weight 0.
    observation_difficulty_ : array of shape (n_samples,)
        How hard each row is for the learners that never saw it: r / (r + m), with r the absolute out-of-patch residual
        of the row and m the median of all rows; 1/2 is average. 1/2 for rows that no learner judged, NaN for rows of
        weight 0. ``find_label_issues`` ranks suspect targets by it.
    observation_probabilities_ : array of shape (n_samples,)
        Probability p of each row; high for hard rows.
    feature_probabilities_ : array of shape (n_features_in_,)
        Probability q of each feature; high for useful features.
    feature_importances_ : array of shape (n_features_in_,)
        Mean importance of each feature over the learners; they sum to 1.
    history_ : History
        Effective numbers of rows and features, and q, at about thirty iterations; see ``mpboost.History``.
    is_categorical_ : bool array of shape (n_features_in_,)
        Which features are categorical. Only set with ``categories_``.
    categories_ : list
        Categories of each feature, or None for a numeric feature. Only set if some features are categorical.
    has_other_category_ : bool array of shape (n_features_in_,)
        Which features have more than ``max_bins`` categories: rare and new ones are treated as one. Only set with
        ``categories_``.

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
        round_size: int | Literal["auto"] = "auto",
        weighting: ResidualWeighting | MarginWeighting | RowWeighting = "linear",
        observation_exploration: float = 0.25,
        feature_momentum: float = 0.3,
        feature_exploration: float = 0.2,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        importance: Importance | FeatureCredit = "out_of_patch",
        feature_update: FeatureUpdate | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 2,
        min_samples_split: int | Literal["auto"] = "auto",
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        stopping: str | None = "patience",
        n_iter_no_change: int = 100,
        scoring: Scoring = None,
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
        self.round_size = round_size
        self.weighting = weighting
        self.observation_exploration = observation_exploration
        self.feature_momentum = feature_momentum
        self.feature_exploration = feature_exploration
        self.adaptive_observations = adaptive_observations
        self.adaptive_features = adaptive_features
        self.importance = importance
        self.feature_update = feature_update
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.stopping = stopping
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _pose(self, data: TrainingData) -> Problem:
        return make_value_problem(data)

    def _make_task(self, problem: Problem, metric: Metric | None, seed: int) -> LabelTask:
        return ValueTask(
            problem.examples.labels,
            weighting=bind_weighting(self.weighting, problem),
            exploration=self.observation_exploration,
            adaptive=self.adaptive_observations,
            sample_weights=problem.examples.weights,
            metric=metric,
        )

    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        return describe_fit(run, problem, known)

    def _describe_rows(self, source: RowSource) -> Attributes:
        return describe_regressor_rows(source)

    @property
    def _explained_output(self) -> ExplainedOutput:
        return ExplainedOutput("values", 1.0 / len(self._ensemble), np.zeros(1), "prediction")

    def _decode_leaves(self, index: int, values: Floats) -> list[Any]:
        numbers: list[Any] = values.tolist()
        return numbers

    @property
    def _outputs(self) -> Outputs[Any]:
        return Values()

    def _to_values(self, totals: Floats, n_learners: int) -> Floats:
        return totals / n_learners
