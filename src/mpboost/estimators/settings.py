"""Records of the parameters that a run is made from."""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mpboost.data.problem import Problem
from mpboost.learners.gradient_trees import GradientImportance
from mpboost.learners.trees import Importance
from mpboost.outputs.metrics import Metric, Scoring
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS
from mpboost.rules import FeatureCredit, FeatureUpdate
from mpboost.sampling.sizes import PatchSizes, Size

#: Parameters that may change between two fits with warm_start; all others change what is learned.
FREE_PARAMETERS = frozenset({"n_estimators", "time_limit", "warm_start", "callbacks", "verbose", "n_jobs"})


@dataclass(frozen=True)
class BoosterSettings:
    """Parameters that all estimators have.

    Attributes
    ----------
    sizes : PatchSizes
        What "auto" means for ``max_samples`` and ``max_features``.
    params : dict
        All parameters that change what is learned, including nested ones: they must stay the same to continue a run.
    """

    sizes: PatchSizes
    params: dict[str, Any]
    n_estimators: int
    max_samples: Size
    max_features: Size
    round_size: int | Literal["auto"]
    feature_momentum: float
    feature_exploration: float
    adaptive_observations: bool
    adaptive_features: bool
    max_depth: int | None
    min_samples_leaf: int
    max_bins: int
    stopping: str | None
    n_iter_no_change: int
    scoring: Scoring
    random_state: Any

    def make_metric(self, problem: Problem) -> Metric | None:
        """Make the metric of a run; None for what the estimator does without ``scoring``."""
        return None if self.scoring is None else Metric(self.scoring, problem.classes)


@dataclass(frozen=True)
class PatchSettings(BoosterSettings):
    """Parameters of MPBoostClassifier and MPBoostRegressor."""

    estimator: Any
    min_samples_split: int | Literal["auto"]
    importance: Importance | FeatureCredit
    feature_update: FeatureUpdate | None

    @property
    def importance_name(self) -> Importance:
        """The importance that is built in: a rule of the user sees it, and is measured on the same rows."""
        return self.importance if isinstance(self.importance, str) else "out_of_patch"

    def make_metric(self, problem: Problem) -> Metric | None:
        """Make the metric of a run; None for accuracy and R^2, which are computed along with the outputs."""
        own = DEFAULT_OF_NUMBERS if problem.classes is None else DEFAULT_OF_CLASSES
        return None if self.scoring == own else super().make_metric(problem)


@dataclass(frozen=True)
class GradientSettings(BoosterSettings):
    """Parameters of the gradient estimators."""

    learning_rate: float | Literal["auto"]
    max_leaf_nodes: int | Literal["auto"] | None
    l2_regularization: float
    leaf_refit: bool
    observation_exploration: float
    importance: GradientImportance
    monotonic_cst: Any
    interaction_cst: Any
    oop_size: int | float | Literal["auto"]
    n_models: int | Literal["auto"]


Settings = TypeVar("Settings", bound=BoosterSettings)


def read_settings(kind: type[Settings], model: BaseEstimator, sizes: PatchSizes) -> Settings:
    """Read the parameters of an estimator."""
    names = {field.name for field in fields(kind)} - {"sizes", "params"}
    return kind(sizes=sizes, params=list_learning_params(model), **{name: getattr(model, name) for name in names})


def draw_seed(random_state: Any) -> int:
    """Draw the seed of a run; all other draws of the run depend on it."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))


def list_learning_params(model: BaseEstimator) -> dict[str, Any]:
    """List the parameters that change what is learned."""
    return {name: value for name, value in model.get_params().items() if name not in FREE_PARAMETERS}
