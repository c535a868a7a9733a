"""What models and datasets both know about the features of a table, as fields of a file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.containers.attribute_kinds import Array, Field, Lists, Scalar, Strings, refuse

#: Attributes of the features, in an order in which sizes are defined before they are used.
TABLE_FEATURES = (
    Field("n_features_in_", Scalar(int, size="n_features")),
    Field("feature_names_in_", Strings("n_features"), optional=True),
    Field("is_categorical_", Array("bool", "n_features"), optional=True),
    Field("categories_", Lists("n_features"), optional=True),
    Field("has_other_category_", Array("bool", "n_features"), optional=True),
)


def check_categories(known: dict[str, Any], edge_offsets: NDArray[np.int64]) -> None:
    """Check that the attributes about categories match each other and the bins."""
    is_there = {known.get(name) is not None for name in ("is_categorical_", "categories_", "has_other_category_")}
    if is_there == {False}:
        return
    fits = is_there == {True} and all(
        is_categorical == (values is not None)
        and (max(1, len(values) + has_other) == n + 1 if values is not None else not has_other)
        for values, is_categorical, has_other, n in zip(
            known["categories_"],
            known["is_categorical_"],
            known["has_other_category_"],
            np.diff(edge_offsets),
            strict=True,
        )
    )
    if not fits:
        refuse("categories", "do not match is_categorical, has_other_category or the bins")
