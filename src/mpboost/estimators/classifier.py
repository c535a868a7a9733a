"""The minipatch boosting classifier."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem, make_class_problem
from mpboost.estimators.assembly import LabelTask
from mpboost.estimators.parameters import CLASSIFIER_CONSTRAINTS
from mpboost.estimators.patch_base import PatchBooster
from mpboost.estimators.predictions import ClassPredictions
from mpboost.estimators.publishing import Attributes, RowSource, describe_classifier, describe_classifier_rows
from mpboost.learners.trees import Importance
from mpboost.outputs.contributions import ExplainedOutput, explain_votes
from mpboost.outputs.kinds import ClassVotes, Colours, Outputs, Signs
from mpboost.outputs.metrics import Metric, Scoring
from mpboost.outputs.votes import break_ties, count_votes, pick_winners, share_votes
from mpboost.rules import FeatureCredit, FeatureUpdate, MarginWeighting, RowWeighting
from mpboost.sampling.sizes import CLASSIFIER_SIZES, PatchSizes, Size
from mpboost.tasks.many_classes import TASKS, Multiclass
from mpboost.tasks.two_classes import BinaryTask
from mpboost.tasks.weightings import Weighting, bind_weighting


class MPBoostClassifier(ClassPredictions, PatchBooster):
    """Minipatch boosting for two or more classes.

    Each iteration draws a minipatch, a few rows and a few features, and trains a decision tree on it, which then votes
    on all rows. Rows that the ensemble gets wrong are drawn more often afterwards (probabilities p), and so are
    features that trees found useful (probabilities q). The votes of the trees that never saw a row give the
    out-of-patch score: validation without a hold-out set. The fit stops by this score. For monotonic constraints, see
    ``MPGradientBoostingClassifier``.

    Parameters
    ----------
    estimator : scikit-learn classifier, default=None
        Weak learner. None uses the native decision tree, which is by far the fastest.
    n_estimators : int, default=2000
        Maximum number of iterations; each trains one weak learner.
    max_samples : int, float, "sqrt" or "auto", default="auto"
        Rows in a minipatch: a number (int), a share (float) or the square root ("sqrt") of all rows. "auto" starts with
        8 times the square root, but at most 3/10 of the rows. After 40 iterations it tries twice as many rows and keeps
        them if the out-of-patch score rises by one point or more (or, if single learners are hardly better than chance,
        if it does not fall). It repeats this up to 4 times the first size, but takes at most half of the rows and at
        most 20 000. A row with a large weight counts as several.
    max_features : int, float, "sqrt" or "auto", default="auto"
        Features in a minipatch: a number (int), a share (float) or the square root ("sqrt") of all features. "auto"
        takes a fifth of the features, but at most 100, and at least 20 or half of them, whichever is less. Up to 8
        features are all taken.
    round_size : int or "auto", default="auto"
        Number of minipatches in a round, K: they are drawn from the same distributions, their learners are trained side
        by side, and then taken in one after the other. The more, the more threads have work. The model depends on it,
        but not on the number of threads. "auto" is 8; 1 is the paper's algorithm.
    weighting : {"exponential", "logistic", "hard_exponential", "hard_logistic"} or object, default="logistic"
        How the probability of a row is computed from its votes. The "hard" variants use only whether the votes are
        right or wrong. Or a rule of your own: an object with the method ``log_weight`` or ``log_weight_rows`` (see
        ``mpboost.rules``).
    learning_rate : float or "auto", default="auto"
        Weight of a vote in the weighting. With a small value p follows the votes more slowly, which is better for noisy
        labels. "auto" starts with 0.1 and lowers the rate while more than 40 % of the rows in minipatches are wrong by
        the votes of learners that never saw them: their labels are probably noise. The paper uses 1.
    multiclass : {"margin", "m2", "mh", "oc"}, default="margin"
        How rows are weighted if there are more than two classes; with two classes all options are the same. "margin"
        applies the weighting to the votes for the true class minus the votes for the strongest other class; "m2" sums
        it over all other classes (AdaBoost.M2); "mh" sums it over one-against-rest votes (AdaBoost.MH). With "oc" each
        learner separates two random halves of the classes and votes for all classes of one half (AdaBoost.OC). "margin"
        is the fastest and about as accurate as any. "m2" can be slightly better if a class is confused with several
        others. "oc" works with weak learners that know only two classes; its trees train fastest and predict slowest.
        "mh" is there for comparison.
    feature_momentum : float, default=0.3
        How far q moves towards the importances in each iteration, between 0 and 1. With ``importance="out_of_patch"``
        these are the means over all learners so far, otherwise those of the last learner.
    feature_exploration : float, default=0.2
        Share of the uniform distribution when features are drawn, between 0 and 1.
    adaptive_observations, adaptive_features : bool, default=True
        Whether p (for rows) and q (for features) are learned; if not, they stay uniform.
    importance : {"out_of_patch", "impurity", "permutation"} or object, default="out_of_patch"
        How a learner scores the features of its minipatch. "out_of_patch" takes as many rows from outside the minipatch
        and measures how far the splits on a feature move predictions for them towards their labels; for a given
        ``estimator``, how much accuracy falls on these rows when the feature is shuffled. "impurity" is the decrease of
        Gini impurity in the minipatch, or the ``feature_importances_`` or ``|coef_|`` of a given ``estimator``.
        "permutation" shuffles features in the minipatch. If a minipatch contains all rows, "out_of_patch" means
        "impurity" for native trees and "permutation" for a given ``estimator``. Or a rule of your own: an object with
        the method ``credit_features`` (see ``mpboost.rules``).
    feature_update : object, default=None
        A rule of your own for how q moves inside a minipatch, in place of ``feature_momentum``: an object with the
        method ``update_probabilities`` (see ``mpboost.rules``).
    max_depth : int, default=None
        Maximum depth of the native trees. None does not limit it.
    min_samples_leaf : int, default=1
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in training; they multiply ``sample_weight``. "balanced" gives all classes the same total
        weight. They are no part of the scores, which estimate those on new rows.
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
        The score: what ``oop_scores_`` and the other scores are, and what "patience" watches. None is accuracy.
        Otherwise the name of a scorer of scikit-learn ("balanced_accuracy", "roc_auc", "average_precision", ...), a
        scorer from ``sklearn.metrics.make_scorer``, or a function of (y, predictions, weights or None) that returns a
        number. Greater is better: scores of losses are negative, also for the short name "log_loss". A score other than
        None is computed every fifth iteration, on at most 50 000 rows; ``oop_score_`` is computed from all rows.
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
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
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
        Name of the score: "accuracy", or that of ``scoring``.
    oop_score_ : float
        Out-of-patch score of the model: an estimate of its score on new data. Out-of-patch votes are too low where p
        prefers hard rows, which is corrected for the most part, unless ``stopping="paper"``; see docs/estimates.md.
    oop_interval_ : array of shape (2,)
        95 % confidence interval of ``oop_score_``: how far the score of this model on many new rows from the same
        source may be from it, because the judged rows are few. NaN if it is unknown.
    constant_score_ : float
        The score of a model that always predicts the most frequent class, with the shares of the classes as
        probabilities: one that is not clearly better has learned nothing.
    oop_scores_, train_scores_ : array of shape (n_iter_,)
        Out-of-patch and training score after each iteration. The former are not corrected: the fit stops by them.
    validation_score_, validation_scores_ : float, array of shape (n_iter_,)
        Score on ``X_val``, of the model and after each iteration. Only set if ``X_val`` was given.
    learning_rate_ : float
        Learning rate at the end of the fit: the weight of a vote in the decision function.
    oop_decision_function_ : array of shape (n_samples,) or (n_samples, n_classes)
        Decision function for each row, from the learners that never saw it; NaN for rows of weight 0.
    oop_counts_ : int32 array of shape (n_samples,)
        Number of learners that judged each row without having seen it; 0 for rows of weight 0.
    observation_difficulty_ : array of shape (n_samples,)
        How hard each row is for the learners that never saw it: 0 if all vote for its label, 1 if all vote for one
        other class, 1/2 at a tie. With s votes for the label and r for the strongest other class it is
        (r + 1) / (r + s + 2), so that a few votes mean less than many and no vote gives 1/2. NaN for rows of weight 0.
        ``find_label_issues`` ranks suspect labels by it.
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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(random_state=0).fit(X, y)
    >>> bool(model.oop_score_ > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CLASSIFIER_CONSTRAINTS
    _auto_sizes: ClassVar[PatchSizes] = CLASSIFIER_SIZES

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 2000,
        max_samples: Size = "auto",
        max_features: Size = "auto",
        round_size: int | Literal["auto"] = "auto",
        weighting: Weighting | MarginWeighting | RowWeighting = "logistic",
        learning_rate: float | Literal["auto"] = "auto",
        multiclass: Multiclass = "margin",
        feature_momentum: float = 0.3,
        feature_exploration: float = 0.2,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        importance: Importance | FeatureCredit = "out_of_patch",
        feature_update: FeatureUpdate | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_samples_split: int | Literal["auto"] = "auto",
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
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
        self.learning_rate = learning_rate
        self.multiclass = multiclass
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
        self.class_weight = class_weight
        self.stopping = stopping
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_vote_share(self, X: Any, *, n_estimators: int | None = None) -> Floats:
        """Compute the share of votes for each class, without calibration.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        return share_votes(self._limit(n_estimators)._judge(X))

    def _pose(self, data: TrainingData) -> Problem:
        return make_class_problem(data, self.class_weight)

    def _make_task(self, problem: Problem, metric: Metric | None, seed: int) -> LabelTask:
        assert problem.classes is not None
        n_classes = len(problem.classes)
        make: Callable[..., LabelTask] = (
            BinaryTask if n_classes == 2 else partial(TASKS[self.multiclass], n_classes=n_classes)
        )
        return make(
            problem.examples.labels,
            weighting=bind_weighting(self.weighting, problem),
            learning_rate=self.learning_rate,
            adaptive=self.adaptive_observations,
            seed=seed,
            sample_weights=problem.examples.weights,
            score_weights=problem.examples.score_weights,
            metric=metric,
        )

    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        return describe_classifier(run, problem, known)

    def _describe_rows(self, source: RowSource) -> Attributes:
        return describe_classifier_rows(source)

    def _read_totals(self, totals: NDArray[np.int32], n_learners: int) -> NDArray[np.int32]:
        return count_votes(totals, n_learners)

    def _to_decision(self, judged: NDArray[np.int32]) -> Floats:
        broken, _ = break_ties(judged, self._ranks)
        return self.learning_rate_ * (broken if len(self.classes_) > 2 else broken[:, 1] - broken[:, 0])

    def _to_labels(self, judged: NDArray[np.int32]) -> NDArray[Any]:
        return self.classes_[pick_winners(judged, self._ranks)]

    def _to_probabilities(self, judged: NDArray[np.int32]) -> Floats:
        return self._calibration.predict(*break_ties(judged, self._ranks))

    @property
    def _explained_output(self) -> ExplainedOutput:
        return explain_votes(len(self._ensemble), len(self.classes_), getattr(self, "_colours", None))

    def _decode_leaves(self, index: int, values: Floats) -> list[Any]:
        if hasattr(self, "_colours"):
            colours = self._colours[index]
            return [self.classes_[colours == (1 if value > 0 else -1)].tolist() for value in values]
        codes = values > 0 if len(self.classes_) == 2 else values
        return [self.classes_[int(code)] for code in codes]

    @property
    def _outputs(self) -> Outputs[Any]:
        if hasattr(self, "_colours"):
            return Colours(self._colours, len(self.classes_))
        return Signs() if len(self.classes_) == 2 else ClassVotes(self._ranks)
