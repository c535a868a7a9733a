"""Fields of model files that all estimators have; reading them needs no scikit-learn, which takes long to import."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from mpboost.boosting.history import History
from mpboost.containers.attribute_kinds import (
    ONE,
    SCORE,
    SHARE,
    Array,
    Field,
    Labels,
    ObjectState,
    Rule,
    Scalar,
    refuse,
)
from mpboost.containers.features import TABLE_FEATURES
from mpboost.model_files.container import ModelFileError
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS

AT_MOST_ONE_OR_NAN = Rule(lambda values: not np.any(values > ONE), "must be at most 1, or NaN")
BELOW_INFINITY = Rule(lambda values: not np.isposinf(values).any(), "must be below infinity")
AT_LEAST_ONE = Rule(lambda values: np.all((values * ONE >= 1) & np.isfinite(values)), "must be finite, at least 1")
ASCENDING_FROM_ONE = Rule(
    lambda values: len(values) and values[0] == 1 and np.all(values[1:] > values[:-1]), "must ascend from 1"
)

#: Scores may be of any metric; R^2 has no lower limit.
SCORES = (
    "train_scores",
    "oop_scores",
    "oop_score",
    "oop_interval",
    "constant_score",
    "validation_scores",
    "validation_score",
)

#: Attributes of the table, in an order in which sizes are defined before they are used.
FEATURES = (
    *TABLE_FEATURES,
    Field("target_name_", Scalar(str), optional=True),  # set by the command line
    Field("table_habits_", Scalar(str), optional=True),  # set by the command line
)

#: Files before format 2 have none.
HISTORY = ObjectState(
    History,
    Field("iterations", Array("int64", "n_moments", rule=ASCENDING_FROM_ONE)),
    Field("effective_observations", Array("float64", "n_moments", rule=AT_LEAST_ONE)),
    Field("effective_features", Array("float64", "n_moments", rule=AT_LEAST_ONE)),
    Field("feature_probabilities", Array("float32", "n_moments", "n_features", rule=SHARE), optional=True),
)

#: What a run publishes, but for its trees.
RUN = (
    Field("n_iter_", Scalar(int, size="n_iterations")),
    Field("best_iteration_", Scalar(int, size="n_trees", at_most="n_iterations")),
    Field("stop_reason_", Scalar(str)),
    Field("score_name_", Scalar(str), optional=True),  # files before format 4 have none
    Field("train_scores_", Array("float64", "n_iterations", rule=BELOW_INFINITY)),
    Field("oop_scores_", Array("float64", "n_iterations", rule=BELOW_INFINITY)),
    Field("oop_score_", Scalar(float, rule=BELOW_INFINITY)),
    Field("oop_interval_", Array("float64", 2, rule=BELOW_INFINITY), optional=True),  # neither has format 3
    Field("constant_score_", Scalar(float, rule=BELOW_INFINITY), optional=True),
    Field("validation_scores_", Array("float64", "n_iterations", rule=BELOW_INFINITY), optional=True),
    Field("validation_score_", Scalar(float, rule=BELOW_INFINITY), optional=True),
    Field("n_samples_", Scalar(int, size="n_samples"), optional=True),  # files before format 5 have none
    # Models of very many rows have nothing that is about single rows.
    Field("observation_probabilities_", Array("float64", "n_samples", rule=SHARE), optional=True),
    Field("observation_difficulty_", Array("float64", "n_samples", rule=SCORE), optional=True),
    Field("oop_counts_", Array("int32", "n_samples"), optional=True),  # files before format 3 have none, either
    Field("max_samples_", Scalar(int, size="n_patch_rows", at_most="n_samples")),
    Field("max_features_", Scalar(int, size="n_patch_features", at_most="n_features")),
    Field("feature_probabilities_", Array("float64", "n_features", rule=SHARE)),
    Field("feature_importances_", Array("float64", "n_features", rule=SHARE)),
    Field("history_", HISTORY, optional=True),
)

CLASSES = Field("classes_", Labels("n_classes"))
CLASS_TARGETS = Field("_targets", Array("uint16", "n_samples"), optional=True)


def read_header(header: dict[str, Any], known: Container[str]) -> tuple[str, dict[str, Any]]:
    """Read the name of the estimator, which must be known, and the plain values."""
    match header:
        case {"estimator": str(name), "version": str(), "values": dict(values)} if len(header) == 3:
            if name not in known:
                raise ModelFileError(f"this version has no estimator {name[:100]!r}: upgrade mpboost.")
            return name, values
    raise ModelFileError("its header has wrong keys.")


def complete_scores(model: Any) -> None:
    """Set the scores that old files lack, and check those of known range: accuracy and R^2.

    Files before format 4 have no other scores, and do not name them.
    """
    if not hasattr(model, "score_name_"):
        model.score_name_ = DEFAULT_OF_CLASSES if hasattr(model, "classes_") else DEFAULT_OF_NUMBERS
    if not hasattr(model, "oop_interval_"):
        model.oop_interval_, model.constant_score_ = np.full(2, np.nan), np.nan
    scores = {name: getattr(model, name + "_", np.nan) for name in SCORES}
    for name, values in scores.items():
        if model.score_name_ == DEFAULT_OF_CLASSES and not SCORE.holds(values):
            refuse(name, SCORE.wording)
        if model.score_name_ == DEFAULT_OF_NUMBERS and not AT_MOST_ONE_OR_NAN.holds(values):
            refuse(name, AT_MOST_ONE_OR_NAN.wording)


def complete_rows(model: Any, attributes: Sequence[str]) -> bool:
    """Tell whether a file has what is about single rows, all of it or nothing; set the number of rows of old files."""
    present = {name for name in attributes if name in vars(model)}
    if present and present | {"oop_counts_"} != {*attributes}:
        refuse(min({*attributes} - present).strip("_"), "is missing")
    if not hasattr(model, "n_samples_"):
        if not present:
            refuse("n_samples", "is missing")
        model.n_samples_ = len(model.observation_probabilities_)
    return bool(present)


def check_classes(model: Any) -> None:
    """Check that there are at least two classes, and that the targets refer to them."""
    if len(model.classes_) < 2:
        refuse("classes", "must be at least two")
    if np.any(vars(model).get("_targets", 0) >= len(model.classes_)):
        refuse("targets", "contains classes that do not exist")
