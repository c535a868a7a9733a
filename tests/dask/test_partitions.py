import numpy as np
import pandas as pd
import pytest

from mpboost.dask.partitions import check_lengths, make_batch, read_partitions
from mpboost.datasets.batches import Batch, Choice

da = pytest.importorskip("dask.array", reason="mpboost[dask] is not installed")
dd = pytest.importorskip("dask.dataframe", reason="mpboost[dask] is not installed")
dask = pytest.importorskip("dask")

TABLE = np.arange(30.0).reshape(10, 3)


def make_frame(npartitions=3, n_rows=10):
    frame = pd.DataFrame({"a": np.arange(n_rows), "b": np.arange(n_rows) * 2.0, "y": np.arange(n_rows) % 2})
    return dd.from_pandas(frame, npartitions=npartitions)


def compute(partitions):
    return dask.compute(partitions.batches, scheduler="sync")[0]


def test_partitions_of_arrays_have_all_columns_and_the_chunks_of_the_table():
    found = read_partitions(da.from_array(TABLE, chunks=(4, 2)), da.arange(10, chunks=7), da.ones(10, chunks=1))
    assert found.counts == [4, 4, 2]
    for batch, start in zip(compute(found), (0, 4, 8), strict=True):
        np.testing.assert_array_equal(batch.X, TABLE[start : start + 4])
        np.testing.assert_array_equal(batch.y, np.arange(10)[start : start + 4])
        assert batch.place == f"Partition {start // 4}"


def test_partitions_of_unknown_size_are_counted_later():
    X = da.from_array(TABLE, chunks=(4, 2))
    found = read_partitions(X[X[:, 0] > 5], da.arange(10, chunks=4)[da.arange(10, chunks=4) > 1], None)
    assert found.counts is None
    assert [len(batch.y) for batch in compute(found)] == [2, 4, 2]
    outlines = dask.compute(found.outlines, scheduler="sync")[0]
    assert [outline.X.shape for outline in outlines] == [(2, 1), (4, 1), (2, 1)]


def test_partitions_of_a_frame_are_split_by_names():
    found = read_partitions(make_frame(), "y", "a")
    first = compute(found)[0]
    assert list(first.X.columns) == ["b"]
    assert first.y.tolist() == [0, 1, 0, 1]
    assert first.sample_weight.tolist() == [0, 1, 2, 3]
    assert found.choice == Choice("y", "a")
    outline = dask.compute(found.outlines[1], scheduler="sync")[0]
    assert outline.sample_weight.tolist() == [4, 5, 6]


def test_partitions_keep_the_order_of_a_frame_whose_index_is_not_sorted():
    frame = make_frame().partitions[[2, 0, 1]]
    found = compute(read_partitions(frame[["a", "b"]], frame["y"], None))
    assert np.concatenate([batch.X["a"] for batch in found]).tolist() == [7, 8, 9, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda X, F: (TABLE, X[:, 0], None), TypeError, "X must be a Dask array or a Dask data frame, not ndarray"),
        (lambda X, F: (X[:, 0], X[:, 0], None), ValueError, "Expected 2D array, but X has 1 dimensions"),
        (lambda X, F: (X, np.ones(10), None), TypeError, "y must be a Dask array, a Dask series or the name"),
        (lambda X, F: (X, "y", None), TypeError, "y='y' names a column, but X is an array"),
        (lambda X, F: (F, "z", None), ValueError, r"y='z' is not a column of X; there are \['a', 'b', 'y'\]"),
        (lambda X, F: (F, F[["a", "b"]], None), ValueError, "y should be one column, got a frame of 2"),
        (lambda X, F: (X, X, None), ValueError, r"y should be a 1d array, got an array of shape \(10, 3\)"),
        (lambda X, F: (X, X[:9, 0], None), ValueError, "X has 10 rows, but y has 9"),
        (lambda X, F: (F, F["y"].repartition(npartitions=2), None), ValueError, "X has 3 partitions, but y has 2"),
        (lambda X, F: (F, "y", X[:9, 0]), ValueError, "X has 3 partitions, but sample_weight has 2"),
        (
            lambda X, F: (F, F["y"].repartition(divisions=[0, 5, 7, 9]), None),
            ValueError,
            r"the index of partition 1 is from 4 to 7 in X, but from 5 to 7 in y\. Use y\.repartition",
        ),
        (lambda X, F: (F[["y"]], "y", None), ValueError, r"X has no features: its columns are \['y'\]"),
    ],
)
def test_partitions_refuse_what_does_not_match(make, error, words):
    with pytest.raises(error, match=words):
        read_partitions(*make(da.from_array(TABLE, chunks=(5, 3)), make_frame()))


@pytest.mark.parametrize(("columns", "words"), [(["a"], "lacks the column 'b'"), (["b", "c", "a"], "also has the col")])
def test_batch_refuses_columns_that_the_frame_does_not_announce(columns, words):
    frame = pd.DataFrame(np.zeros((4, len(columns))), columns=columns)
    with pytest.raises(ValueError, match=f"Partition 2 {words}"):
        make_batch("Partition 2", Choice(), ["a", "b"], frame, np.zeros(4), None)


def test_batch_has_the_columns_in_the_order_of_the_frame():
    frame = pd.DataFrame(np.zeros((4, 2)), columns=["b", "a"])
    assert list(make_batch("Partition 2", Choice(), ["a", "b"], frame, np.zeros(4), None).X) == ["a", "b"]


def test_lengths_are_compared():
    assert check_lengths(Batch("Partition 1", TABLE, np.ones(10), None)) == 10
    with pytest.raises(ValueError, match="Partition 1: X has 10 rows, but y has 3"):
        check_lengths(Batch("Partition 1", TABLE, np.ones(3), None))
