import itertools

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mpboost.dask.scoring import Sums, finish_score, sum_batch
from mpboost.datasets.batches import Batch


class Model:
    """Predicts the first column."""

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize("cuts", [[], [50], [3, 3, 90]], ids=str)
def test_r2_of_partitions_is_that_of_all_rows(cuts):
    rng = np.random.default_rng(0)
    y, X = 1000 + rng.normal(size=100), 1000 + rng.normal(size=(100, 1))
    weights = rng.integers(0, 3, 100).astype(float)
    bounds = [0, *cuts, 100]
    parts = [
        sum_batch(Batch("Partition", X[start:stop], y[start:stop], weights[start:stop]), Model())
        for start, stop in itertools.pairwise(bounds)
    ]
    assert finish_score(parts, are_classes=False) == pytest.approx(r2_score(y, X[:, 0], sample_weight=weights), 1e-12)


def test_r2_of_targets_that_are_all_the_same_is_scikit_learns():
    y = np.ones(5)
    for X in (np.ones((5, 1)), np.zeros((5, 1))):
        parts = [sum_batch(Batch("Partition", X, y, None), Model())]
        assert finish_score(parts, are_classes=False) == r2_score(y, X[:, 0])


def test_accuracy_is_the_weight_of_what_is_right():
    assert finish_score([Sums(3.0, hits=1.0), Sums(1.0, hits=1.0)], are_classes=True) == 0.5


def test_score_of_no_rows_is_refused():
    with pytest.raises(ValueError, match="There are no rows to score"):
        finish_score([Sums(0.0)], are_classes=True)
