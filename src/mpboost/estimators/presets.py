"""Parameters that make a known algorithm."""

from typing import Any

#: Algorithms 1 and 2 of the paper to the letter. The size of the minipatch is the algorithm's input, to be chosen for
#: the data ("around ten percent of the observations and features"):
#: ``MPBoostClassifier(**PAPER, max_samples=500, max_features=30)``. The one liberty: trees see a feature through
#: ``max_bins`` bins, 255 by default.
PAPER: dict[str, Any] = {
    "weighting": "logistic",
    "learning_rate": 1.0,
    "feature_momentum": 0.5,
    "feature_exploration": 0.0,
    "adaptive_observations": True,
    "adaptive_features": True,
    "importance": "impurity",
    "max_depth": None,
    "min_samples_leaf": 1,
    "stopping": "paper",
}
