"""What estimators are given: tables in memory, or datasets on disk."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data import checks
from mpboost.data.checks import TrainingData
from mpboost.data.tables import Table
from mpboost.data.targets import Targets
from mpboost.datasets.dataset import BinnedDataset
from mpboost.datasets.fitting import Dataset, check_dataset, check_training_dataset, check_validation_dataset


def check_training_data(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, categorical_features: Any, max_bins: int
) -> TrainingData:
    """Check a table or a dataset, its labels and weights."""
    check = check_training_dataset if isinstance(X, Dataset) else checks.check_training_data
    return check(estimator, X, y, sample_weight, categorical_features=categorical_features, max_bins=max_bins)


def check_table(estimator: BaseEstimator, X: Any) -> Table:
    """Check a table or a dataset to predict."""
    return check_dataset(estimator, X) if isinstance(X, BinnedDataset) else checks.check_table(estimator, X)


def check_validation_data(
    estimator: BaseEstimator, data: TrainingData, X: Any, y: Any, sample_weight: Any = None
) -> tuple[Table, Targets, NDArray[np.float64] | None]:
    """Check validation data, which must have the features of the training data."""
    if isinstance(X, Dataset):
        return check_validation_dataset(estimator, data, X, y, sample_weight)
    return checks.check_validation_data(estimator, data.known, X, y, sample_weight)


class FileWatch(Callback):
    """Ends a fit by an error if the file of a dataset was cut, or could not be read, while it was trained on."""

    limits_trials = True

    def __init__(self, dataset: BinnedDataset):
        self._dataset = dataset

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Raise an OSError if the file is not as it was."""
        self._dataset.check_intact()
        return None


def watch_results(X: Any, results: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield results about a table; raise an OSError if the file of a dataset was cut while they were computed."""
    for result in results:
        if isinstance(X, BinnedDataset):
            X.check_intact()
        yield result


def complete_targets(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return targets and weights as given or, of a dataset, its own."""
    if not isinstance(X, BinnedDataset):
        return y, sample_weight
    if y is None and X.targets is None:
        raise ValueError("The dataset was built without a target: pass y.")
    return X.y if y is None else y, X.sample_weight if sample_weight is None else sample_weight
