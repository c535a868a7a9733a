"""What users pass as X in every library, and short ways to have it checked."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mpboost import MPBoostClassifier
from mpboost.data.checks import check_training_data

FRAMES = {
    "pandas": pd.DataFrame,
    "pandas-nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas-arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


def each_frame(test):
    return pytest.mark.parametrize("make_frame", FRAMES.values(), ids=FRAMES.keys())(test)


def check(X, y=None, sample_weight=None, **options):
    y = np.arange(len(X)) % 2 if y is None else y
    return check_training_data(MPBoostClassifier(), X, y, sample_weight, **options)


def fit(X, **options):
    """Make an estimator that knows the features of X, as a fit would."""
    model = MPBoostClassifier()
    for name, value in check(X, **options).known.items():
        if value is not None:
            setattr(model, name, value)
    return model


def read(X, **options):
    return check(X, **options).table.to_array()
