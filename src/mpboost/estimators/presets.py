"""Sets of parameters that give a published algorithm."""

from typing import Any

#: Parameters of ``MPBoostClassifier`` that give exactly Algorithms 1 and 2 of the paper. Choose the size of minipatches
#: for the data ("around ten percent of the observations and features"):
#: ``MPBoostClassifier(**PAPER, max_samples=500, max_features=30)``. The only difference: trees see features in
#: ``max_bins`` bins, 255 by default.
PAPER: dict[str, Any] = {
    "round_size": 1,
    "weighting": "logistic",
    "learning_rate": 1.0,
    "feature_momentum": 0.5,
    "feature_exploration": 0.0,
    "adaptive_observations": True,
    "adaptive_features": True,
    "importance": "impurity",
    "max_depth": None,
    "min_samples_leaf": 1,
    "min_samples_split": 2,
    "stopping": "paper",
}
