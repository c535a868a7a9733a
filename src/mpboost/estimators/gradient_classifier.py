"""The minipatch gradient boosting classifier."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Problem, make_class_problem
from mpboost.estimators.gradient_base import GradientBooster
from mpboost.estimators.parameters import GRADIENT_CLASSIFIER_CONSTRAINTS
from mpboost.estimators.predictions import ClassPredictions
from mpboost.estimators.publishing import Attributes, RowSource, describe_gradient_classifier_rows, describe_gradients
from mpboost.learners.gradient_trees import GradientImportance
from mpboost.outputs.metrics import Scoring
from mpboost.sampling.sizes import Size
from mpboost.tasks.custom_loss import CustomLoss
from mpboost.tasks.losses import BinaryLogLoss, Loss, SoftmaxLoss, predict_shares


class MPGradientBoostingClassifier(ClassPredictions, GradientBooster):
    """Gradient boosting on minipatches, for two or more classes.

    Each iteration draws a minipatch, some rows and some features, and grows a small tree on it, leaf by leaf, to reduce
    the log loss. Rows with large gradients are drawn more often, and weighted so that sums stay unbiased. Features that
    earlier trees found useful are drawn more often, too (probabilities q). The splits of a tree come from the minipatch
    only, its leaf values from all rows. With more than two classes, each tree is grown to separate two random halves of
    the classes, and its leaves have a value for every class. Reserved rows, which the model never learns from, give the
    out-of-patch score; the fit stops by their loss.

    Parameters
    ----------
    loss : "log_loss" or object, default="log_loss"
        Loss to minimise. An object must have a method ``gradient_hessian(y, raw)`` that returns the first and second
        derivatives of the loss with respect to raw predictions. Both have the shape of ``raw``: (n_samples,) for two
        classes, (n_samples, n_classes) for more; y contains class codes 0, 1, ... It can also have ``loss(y, raw)``,
        the loss of each row, to stop by; ``baseline(y, sample_weight)``, the first raw prediction; and
        ``inverse_link(raw)``, which returns probabilities.
    learning_rate : float or "auto", default="auto"
        Factor that leaf values are multiplied by. "auto" means 0.1. Where several models take turns (``n_models``), it
        is larger for the first 30 trees of each model: it falls evenly from 0.2 to 0.1. Such models need fewer trees,
        and are as good.
    n_estimators : int, default=3000
        Maximum number of iterations; each grows one tree.
    max_samples : int, float, "sqrt" or "auto", default="auto"
        Row draws for a minipatch: a number (int), a share (float) or the square root ("sqrt") of all rows. "auto" takes
        40 times the square root, but at most 20 000, and at most the number of rows.
    max_features : int, float, "sqrt" or "auto", default="auto"
        Features in a minipatch: a number (int), a share (float) or the square root ("sqrt") of all features. "auto"
        takes a third of the features, but at most 50, and at least 20 or half of them, whichever is less. Up to 8
        features are all taken.
    round_size : int or "auto", default="auto"
        Number of minipatches in a round, K: they are drawn from the same distributions, their learners are trained side
        by side, and then taken in one after the other. The more, the more threads have work. The model depends on it,
        but not on the number of threads. "auto" is 8 or, with several models, the next multiple of their number; 1
        grows each tree by the derivatives after the one before it.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves of a tree; None for no limit. Trees grow leaf by leaf, where the loss falls most.
        "auto" takes a third of the square root of the number of rows, but at least 31 and at most 255.
    max_depth : int, default=None
        Maximum depth of the trees; None for no limit.
    min_samples_leaf : int, default=5
        Minimum number of rows of the minipatch in a leaf.
    l2_regularization : float, default=1.0
        Added to the sum of second derivatives in a leaf: shrinks the values of small leaves towards 0.
    leaf_refit : bool, default=True
        Whether leaf values are computed from all rows. If False, they are computed from the minipatch, like the splits.
    adaptive_observations, adaptive_features : bool, default=True
        Whether rows are drawn by the size of their gradients, and features by their usefulness (probabilities q); if
        not, they are drawn uniformly.
    observation_exploration : float, default=0.5
        Share of the uniform distribution when rows are drawn, between 0 and 1.
    feature_momentum : float, default=0.3
        How far q moves towards the importances in each iteration, between 0 and 1.
    feature_exploration : float, default=0.2
        Share of the uniform distribution when features are drawn, between 0 and 1.
    importance : {"out_of_patch", "gain"}, default="out_of_patch"
        How a tree scores the features of its minipatch: "out_of_patch" by what their splits gain on rows outside the
        minipatch, "gain" by what they gain on the minipatch.
    monotonic_cst : array-like of int or dict, default=None
        For each feature 1 if predictions must not fall as it rises, -1 if they must not rise, 0 for no constraint; or a
        dict from names or indices of features to these numbers. With two classes this is about the probability of
        ``classes_[1]``.
    interaction_cst : "pairwise", "no_interactions" or list of lists of int or str, default=None
        Sets of features that may be used together on one path of a tree. Features in no set form one more set.
    max_bins : int, default=255
        Maximum number of bins per feature, between 2 and 255. Missing values have one more bin.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, default="from_dtype"
        Features that trees split by subsets of categories: "from_dtype" takes the columns of categories or text in a
        data frame; otherwise a mask, or indices or names of features. Categories not seen in fit are treated as missing
        values, with a warning if a feature has no others.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in training; they multiply ``sample_weight``. "balanced" gives all classes the same total
        weight. They are no part of the scores, which estimate those on new rows.
    oop_size : int, float or "auto", default="auto"
        Number (int) or share (float) of rows that a model never learns from; they give its out-of-patch score. "auto"
        takes a fifth of up to 5000 rows, and a tenth of more, but at most 5000; with ``X_val`` it takes none. With
        ``oop_size=0`` and ``leaf_refit=False`` each row is judged by the trees whose minipatch did not contain it. That
        score is too low, because these trees compensate for those that contained it.
    n_models : int or "auto", default="auto"
        Number of models that take turns and are averaged. Each reserves its own rows, so that every row is used. "auto"
        is 5 for up to 5000 rows, 3 for up to 50 000 and 1 for more; for tables with more than 2 million cells (times
        n_classes - 1), 2 for up to 5000 rows and 1 for more; and 1 if ``oop_size`` or ``X_val`` is given.
    stopping : {"patience"} or None, default="patience"
        "patience" stops when the loss on reserved rows, or on ``X_val`` if given, has not fallen for
        ``n_iter_no_change`` iterations of each model, and keeps the trees up to the best iteration. None runs all
        iterations and keeps all trees.
    n_iter_no_change : int, default=100
        "patience" stops after so many iterations, of each of ``n_models``, without a noticeable gain: more than 0.2 %
        of the loss, or 0.01 % of a score. It compares means over the last ``n_iter_no_change // 20`` losses per model.
        It also stops if the score is perfect, or the loss does not change at all, for half as many iterations.
    scoring : str, callable or None, default=None
        The score: what ``oop_scores_`` and the other scores are, and what "patience" watches. None is accuracy; the fit
        then stops by the loss. Otherwise the name of a scorer of scikit-learn ("balanced_accuracy", "roc_auc",
        "average_precision", ...), a scorer from ``sklearn.metrics.make_scorer``, or a function of (y, predictions,
        weights or None) that returns a number. Greater is better: scores of losses are negative, also for the short
        name "log_loss". A score other than None is computed every fifth iteration, on at most 50 000 rows;
        ``oop_score_`` is computed from all rows.
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
        Number of trees in the model: those up to the best iteration.
    stop_reason_ : str
        Why the fit stopped.
    max_samples_, max_features_ : int
        Number of row draws and of features for a minipatch.
    n_models_ : int
        Number of models that took turns.
    baseline_ : array of shape (n_outputs,)
        Raw prediction before the first tree.
    score_name_ : str
        Name of the score: "accuracy", or that of ``scoring``.
    oop_score_ : float
        Score of the model on rows that it never learned from: an estimate of its score on new data. NaN if there are
        none.
    oop_interval_ : array of shape (2,)
        95 % confidence interval of ``oop_score_``: how far the score of this model on many new rows from the same
        source may be from it, because the judged rows are few. NaN if it is unknown.
    constant_score_ : float
        The score of a model that always predicts the most frequent class, with the shares of the classes as
        probabilities: one that is not clearly better has learned nothing.
    oop_scores_, train_scores_ : array of shape (n_iter_,)
        Out-of-patch and training score after each iteration.
    oop_losses_ : array of shape (n_iter_,)
        Out-of-patch loss after each iteration; the fit stops by it, unless ``scoring`` is given. With ``class_weight``
        it is what the log loss would be after recalibration, every fifth iteration: class weights shift probabilities.
    validation_score_, validation_scores_ : float, array of shape (n_iter_,)
        Score on ``X_val``, of the model and after each iteration. Only set if ``X_val`` was given.
    validation_losses_ : array of shape (n_iter_,)
        Loss on ``X_val`` after each iteration; the fit then stops by it. Only set if ``X_val`` was given, and no
        ``scoring``.
    oop_decision_function_ : array of shape (n_samples,) or (n_samples, n_classes)
        Raw predictions for reserved rows, by the model that never learned from them; NaN for other rows.
    oop_counts_ : int32 array of shape (n_samples,)
        Number of trees that judged each row: those of the model that reserved it, 0 for other rows. With ``oop_size=0``
        and ``leaf_refit=False``, those whose minipatch did not contain it.
    observation_difficulty_ : array of shape (n_samples,)
        How hard each row is for the model that reserved it: r / (r + s), with s the probability of its label and r that
        of the most probable other class; NaN for rows that were not reserved. ``find_label_issues`` ranks suspect
        labels by it.
    observation_probabilities_ : array of shape (n_samples,)
        Size of the gradient of each row, as a share of all.
    feature_probabilities_ : array of shape (n_features_in_,)
        Probability q of each feature; high for useful features.
    feature_importances_ : array of shape (n_features_in_,)
        Mean importance of each feature over the trees; they sum to 1.
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
    J. H. Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPGradientBoostingClassifier(random_state=0).fit(X, y)
    >>> bool(model.oop_score_ > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = GRADIENT_CLASSIFIER_CONSTRAINTS

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int = 3000,
        max_samples: Size = "auto",
        max_features: Size = "auto",
        round_size: int | Literal["auto"] = "auto",
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
        class_weight: Any = None,
        oop_size: int | float | Literal["auto"] = "auto",
        n_models: int | Literal["auto"] = "auto",
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
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.round_size = round_size
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
        self.class_weight = class_weight
        self.oop_size = oop_size
        self.n_models = n_models
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
        return make_class_problem(data, self.class_weight)

    def _make_loss(self, problem: Problem) -> Loss:
        assert problem.classes is not None
        labels, weights, n_classes = problem.examples.labels, problem.examples.weights, len(problem.classes)
        loss = BinaryLogLoss(labels, weights) if n_classes == 2 else SoftmaxLoss(labels, weights, n_classes)
        return loss if self.loss == "log_loss" else CustomLoss(self.loss, loss, labels, weights)

    def _describe(self, run: BoostingRun, problem: Problem, known: Attributes) -> Attributes:
        return describe_gradients(run, problem, known) | {"classes_": problem.classes}

    def _describe_rows(self, source: RowSource) -> Attributes:
        return describe_gradient_classifier_rows(source)

    @property
    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _read_totals(self, totals: Floats, n_learners: int) -> Floats:
        return self._add_baseline(totals)

    def _to_decision(self, judged: Floats) -> Floats:
        return judged

    def _to_labels(self, judged: Floats) -> NDArray[Any]:
        codes = (judged >= 0).astype(np.intp) if judged.ndim == 1 else judged.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def _to_probabilities(self, judged: Floats) -> Floats:
        return predict_shares(self._loss, judged)
