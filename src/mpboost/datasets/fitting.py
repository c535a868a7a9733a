"""Datasets as what estimators are fitted on, validated on, and asked to predict."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from mpboost.data.categories import make_categorical_mask
from mpboost.data.checks import TrainingData, check_coded_targets, check_targets
from mpboost.data.targets import CodedTargets, Targets
from mpboost.datasets.coded_rows import CodedRows
from mpboost.datasets.coded_table import CodedTable, refuse_values
from mpboost.datasets.dataset import BinnedDataset, find_known

#: What estimators are trained on in place of a table: rows in bins on disk, or in memory.
Dataset: TypeAlias = BinnedDataset | CodedRows

#: The default of ``max_bins`` of all estimators.
DEFAULT_BINS = 255


def check_training_dataset(
    estimator: BaseEstimator,
    dataset: Dataset,
    y: Any,
    sample_weight: Any,
    *,
    categorical_features: Any,
    max_bins: int,
) -> TrainingData:
    """Check a dataset, its targets and weights, which may also be given, for a fit."""
    if getattr(estimator, "estimator", None) is not None:
        refuse_values()
    if max_bins not in (DEFAULT_BINS, dataset.max_bins):
        raise ValueError(
            f"max_bins={max_bins}, but the dataset was built with max_bins={dataset.max_bins}: build it anew, or leave "
            "the estimator's max_bins at its default."
        )
    _check_categorical(dataset, categorical_features)
    targets, weights = check_dataset_targets(estimator, dataset, y, sample_weight)
    return TrainingData(dataset.table, targets, weights, dict(dataset.known.features))


def check_dataset(estimator: Any, dataset: Dataset) -> CodedTable:
    """Check a dataset to predict: its bins must be those that the model was trained on."""
    if getattr(getattr(estimator, "_ensemble", None), "mapper", None) is None:
        refuse_values()
    return _check_bins(dataset, find_known(estimator).equals(dataset.known))


def check_validation_dataset(
    estimator: BaseEstimator, data: TrainingData, dataset: Dataset, y: Any, sample_weight: Any
) -> tuple[CodedTable, Targets, NDArray[np.float64] | None]:
    """Check a dataset of validation rows: it must have the bins of the training data."""
    is_same = isinstance(data.table, CodedTable) and data.table.known.equals(dataset.known)
    table = _check_bins(dataset, is_same)
    return table, *check_dataset_targets(estimator, dataset, y, sample_weight)


def _check_bins(dataset: Dataset, is_same: bool) -> CodedTable:
    dataset.check_intact()
    if not is_same:
        raise ValueError(
            f"{dataset!r} has other features, categories or bins than the training data: build it with like=, given "
            "the dataset that the model was trained on, or the model itself."
        )
    return dataset.table


def _check_categorical(dataset: Dataset, categorical_features: Any) -> None:
    """Check that a choice of categorical features is the one that the dataset was built with."""
    if isinstance(categorical_features, str):
        return
    features = dataset.known.features
    known = features["is_categorical_"]
    if known is None:
        known = np.zeros(dataset.n_features, dtype=bool)
    wanted = make_categorical_mask(categorical_features, dataset.feature_names, dataset.n_features, known)
    if not np.array_equal(known, np.zeros(dataset.n_features, dtype=bool) if wanted is None else wanted):
        raise ValueError(
            "categorical_features differs from the features that are categorical in the dataset: choose them when you "
            "build the dataset, and leave the estimator's parameter at its default."
        )


def check_dataset_targets(
    estimator: BaseEstimator, dataset: Dataset, y: Any = None, sample_weight: Any = None
) -> tuple[Targets, NDArray[np.float64] | None]:
    """Check the targets and weights of a dataset, or those that are given in place of them."""
    weights = dataset.sample_weight if sample_weight is None else sample_weight
    targets = dataset.targets if y is None else y
    if targets is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: the dataset was built "
            "without a target. Pass y, or build the dataset with a target."
        )
    if isinstance(targets, CodedTargets):
        return check_coded_targets(estimator, targets, weights)
    if y is not None:
        check_consistent_length(range(dataset.n_rows), targets)
    return check_targets(estimator, targets, weights)
