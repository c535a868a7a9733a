"""Checks of what users pass as data."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, validate_data


def check_training_data(estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """Check a table and its labels; return both, and what the estimator will know of the features.

    The estimator itself is not touched: a fit that fails later must not leave it half new.
    """
    shell = copy.copy(estimator)
    X, y = validate_data(shell, X, y, reset=True, dtype="numeric", ensure_all_finite="allow-nan")
    names = ("n_features_in_", "feature_names_in_")
    return _as_native(X), y, {name: vars(shell).get(name) for name in names}


def check_table(estimator: Any, X: Any) -> NDArray[Any]:
    """Check a table to predict against what the estimator knows of the features."""
    return _as_native(validate_data(estimator, X, reset=False, dtype="numeric", ensure_all_finite="allow-nan"))


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int8]]:
    """Find the two classes, sorted, and code the labels as -1 and +1.

    Examples
    --------
    >>> import numpy as np
    >>> encode_labels(np.array(["no", "yes", "no"]))
    (array(['no', 'yes'], dtype='<U3'), array([-1,  1, -1], dtype=int8))
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}, with "
            f"{len(classes)} classes; wrap the model in sklearn.multiclass.OneVsRestClassifier."
        )
    if len(classes) < 2:
        raise ValueError(f"The classifier needs two classes to learn from, but y has only one class: {classes[0]!r}.")
    return classes, (2 * codes - 1).astype(np.int8)


def _as_native(X: NDArray[Any]) -> NDArray[Any]:
    """Make the type of the numbers one that the engine reads; mostly it is already, and nothing is copied."""
    kind, size = X.dtype.kind, X.dtype.itemsize
    if kind in "biu" or (kind == "f" and size in (4, 8)):
        X = X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))
        # Columns of a record array may lie at odd distances.
        return X if all(stride % size == 0 for stride in X.strides) else np.ascontiguousarray(X)
    if kind != "f":
        raise TypeError(f"X holds {X.dtype}, which the model cannot read; convert dates and the like to numbers first.")
    with np.errstate(over="ignore"):
        X = X.astype(np.float32 if size < 4 else np.float64)
    return check_array(X, ensure_all_finite="allow-nan", dtype=None)  # long doubles may be beyond float64
