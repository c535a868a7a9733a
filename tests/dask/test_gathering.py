import numpy as np
import pytest

from mpboost.dask.gathering import join_batches
from mpboost.datasets.batches import Batch
from tests.support.datasets import make_mixed


def test_joined_batches_are_one_table():
    X, y = make_mixed()
    batches = [Batch("Partition 0", X[:0], y[:0], None), Batch("Partition 1", X[:50], y[:50], None)]
    train, validation = join_batches([*batches, Batch("Partition 2", X[50:], y[50:], None)], batches)
    assert train.X.equals(X)
    np.testing.assert_array_equal(train.y, y)
    assert len(validation.y) == 50
    with pytest.raises(ValueError, match="There are no rows: all partitions are empty"):
        join_batches(batches[:1])
