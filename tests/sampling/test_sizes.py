"""Sizes of minipatches: as they are asked for, or by the size of the data."""

from itertools import pairwise

import numpy as np
import pytest

from mpboost.sampling.sizes import (
    CLASSIFIER_SIZES,
    REGRESSOR_SIZES,
    AutoFeatures,
    AutoRows,
    count_most_rows,
    count_patch_features,
    count_patch_rows,
)


@pytest.mark.parametrize(
    ("max_samples", "n_samples", "expected"),
    [
        pytest.param("sqrt", 99, 9, id="sqrt rounds down"),
        pytest.param("sqrt", 1, 1, id="sqrt of one"),
        pytest.param(0.25, 100, 25, id="share"),
        pytest.param(0.001, 100, 1, id="a share is at least one row"),
        pytest.param(1.0, 100, 100, id="all as a share"),
        pytest.param(np.float64(0.25), 100, 25, id="share as a NumPy double"),
        pytest.param(np.float32(0.25), 100, 25, id="share as a NumPy single"),
        pytest.param(1, 100, 1, id="the number 1 is one row"),
        pytest.param(100, 100, 100, id="all as a number"),
        pytest.param(np.int32(7), 100, 7, id="NumPy integer"),
    ],
)
def test_count_patch_rows_follows_the_table(max_samples, n_samples, expected):
    rows = count_patch_rows(max_samples, n_samples)
    assert (type(rows), rows) == (int, expected)


ROOTS, SHARE = AutoRows(roots=8.0, most=2000, growth=4), AutoRows(share=0.3, most=500)


@pytest.mark.parametrize(
    ("auto", "n_samples", "expected", "most"),
    [
        pytest.param(ROOTS, 1, 1, 1, id="never less than one"),
        pytest.param(ROOTS, 2, 1, 1, id="one of two"),
        pytest.param(ROOTS, 199, 59, 99, id="three tenths, and at most half, of 199"),
        pytest.param(ROOTS, 400, 120, 200, id="three tenths, and at most half"),
        pytest.param(ROOTS, 10_000, 800, 2000, id="eight roots, and at most 2000"),
        pytest.param(ROOTS, 3600, 480, 1800, id="eight roots, and at most half of 3600"),
        pytest.param(AutoRows(roots=8.0, growth=4), 10_000, 800, 3200, id="eight roots, and four times as many"),
        pytest.param(ROOTS, 10**9, 2000, 2000, id="at most 2000"),
        pytest.param(SHARE, 3, 1, 1, id="a share is at least one"),
        pytest.param(SHARE, 1000, 300, 300, id="a share does not grow"),
        pytest.param(SHARE, 10**6, 500, 500, id="a share of at most 500"),
    ],
)
def test_count_patch_rows_by_itself_stays_within_bounds(auto, n_samples, expected, most):
    rows = count_patch_rows("auto", n_samples, auto), count_most_rows(n_samples, auto)
    assert (type(rows[0]), type(rows[1]), rows) == (int, int, (expected, most))


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [
        pytest.param("sqrt", 784, 28, id="sqrt"),
        pytest.param(0.5, 5, 2, id="share rounds down"),
        pytest.param(0.01, 5, 1, id="a share is at least one feature"),
        pytest.param(5, 5, 5, id="all as a number"),
    ],
)
def test_count_patch_features_follows_the_table(max_features, n_features, expected):
    features = count_patch_features(max_features, n_features)
    assert (type(features), features) == (int, expected)


@pytest.mark.parametrize(
    ("n_features", "expected"),
    [
        pytest.param(1, 1, id="one"),
        pytest.param(8, 8, id="all of 8"),
        pytest.param(15, 8, id="8 of a few more"),
        pytest.param(31, 15, id="half of 31"),
        pytest.param(90, 20, id="at least 20"),
        pytest.param(180, 36, id="a fifth"),
        pytest.param(1000, 60, id="at most 60"),
    ],
)
def test_count_patch_features_by_itself_stays_within_bounds(n_features, expected):
    features = count_patch_features("auto", n_features, AutoFeatures(0.2, least=20, least_share=0.5, most=60))
    assert (type(features), features) == (int, expected)


@pytest.mark.parametrize("sizes", [CLASSIFIER_SIZES, REGRESSOR_SIZES], ids=["classifier", "regressor"])
def test_count_patch_sizes_grow_with_the_data(sizes):
    rows = [count_patch_rows("auto", n, sizes.rows) for n in range(1, 100_000, 17)]
    features = [count_patch_features("auto", n, sizes.features) for n in range(1, 2000)]
    assert all(1 <= small <= large for small, large in pairwise(rows))
    assert all(1 <= small <= large for small, large in pairwise(features))
    assert all(size <= n for n, size in enumerate(features, start=1))
    assert all(size <= max(1, n // 2) for n, size in zip(range(1, 100_000, 17), rows, strict=True))


@pytest.mark.parametrize(("find", "name"), [(count_patch_rows, "max_samples"), (count_patch_features, "max_features")])
def test_count_patch_rejects_more_than_there_are(find, name):
    with pytest.raises(ValueError, match=f"{name}=11 is more than the 10"):
        find(11, 10)
