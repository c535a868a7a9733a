"""Where rows come from: Parquet files, lazy frames, functions that yield batches, and what is refused."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from mpboost import BinnedDataset, MPBoostClassifier
from mpboost.datasets import batches
from tests.support.datasets import QUICK, build_cut, cut, describe_dataset, make_mixed, make_numbers, save_bytes

X, Y = make_mixed()
Y = pd.Series(Y, dtype=object)
WEIGHTS = np.arange(len(Y)) % 3 + 0.5
TABLE = X.assign(answer=Y, weight=WEIGHTS)
NAMES = {"target": "answer", "sample_weight": "weight"}


@pytest.fixture(scope="module")
def expected():
    return describe_dataset(BinnedDataset.from_arrays(X, Y, WEIGHTS))


@pytest.fixture
def folder(tmp_path):
    """A folder of Parquet files, one of them with several row groups, another in a subfolder."""
    (tmp_path / "part").mkdir()
    pq.write_table(pa.Table.from_pandas(TABLE[:90], preserve_index=False), tmp_path / "1.parquet", row_group_size=40)
    pl.from_pandas(TABLE[90:91]).write_parquet(tmp_path / "2.parquet")
    TABLE[91:91].to_parquet(tmp_path / "3.parquet", index=False)
    TABLE[91:].to_parquet(tmp_path / "part" / "4.parquet", index=False)
    return tmp_path


def assert_as_in_memory(dataset, expected):
    assert describe_dataset(dataset) == expected
    assert dataset.target_name == "answer"
    model = MPBoostClassifier(**QUICK)
    assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(X, Y, WEIGHTS))


def test_folder_of_parquet_files_is_one_table(folder, expected):
    assert_as_in_memory(BinnedDataset.from_parquet(folder, **NAMES), expected)


def test_pattern_and_list_of_parquet_files_are_one_table(folder, expected):
    for paths in (
        str(folder / "**/*.parquet"),
        [folder / "1.parquet", str(folder / "2.parquet"), folder / "part"],
        [folder / "[12].parquet", folder / "part" / "*"],
    ):
        assert describe_dataset(BinnedDataset.from_parquet(paths, **NAMES)) == expected


def test_parquet_is_read_in_small_batches(folder, expected, monkeypatch):
    monkeypatch.setattr(batches, "count_batch_rows", lambda n_columns: 17)
    assert describe_dataset(BinnedDataset.from_parquet(folder, **NAMES)) == expected
    assert describe_dataset(BinnedDataset.from_arrays(X, Y, WEIGHTS)) == expected


def test_names_of_files_that_look_like_patterns_are_found(tmp_path):
    TABLE.to_parquet(tmp_path / "a[1].parquet", index=False)
    assert len(BinnedDataset.from_parquet(tmp_path / "a[1].parquet", target="answer")) == len(TABLE)


def test_columns_are_chosen_in_the_given_order(folder):
    dataset = BinnedDataset.from_parquet(folder, target="answer", columns=["colour", "count"])
    assert dataset.feature_names == ["colour", "count"]
    assert dataset.sample_weight is None
    model = MPBoostClassifier(**QUICK)
    assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(X[["colour", "count"]], Y))


def test_column_of_weights_or_targets_is_no_feature(folder):
    dataset = BinnedDataset.from_parquet(folder, **NAMES)
    assert not {"answer", "weight"} & set(dataset.feature_names)
    assert "weight" in BinnedDataset.from_parquet(folder, target="answer").feature_names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "nothing"}, "there is no column 'nothing'; there are 'height'"),
        ({"target": "answer", "columns": ["height", "x"]}, "1.parquet.*there is no column 'x'"),
        ({"target": "answer", "sample_weight": "w"}, "there is no column 'w'"),
    ],
)
def test_unknown_columns_are_refused_by_name(folder, options, message):
    with pytest.raises(ValueError, match=message):
        BinnedDataset.from_parquet(folder, **options)


def test_missing_files_are_refused_by_name(tmp_path):
    for paths, message in (
        (tmp_path / "no.parquet", "There is no file .*no.parquet"),
        (tmp_path / "*.parquet", r"No file matches .*\*.parquet"),
        (tmp_path, "no file that ends in .parquet in"),
    ):
        with pytest.raises(FileNotFoundError, match=message):
            BinnedDataset.from_parquet(paths)
    with pytest.raises(ValueError, match="list of paths is empty"):
        BinnedDataset.from_parquet([])


def test_file_that_is_no_parquet_is_refused_by_name(folder):
    (folder / "2.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"2.parquet cannot be read: "):
        BinnedDataset.from_parquet(folder)


@pytest.mark.parametrize(
    "convert",
    [lambda frame: frame, pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)],
    ids=["pandas", "polars", "arrow"],
)
def test_frames_of_all_libraries_are_batches(convert, expected):
    def read_batches():
        return [convert(TABLE[start : start + 70]) for start in (0, 70, 140)]

    assert_as_in_memory(BinnedDataset.from_batches(read_batches, **NAMES), expected)


def test_record_batches_are_batches(expected):
    whole = pa.Table.from_pandas(TABLE, preserve_index=False)
    assert describe_dataset(BinnedDataset.from_batches(lambda: whole.to_batches(33), **NAMES)) == expected


def test_lazy_frames_are_computed_once(expected):
    n_computed = 0

    def count(frame):
        nonlocal n_computed
        n_computed += 1
        return frame

    lazy = pl.from_pandas(TABLE).lazy().map_batches(count)
    assert_as_in_memory(BinnedDataset.from_batches(lazy, **NAMES), expected)
    assert n_computed == 1
    with pytest.raises(TypeError, match=r"lazy frame: use BinnedDataset.from_batches"):
        BinnedDataset.from_arrays(lazy, Y)


def test_lazy_frame_leaves_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ValueError, match="no column 'nothing'"):
        BinnedDataset.from_batches(pl.from_pandas(TABLE).lazy(), target="nothing", file=tmp_path / "a.mpcols")
    assert list(tmp_path.iterdir()) == []


def test_tuples_have_two_or_three_parts():
    numbers, values = make_numbers(30)
    assert BinnedDataset.from_batches(lambda: [(numbers,)]).y is None
    assert BinnedDataset.from_batches(lambda: [numbers]).shape == (30, 5)
    with pytest.raises(TypeError, match=r"Batch 1: a tuple must be \(X, y\)"):
        BinnedDataset.from_batches(lambda: [(numbers, values), (numbers, values, values, values)])
    with pytest.raises(TypeError, match="needs no names of columns"):
        BinnedDataset.from_batches(lambda: [(numbers, values)], target="y")
    with pytest.raises(TypeError, match="Batch 0: target, sample_weight and columns name columns of frames"):
        BinnedDataset.from_batches(lambda: [numbers], target="y")


def test_iterators_are_refused_with_advice():
    numbers, values = make_numbers(30)
    for given in (iter([(numbers, values)]), [(numbers, values)], ((numbers, values) for _ in range(3))):
        with pytest.raises(TypeError, match=r"must be a function without arguments .* an iterator ends"):
            BinnedDataset.from_batches(given)


@pytest.mark.parametrize("made", ["text", {"a": 1}, 5, None], ids=repr)
def test_functions_that_return_no_batches_are_refused(made):
    with pytest.raises(TypeError, match="must return an iterable of batches"):
        BinnedDataset.from_batches(lambda: made)


def test_same_iterator_twice_is_refused():
    once = cut(X, Y)()
    with pytest.raises(TypeError, match="returned the same iterator twice: it must begin anew"):
        BinnedDataset.from_batches(lambda: once)
    wrapped = cut(X, Y)()
    with pytest.raises(ValueError, match="There were 200 rows at first, then 0"):
        BinnedDataset.from_batches(lambda: (batch for batch in wrapped))


def test_list_may_be_returned_twice():
    whole = list(cut(X, Y)())
    assert describe_dataset(BinnedDataset.from_batches(lambda: whole)) == describe_dataset(build_cut(X, Y))


@pytest.mark.parametrize("is_like", [False, True])
def test_endless_batches_are_refused_when_they_would_fill_the_disk(is_like, monkeypatch):
    numbers, values = make_numbers(100)
    like = BinnedDataset.from_arrays(numbers, values) if is_like else None
    usage = type("Usage", (), {"free": 50_000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(
        OSError, match=r"10100 rows of 5 features need 49.3 KiB, but only 48.8 KiB are free .* batches end"
    ):
        BinnedDataset.from_batches(lambda: itertools.repeat((numbers, values)), like=like)


def test_no_rows_are_refused():
    numbers, values = make_numbers(30)
    for make in (list, lambda: [(numbers[:0], values[:0])], lambda: iter(())):
        with pytest.raises(ValueError, match="There are no rows"):
            BinnedDataset.from_batches(make)
    with pytest.raises(ValueError, match="There are no rows"):
        BinnedDataset.from_arrays(numbers[:0], values[:0])
    with pytest.raises(ValueError, match="There are no rows"):
        BinnedDataset.from_arrays(X[:0], Y[:0])


def test_other_shapes_are_refused():
    numbers, values = make_numbers(30)
    with pytest.raises(ValueError, match="Expected 2D array"):
        BinnedDataset.from_arrays(values, values)
    with pytest.raises(ValueError, match="Expected 2D array"):
        BinnedDataset.from_arrays(pd.Series(values), values)
    with pytest.raises(ValueError, match="X has 30 rows, but y has 29"):
        BinnedDataset.from_arrays(numbers, values[1:])
    with pytest.raises(ValueError, match="X has 30 rows, but sample_weight has 29"):
        BinnedDataset.from_arrays(numbers, values, values[1:])
    with pytest.raises(ValueError, match="Batch 1: X has 30 rows, but y has 29"):
        BinnedDataset.from_batches(lambda: [(numbers, values), (numbers, values[1:])])
    with pytest.raises(ValueError, match="Batch 1: X has 30 rows, but sample_weight has 29"):
        BinnedDataset.from_batches(lambda: [(numbers, values, abs(values)), (numbers, values, abs(values[1:]))])


def test_nested_lists_are_tables():
    numbers, values = make_numbers(30)
    lists = BinnedDataset.from_arrays(numbers.tolist(), values.tolist())
    assert describe_dataset(lists) == describe_dataset(BinnedDataset.from_arrays(numbers, values))


def test_only_some_batches_with_targets_or_weights_are_refused():
    numbers, values = make_numbers(30)
    with pytest.raises(ValueError, match="Batch 1: some batches have targets, and others have none"):
        BinnedDataset.from_batches(lambda: [(numbers, values), (numbers,)])
    with pytest.raises(ValueError, match="Batch 1: some batches have weights, and others have none"):
        BinnedDataset.from_batches(lambda: [(numbers, values), (numbers, values, abs(values))])


def test_batches_may_share_one_buffer():
    """A function may fill the same arrays again and again."""
    numbers, values = make_numbers()
    buffer, targets = np.empty((50, 5)), np.empty(50)

    def read_batches():
        for start in range(0, 200, 50):
            buffer[:], targets[:] = numbers[start : start + 50], values[start : start + 50]
            yield buffer, targets

    shared = BinnedDataset.from_batches(read_batches)
    assert describe_dataset(shared) == describe_dataset(BinnedDataset.from_arrays(numbers, values))


def test_dictionaries_of_parquet_files_are_united(tmp_path):
    """Each file, and each row group, has its own list of categories."""
    table = TABLE.assign(colour=TABLE["colour"].astype("category"), shape=TABLE["shape"].astype(object))
    for number, start in enumerate((0, 60, 120)):
        part = table[start : start + (60 if number < 2 else 80)].copy()
        part["colour"] = (
            part["colour"]
            .cat.remove_unused_categories()
            .cat.reorder_categories(part["colour"].cat.remove_unused_categories().cat.categories[::-1])
        )
        part.loc[part.index[0], "shape"] = f"shape of file {number}"
        table.loc[part.index[0], "shape"] = f"shape of file {number}"
        part["shape"] = part["shape"].astype("category")
        part.to_parquet(tmp_path / f"{number}.parquet", index=False, row_group_size=25)
    dataset = BinnedDataset.from_parquet(tmp_path, **NAMES)
    expected = BinnedDataset.from_arrays(table.drop(columns=["answer", "weight"]), Y, WEIGHTS)
    assert describe_dataset(dataset) == describe_dataset(expected)


def test_parquet_with_a_column_that_is_no_feature_is_refused_by_name(tmp_path):
    TABLE.assign(tags=[["a", "b"]] * len(TABLE)).to_parquet(tmp_path / "1.parquet", index=False)
    with pytest.raises(TypeError, match=r"1\.parquet, rows 0 to 199: Column 'tags' of X contains List"):
        BinnedDataset.from_parquet(tmp_path, **NAMES)
    columns = [name for name in X.columns if name != "shape"]
    assert len(BinnedDataset.from_parquet(tmp_path, target="answer", columns=columns)) == len(TABLE)


def test_damaged_sparse_matrices_are_refused():
    """Their indices would be used without a check."""
    matrix = sparse.csr_array(np.nan_to_num(make_numbers(30)[0]))
    matrix.indices[3] = 1 << 20
    for build in (lambda: BinnedDataset.from_arrays(matrix), lambda: BinnedDataset.from_batches(lambda: [(matrix,)])):
        with pytest.raises(ValueError, match="indices"):
            build()
