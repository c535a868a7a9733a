"""The classifier: scikit-learn's manners around the loop."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem, make_class_problem
from mpboost.estimators.assembly import LabelTask
from mpboost.estimators.parameters import CLASSIFIER_CONSTRAINTS
from mpboost.estimators.publishing import Attributes, describe_classifier
from mpboost.estimators.voting import VotingBooster
from mpboost.learners.trees import Importance
from mpboost.sampling.sizes import CLASSIFIER_SIZES, PatchSizes, Size
from mpboost.tasks.many_classes import TASKS, Multiclass
from mpboost.tasks.two_classes import BinaryTask
from mpboost.tasks.weightings import Weighting


class MPBoostClassifier(VotingBooster):
    """Minipatch boosting for two classes or many.

    Each iteration draws a minipatch, a few rows and a few features, trains a decision tree on it, and lets it vote
    on all rows. Rows that the ensemble gets wrong are drawn more often from then on (probabilities p), and so are
    features that the trees found useful (probabilities q). The votes of those trees that never saw a row give the
    out-of-patch score: validation without a hold-out, which also tells when to stop.

    Parameters
    ----------
    estimator : scikit-learn classifier, default=None
        Weak learner. None stands for the native decision tree, which is by far the fastest.
    n_estimators : int, default=2000
        The most iterations.
    max_samples : int, float, "sqrt" or "auto", default="auto"
        Rows in a minipatch: a number, a share, the square root, or "auto", which begins with 8 times the square root,
        or with 3 out of 10 rows where that is less. After 40 iterations it tries twice as many, goes over to them if
        the out-of-patch score gains a point (or, where single learners are hardly better than chance, if it does not
        lose), and tries again, up to 4 times as many. It takes at most half of the rows, and at most 20 000. Where rows
        have weights, a heavy one counts for several.
    max_features : int, float, "sqrt" or "auto", default="auto"
        Features in a minipatch: a number, a share, the square root, or "auto", which is a fifth of the features, but at
        most 100, and at least 20 or half of them. Up to 8 features are all taken.
    weighting : {"exponential", "logistic", "hard_exponential", "hard_logistic"}, default="logistic"
        How the probability of a row follows from the votes on it. The hard ones depend on their sign alone.
    learning_rate : float or "auto", default="auto"
        Weight of a vote in the weighting. Small values make p follow the votes more slowly, which is what noisy labels
        need. "auto" is 0.1 as long as no more than 40 % of a minipatch are wrong by the votes of learners that
        never saw them, and falls where there are more: these are rows that nothing good can be learned from. 1 is the
        paper's.
    multiclass : {"margin", "m2", "mh", "oc"}, default="margin"
        How rows of more than two classes are weighted; with two classes all are the same. "margin" takes the weighting
        of the votes for the right class minus the most votes for another, "m2" the sum of it over all other classes
        (AdaBoost.M2), "mh" the sum over one-against-rest votes (AdaBoost.MH). In "oc" each learner tells two halves
        of the classes apart, drawn anew each time, and votes for all classes of a half (AdaBoost.OC). "margin" is the
        fastest and about as accurate as any. "m2" may gain a little where a class is confused with several others.
        "oc" lets weak learners that know only two classes vote on many, and has the fastest training trees but the
        slowest prediction. "mh" is there for comparison.
    feature_momentum : float, default=0.3
        How far q moves towards the importances that learners found, between 0 and 1: with "out_of_patch" the mean of
        all that a feature had so far, else those that the last learner found.
    feature_exploration : float, default=0.2
        Share of uniform draws among the draws of features, between 0 and 1.
    adaptive_observations, adaptive_features : bool, default=True
        Whether p and q are learned; if not they stay uniform.
    importance : {"out_of_patch", "impurity", "permutation"}, default="out_of_patch"
        How the features of a minipatch are credited. "out_of_patch" is how far the splits by a feature move what the
        tree says about as many rows again, which it never saw, towards their labels; of a given ``estimator`` it is
        the loss of accuracy on these rows when the feature is shuffled. "impurity" is the decrease of Gini impurity on
        the minipatch, or the ``feature_importances_`` or ``|coef_|`` of a given ``estimator``. "permutation" shuffles
        on the minipatch. Where minipatches hold all rows, "out_of_patch" is "impurity", or shuffles on the minipatch.
    max_depth : int, default=None
        Depth of the native trees. None lets them grow until their leaves are pure.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf of the native trees.
    max_bins : int, default=255
        Most values that the native trees tell apart in a feature, between 2 and 255. Missing values are kept apart
        besides.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, default="from_dtype"
        Features that the native trees split by subsets of their values: those that a data frame declares to be
        categories or text, a mask, or their numbers or names. Categories that are new in prediction are treated as
        missing values. A given ``estimator`` sees categories as numbers.
    class_weight : dict, "balanced" or None, default=None
        What rows weigh by their class, beside ``sample_weight``. "balanced" makes classes weigh the same.
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
    classes_ : array of shape (n_classes,)
        The labels, sorted.
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
        Out-of-patch accuracy of the model: an estimate of its accuracy on new data.
    oop_scores_, train_scores_ : array of shape (n_iter_,)
        Out-of-patch and training accuracy after each iteration.
    validation_score_, validation_scores_ : float, array of shape (n_iter_,)
        Accuracy on ``X_val``, of the model and after each iteration, if there was such data.
    learning_rate_ : float
        The learning rate at the end: what a vote weighs in the decision function.
    oop_decision_function_ : array of shape (n_samples,) or (n_samples, n_classes)
        For each row, the decision function of the learners that never saw it; NaN for rows of weight 0.
    oop_counts_ : int32 array of shape (n_samples,)
        How many learners judged each row without having seen it; 0 for rows in all minipatches and of weight 0.
    observation_difficulty_ : array of shape (n_samples,)
        How hard each row is for the learners that never saw it: from 0, where all vote for its label, to 1, where all
        vote for one other class; 1/2 is a draw. It is (r + 1) / (r + s + 2), with s votes for the label and r for the
        strongest other class, so that few votes tell less than many and no vote gives 1/2. NaN for rows of weight 0.
        ``find_label_issues`` ranks suspect labels by it.
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
        weighting: Weighting = "logistic",
        learning_rate: float | Literal["auto"] = "auto",
        multiclass: Multiclass = "margin",
        feature_momentum: float = 0.3,
        feature_exploration: float = 0.2,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        importance: Importance = "out_of_patch",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
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
        self.learning_rate = learning_rate
        self.multiclass = multiclass
        self.feature_momentum = feature_momentum
        self.feature_exploration = feature_exploration
        self.adaptive_observations = adaptive_observations
        self.adaptive_features = adaptive_features
        self.importance = importance
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.stopping = stopping
        self.n_iter_no_change = n_iter_no_change
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _pose(self, data: TrainingData) -> Problem:
        return make_class_problem(data, self.class_weight)

    def _make_task(self, problem: Problem, seed: int) -> LabelTask:
        assert problem.classes is not None
        n_classes = len(problem.classes)
        make: Callable[..., LabelTask] = (
            BinaryTask if n_classes == 2 else partial(TASKS[self.multiclass], n_classes=n_classes)
        )
        return make(
            problem.examples.labels,
            weighting=self.weighting,
            learning_rate=self.learning_rate,
            adaptive=self.adaptive_observations,
            seed=seed,
            sample_weights=problem.examples.weights,
        )

    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        return describe_classifier(run, problem, known)
