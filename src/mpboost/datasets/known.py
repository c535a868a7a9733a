"""What is known of the features of a dataset: names, categories and bins."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class Known:
    """What is known of the features of a dataset, and of a model that was trained on it.

    Attributes
    ----------
    features : dict
        Attributes about the features, as those of estimators: ``n_features_in_``, ``feature_names_in_``,
        ``is_categorical_``, ``categories_``, ``has_other_category_``; None if there are none.
    mapper : BinMapper
        The bins of the features.
    max_bins : int
        The most bins that a feature may have.
    """

    features: dict[str, Any]
    mapper: _native.BinMapper
    max_bins: int

    def make_reader(self) -> "BaseEstimator":
        """Make an object that tables are checked against, as if it were a fitted estimator."""
        from sklearn.base import BaseEstimator  # it takes long to import, and some only look at a dataset

        reader = BaseEstimator()
        vars(reader).update({name: value for name, value in self.features.items() if value is not None})
        return reader

    def __reduce__(self) -> tuple[Any, ...]:
        # The engine's mappers cannot be pickled; their arrays can.
        return _restore, (self.features, self.mapper.edges, self.mapper.offsets, self.max_bins)

    def equals(self, other: "Known") -> bool:
        """Check whether features, categories and bins are the same, so that codes mean the same."""
        return (
            np.array_equal(self.mapper.offsets, other.mapper.offsets)
            and np.array_equal(self.mapper.edges, other.mapper.edges)
            and all(_is_same(self.features.get(name), other.features.get(name)) for name in self.features)
        )


def _restore(features: dict[str, Any], edges: NDArray[np.float64], offsets: NDArray[np.int64], max_bins: int) -> Known:
    return Known(features, _native.BinMapper(edges, offsets), max_bins)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)
