"""Checks what users pass as X, y and sample_weight, and records what a model must remember about the features."""

import copy
import reprlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals import Series
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from mpboost._compat import check_sample_weight, check_y
from mpboost.data.categories import Categories, Factors, as_keys, learn_categories, make_categorical_mask
from mpboost.data.sources import WIDE_TYPES, Source, read_native, read_source, refuse_lazy
from mpboost.data.tables import ColumnTable, Table
from mpboost.data.targets import CodedTargets, Targets

#: The largest target of a regression.
MAX_VALUE = 1e100

#: Codes of classes have 16 bits.
MAX_CLASSES = 65_535


@contextmanager
def refuse_odd_numbers() -> Iterator[None]:
    """Turn errors about odd numbers into a ValueError; numbers that are only too large are told by the checks."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except ArithmeticError as error:  # a signalling NaN of Decimal raises one at any comparison
        raise ValueError(
            "X, y or sample_weight contains a value that is not a number or does not fit in float64."
        ) from error


@dataclass(frozen=True)
class TrainingData:
    """Checked training data.

    Attributes
    ----------
    table : Table
        The features.
    y : array of shape (n_samples,) or CodedTargets
        The labels.
    sample_weight : float64 array of shape (n_samples,) or None
        Not negative, not all zero.
    known : dict
        Fitted attributes about the features, None if there are none: ``n_features_in_``; ``feature_names_in_``;
        ``categories_``, a list with the categories of each feature in the order of their codes, or None for numbers;
        ``is_categorical_``, a mask; ``has_other_category_``, a mask of the features with too many categories, whose
        rare and new categories share one more code.
    """

    table: Table
    y: Targets
    sample_weight: NDArray[np.float64] | None
    known: dict[str, Any]


@refuse_odd_numbers()
def check_training_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    categorical_features: Any = "from_dtype",
    max_bins: int = 255,
) -> TrainingData:
    """Check a table, its labels and weights, and code its categories.

    The estimator is not changed, so that a fit that fails later leaves it as it was. Only categories of rows with a
    weight above 0 are learned.
    """
    shell = copy.copy(estimator)
    has_categories = categorical_features is not None and not isinstance(categorical_features, str)
    dated = np.asarray(categorical_features, dtype=object).ravel().tolist() if has_categories else []
    source = read_source(shell, X, reset=True, has_categories=has_categories, dated_categories=dated)
    is_categorical = make_categorical_mask(categorical_features, source.names, shell.n_features_in_, source.by_dtype)
    if has_categories and is_categorical is None:  # none after all: read X in the same way as for predictions
        source = read_source(shell, X, reset=True, has_categories=False)
    y = _check_targets(shell, y)
    check_consistent_length(source, y)
    weights = _check_weights(sample_weight, y)
    rows = None if weights is None else weights > 0
    table, categories = _encode(source, is_categorical, lambda _, factors: learn_categories(factors, max_bins, rows))
    known = {
        "n_features_in_": shell.n_features_in_,
        "feature_names_in_": vars(shell).get("feature_names_in_"),
        "is_categorical_": is_categorical,
        "categories_": None,
        "has_other_category_": None,
    }
    if categories is not None:
        known["categories_"] = [None if each is None else each.values for each in categories]
        known["has_other_category_"] = np.array([each is not None and each.has_other for each in categories])
    return TrainingData(table, y, weights, known)


@refuse_odd_numbers()
def check_table(estimator: BaseEstimator, X: Any) -> Table:
    """Check a table to predict: it must have the features that the estimator was fitted with."""
    is_categorical = getattr(estimator, "is_categorical_", None)
    source = read_source(estimator, X, reset=False, has_categories=is_categorical is not None)

    def recall(feature: int, _: Factors) -> Categories:
        return Categories(estimator.categories_[feature], bool(estimator.has_other_category_[feature]))

    return _encode(source, is_categorical, recall)[0]


@refuse_odd_numbers()
def check_validation_data(
    estimator: BaseEstimator, known: dict[str, Any], X: Any, y: Any, sample_weight: Any = None
) -> tuple[Table, NDArray[Any], NDArray[np.float64] | None]:
    """Check validation data: it must have the features of the training data, which ``known`` describes."""
    if X is None or y is None:
        raise ValueError("X_val and y_val must be passed together; sample_weight_val needs both.")
    shell = copy.copy(estimator)
    vars(shell).update(known)
    table = check_table(shell, X)
    y = _check_targets(shell, y)
    check_consistent_length(range(table.n_rows), y)
    return table, y, _check_weights(sample_weight, y)


@refuse_odd_numbers()
def check_targets(
    estimator: BaseEstimator, y: Any, sample_weight: Any = None
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Check the targets and weights of rows that a fitted estimator is judged by."""
    y = _check_targets(estimator, y)
    return y, _check_weights(sample_weight, y)


@refuse_odd_numbers()
def check_coded_targets(
    estimator: BaseEstimator, y: CodedTargets, sample_weight: Any = None
) -> tuple[CodedTargets, NDArray[np.float64] | None]:
    """Check targets of which only the distinct values are looked at, and the weights of their rows."""
    y = CodedTargets(_check_targets(estimator, y.values), y.codes)
    return y, _check_weights(sample_weight, y.codes)


@refuse_odd_numbers()
def list_classes(y: Targets) -> NDArray[Any]:
    """List the classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> list_classes(np.array(["no", "yes", "no"]))
    array(['no', 'yes'], dtype='<U3')
    """
    distinct = y.list_distinct() if isinstance(y, CodedTargets) else _list_distinct(y)
    check_classification_targets(np.repeat(distinct, 2))  # twice: it would take labels that all differ for numbers
    classes = np.unique(distinct)
    if len(classes) < 2:
        raise ValueError(
            f"A classifier needs at least two classes, but y has only one class: {classes.tolist()[0]!r}. (Rows of "
            "weight 0 are ignored.)"
        )
    if len(classes) > MAX_CLASSES:
        raise ValueError(
            f"y has {len(classes)} classes, but at most {MAX_CLASSES} are allowed; use MPBoostRegressor for numbers."
        )
    return classes


def encode_labels(y: Targets, classes: NDArray[Any]) -> NDArray[Any]:
    """Code labels: two classes as -1 and +1, more of them as 0, 1, 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> encode_labels(np.array(["no", "yes", "no"]), np.array(["no", "yes"]))
    array([-1,  1, -1], dtype=int8)
    >>> encode_labels(np.array([5, 7, 6]), np.array([5, 6, 7]))
    array([0, 2, 1], dtype=uint16)
    """
    if isinstance(y, CodedTargets):
        return encode_labels(y.values, classes)[y.codes]
    if len(classes) == 2:
        return np.where(y == classes[1], 1, -1).astype(np.int8)
    return np.searchsorted(classes, y).astype(np.uint16)


def _list_distinct(values: NDArray[Any]) -> NDArray[Any]:
    """List the distinct values; objects are not sorted, since that is slow."""
    if values.dtype.kind != "O":
        return np.unique(values)
    try:
        return np.array([*dict.fromkeys(values.ravel().tolist()), None], dtype=object)[:-1]
    except TypeError:  # contains lists: scikit-learn refuses them later
        return values


def _encode(
    source: Source, is_categorical: NDArray[np.bool_] | None, choose: Callable[[int, Factors], Categories]
) -> tuple[Table, list[Categories | None] | None]:
    """Make a table of numbers and codes; return it with the categories of each feature."""
    if is_categorical is None:
        return source.to_table(), None
    columns: list[NDArray[Any]] = []
    categories: list[Categories | None] = []
    for feature, has_categories in enumerate(is_categorical):
        if has_categories:
            factors = source.read_factors(feature)
            chosen = choose(feature, factors)
            name = feature if source.names is None else source.names[feature]
            if chosen.are_foreign(factors):
                warnings.warn(
                    f"The categories of feature {name!r} are text, but were numbers in training, or the other way "
                    "round: all of them count as missing. Pass the same type as in training.",
                    stacklevel=5,
                )
            elif chosen.are_new(factors):
                warnings.warn(
                    f"Feature {name!r} has no category that occurred in training: all of its values count as missing. "
                    "Check that they are spelled as in training.",
                    stacklevel=5,
                )
            categories.append(chosen)
            columns.append(chosen.encode(factors))
        else:
            categories.append(None)
            columns.append(source.read_numbers(feature))
    return ColumnTable(columns, [None if each is None else each.n_codes for each in categories]), categories


def _check_targets(estimator: BaseEstimator, y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    y = read_targets(y, "y")
    return _check_values(estimator, y) if is_regressor(estimator) else _check_labels(estimator, y)


def _check_values(estimator: BaseEstimator, y: Any) -> NDArray[np.float64]:
    if isinstance(y, np.ndarray) and y.size and y.ndim and y.dtype.kind in "OSTUMm":
        y = _read_values(y, type(estimator).__name__)
    _refuse_not_finite(y)
    y = np.asarray(check_y(y, y_numeric=True, estimator=estimator), dtype=np.float64)
    if len(y) and np.abs(y).max() > MAX_VALUE:
        raise ValueError(
            f"y contains values larger than {MAX_VALUE:g}, whose squares overflow: divide y by a constant."
        )
    return y


def _read_values(y: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Convert targets to numbers; say which of them is none."""
    if y.dtype.kind == "O" and None in as_keys(y.ravel()):
        raise ValueError("y contains missing values (None, NaN, NA): remove these rows.")
    if y.dtype.kind in "Mm":  # numpy would count days or nanoseconds
        odd = y.ravel()[0]
    else:
        with suppress(ValueError, TypeError):
            return y.astype(np.float64)
        odd = next(value for value in y.ravel().tolist() if not _is_number(value))
    raise ValueError(
        f"y contains {reprlib.repr(odd)}, which is not a number, but {name} predicts numbers: convert y to numbers, or "
        "use a classifier for classes."
    )


def _is_number(value: Any) -> bool:
    try:
        return float(value) is not None
    except (TypeError, ValueError):
        return False


def _check_labels(estimator: BaseEstimator, y: Any) -> NDArray[Any]:
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":  # variable-length strings, which scikit-learn cannot read
        y = y.astype(object)
    if isinstance(y, np.ndarray) and y.ndim and y.dtype.kind == "O":
        labels = _list_distinct(y).ravel()
        distinct = as_keys(labels)
        if None in distinct:
            raise ValueError("Unknown label type: y contains missing values (None, NaN, NA); remove these rows.")
        refuse_odd_labels(labels)
        if all(isinstance(label, int) for label in distinct):  # bools, too
            whole = np.array(y.tolist())
            y = whole if whole.dtype.kind in "biu" else y
    _refuse_not_finite(y)
    return check_y(y, estimator=estimator)


def refuse_odd_labels(labels: NDArray[Any]) -> None:
    """Raise an error for labels that are neither text nor numbers, or both."""
    texts = [label for label in labels if isinstance(label, str)]
    others = [label for label in labels if not isinstance(label, str)]
    for label in others:
        if not isinstance(label, Number | np.generic | bytes):
            raise ValueError(
                f"Unknown label type: y contains {reprlib.repr(label)} of type {type(label).__name__}: convert labels "
                "to text or whole numbers."
            )
    if texts and others:
        raise ValueError(
            f"Unknown label type: y contains text and numbers ({reprlib.repr(texts[0])} and {reprlib.repr(others[0])}"
            "): convert all labels to text, or all to numbers."
        )


def _refuse_not_finite(y: Any) -> None:
    if not isinstance(y, np.ndarray) or y.dtype.kind != "f":
        return
    if np.isnan(y).any():
        raise ValueError("Input y contains NaN: remove the rows whose target is missing.")
    if np.isinf(y).any():
        raise ValueError(
            f"Input y contains infinity or a value too large for {y.dtype!r}: remove these rows, or replace their "
            "targets."
        )


def _check_weights(sample_weight: Any, y: NDArray[Any]) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):  # scikit-learn would not check it
        sample_weight = np.full(len(y), sample_weight)
    weights = read_targets(sample_weight, "sample_weight")
    weights = check_sample_weight(weights, y, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def read_targets(values: Any, name: str) -> Any:
    """Convert a column or a frame of any library to an array; scikit-learn refuses anything else later."""
    native = read_native(values, name)
    refuse_lazy(values, name)
    if isinstance(native, nw.DataFrame):
        if len(native.columns) > 1:
            raise ValueError(
                f"{name} should be a 1d array, got a frame of {len(native.columns)} columns instead: pass one of them, "
                f"for example {name}[{native.columns[0]!r}]."
            )
        return np.column_stack([_read_series(column) for column in native.iter_columns()])
    if isinstance(native, nw.Series):
        return _read_series(native)
    return values if sparse.issparse(values) else _read_array(values, name)


def _read_array(values: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} should be a 1d array, but its entries have different lengths ({error}).") from error
    is_text = array.ndim == 1 and array.dtype.kind in "SU" and not isinstance(values, np.ndarray)
    is_mixed = is_text and not all(isinstance(value, str | bytes) for value in values)
    return np.array([*values, None], dtype=object)[:-1] if is_mixed else array  # numpy would turn numbers into text


def _read_series(series: Series[Any]) -> NDArray[Any]:
    dtype = series.dtype
    is_number = dtype.is_float() or (dtype.is_integer() and dtype not in WIDE_TYPES)
    if is_number or (dtype == nw.Boolean and not series.null_count()):
        return series.to_numpy()
    return np.array([*series.to_list(), None], dtype=object)[:-1]
