"""Data sets are found, fetched, checked and split as the benchmarks say."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils import Bunch

pytest.importorskip("rich", reason="the benchmarks print with rich")
pytest.importorskip("pandas", reason="sets of OpenML are data frames")

import pandas

from benchmarks.data import __main__ as listing
from benchmarks.data import files
from benchmarks.data.cones import HALF_ANGLE, make_cones
from benchmarks.data.files import CHECKSUMS, DataNotFoundError, checksum, data_folder, describe_source, load_arrays
from benchmarks.data.openml import ELSEWHERE, SOURCES, Source
from benchmarks.data.sets import ALL_SETS, PAPER_SETS, SETS, load_set, split, take_lower_half

pytestmark = pytest.mark.slow


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty data folder and an empty cache; few cones."""
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path / "local"))
    monkeypatch.setenv("MPBOOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(files.GENERATED, "cones", lambda: make_cones(n_train=20, n_test=5))
    (tmp_path / "local").mkdir()
    return tmp_path / "local", tmp_path / "cache"


@pytest.fixture
def openml(folders, monkeypatch):
    """Stand in for OpenML: a function that makes it answer, and the ids it was asked for."""
    asked = []

    def answer(source, table, target, name="magic"):
        def fetch(*, data_id, **_):
            asked.append(data_id)
            return Bunch(data=table, target=target)

        monkeypatch.setitem(SOURCES, name, source)
        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return asked

    return answer


FRAME = pandas.DataFrame(
    {
        "number": [1.5, np.nan, 3.0, 4.0],
        "whole": pandas.array([1, None, 3, 4], dtype="Int64"),
        "name": pandas.Categorical(["b", "a", None, "b"]),
        "level": pandas.Categorical(["10", "2", "2", None]),
    }
)
LETTERS = pandas.Series(pandas.Categorical(["h", "g", "g", "h"]))


def test_load_fetches_once_and_keeps_what_it_got(folders, openml):
    asked = openml(Source(1120, 4, 4), FRAME, LETTERS)
    assert describe_source("magic") == "OpenML 1120"
    for _ in range(2):
        arrays = load_arrays("magic")
        nan = np.nan
        expected = [[1.5, 1, 1, 10], [nan, nan, 0, 2], [3, 3, nan, 2], [4, 4, 1, nan]]
        np.testing.assert_array_equal(arrays["X"], np.array(expected, np.float32))
        np.testing.assert_array_equal(arrays["y"], [1, 0, 0, 1])
        assert arrays["X"].dtype == np.float32
        assert set(arrays) == {"X", "y"}
    assert asked == [1120]
    assert describe_source("magic") == "cache"
    assert [path.name for path in folders[1].iterdir()] == ["magic.npz"]


def test_load_prefers_the_data_folder(folders, openml):
    asked = openml(Source(1, 4, 4), FRAME, LETTERS, name="christine")
    load_arrays("christine")
    np.savez(folders[0] / "christine.npz", X=np.zeros((2, 1)), y=np.arange(2))
    assert describe_source("christine") == "local"
    assert load_arrays("christine")["X"].shape == (2, 1)
    assert asked == [1]


def test_load_splits_and_picks_classes_of_openml(openml):
    table = pandas.DataFrame({"a": np.arange(20)})
    openml(Source(1, 20, 1, "uint8", n_train=10, kept=(1, 9)), table, pandas.Series(list("0123456789") * 2))
    arrays = load_arrays("magic")
    np.testing.assert_array_equal(arrays["X_train"][:, 0], [1, 9])
    np.testing.assert_array_equal(arrays["X_test"][:, 0], [11, 19])
    assert arrays["X_train"].dtype == np.uint8
    for part in ("train", "test"):
        np.testing.assert_array_equal(arrays[f"y_{part}"], [0, 1])


def test_load_takes_sparse_sets_and_targets_that_are_numbers(openml):
    openml(Source(1, 2, 2, is_regression=True), csr_array([[0.0, 2.0], [3.0, 0.0]]), np.array([1.5, -2.0]))
    arrays = load_arrays("magic")
    np.testing.assert_array_equal(arrays["X"], [[0, 2], [3, 0]])
    np.testing.assert_array_equal(arrays["y"], [1.5, -2.0])


def test_load_refuses_a_table_of_another_shape(folders, openml):
    openml(Source(1120, 5, 4), FRAME, LETTERS)
    with pytest.raises(DataNotFoundError, match=r"1120 is 4 x 4, not 5 x 4.*MPBOOST_DATA"):
        load_arrays("magic")
    assert not folders[1].exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("magic", r"off the network.*magic\.npz.*connect"),
        ("higgs_kaggle", r"no id of OpenML.*KaggleSet.*higgs_kaggle\.npz"),
        ("nonsense", r"no id of OpenML is known for it.*nonsense\.npz"),
    ],
    ids=["no network", "not on OpenML", "unknown"],
)
def test_load_says_what_to_do(name, reason, folders):
    with pytest.raises(DataNotFoundError, match=reason):
        load_arrays(name)


def test_save_leaves_nothing_behind_when_it_fails(folders, openml, monkeypatch):
    def fail(*_, **__):
        raise OSError("the disk is full")

    openml(Source(1, 4, 4), FRAME, LETTERS)
    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(DataNotFoundError, match="disk is full"):
        load_arrays("magic")
    assert list(folders[1].iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"PK nonsense", None], ids=["empty", "nonsense", "cut"])
def test_load_names_a_damaged_file(content, folders, openml):
    openml(Source(1, 4, 4), FRAME, LETTERS)
    load_arrays("magic")
    path = folders[1] / "magic.npz"
    path.write_bytes(path.read_bytes()[:200] if content is None else content)
    with pytest.raises(DataNotFoundError, match=r"cache.magic\.npz cannot be read.*Remove it"):
        load_arrays("magic")


@pytest.mark.parametrize("where", [0, 1], ids=["local", "cache"])
def test_load_checks_the_sum(where, folders, monkeypatch):
    arrays = {"X": np.zeros((2, 1)), "y": np.arange(2)}
    right = checksum(arrays)
    arrays["X"][0, 0] = 1.0
    folders[1].mkdir()
    if where == 0:
        monkeypatch.setitem(CHECKSUMS, "magic", right)
        np.savez(folders[0] / "magic.npz", **arrays)
    else:
        np.savez(folders[1] / "magic.npz", **arrays, checksum=np.array(right))
    with pytest.raises(DataNotFoundError, match=f"check-sum is {checksum(arrays)}, not {right}"):
        load_arrays("magic")


def test_checksum_sees_all_but_the_order_of_arrays():
    X, y = np.arange(6.0).reshape(2, 3), np.arange(2)
    same = checksum({"X": X, "y": y})
    assert checksum({"y": y, "X": X.copy()}) == same
    others = [
        {"X": X, "z": y},
        {"X": X.reshape(3, 2), "y": y},
        {"X": X, "y": y.astype(np.uint64)},
        {"X": X + 1, "y": y},
    ]
    assert same not in map(checksum, others)
    checksum({"names": np.array(["a", "bc"]), "columns": np.asfortranarray(X)[:, ::2]})  # of any kind and layout


def test_every_set_has_a_source():
    known = {*SOURCES, *ELSEWHERE, *files.GENERATED}
    assert {chosen.file for chosen in ALL_SETS.values()} <= known
    assert not set(SOURCES) & set(ELSEWHERE)


@pytest.mark.skipif(not data_folder().is_dir(), reason="no data folder; set MPBOOST_DATA")
@pytest.mark.parametrize("row", ["Hill-Valley", "Jasmine", "DNA"])
def test_paper_sets_have_the_sizes_of_the_paper(row):
    paper_set = PAPER_SETS[row]
    split_set = split(paper_set.name, load_set(paper_set.name), seed=0)
    assert split_set.X_train.shape[1] == paper_set.n_features
    assert len(split_set.y_train) == pytest.approx(paper_set.n_train, rel=0.03)
    assert len(split_set.y_test) == pytest.approx(paper_set.n_test, rel=0.07)
    assert set(np.unique(split_set.y_test)) == {0, 1}


def test_paper_sets_of_openml_have_the_sizes_of_the_paper():
    for paper_set in PAPER_SETS.values():
        source = SOURCES.get(ALL_SETS[paper_set.name].file)
        if source is not None and source.n_train is None:
            assert source.n_columns == paper_set.n_features
            assert source.n_rows == pytest.approx(paper_set.n_train + paper_set.n_test, rel=0.02)


def test_partial_sets_are_named_after_complete_ones():
    partial = {row: paper_set for row, paper_set in PAPER_SETS.items() if not paper_set.is_complete}
    assert list(partial) == [row for row in PAPER_SETS if row.endswith(" (partial)")]
    for row, paper_set in partial.items():
        whole = PAPER_SETS[row.removesuffix(" (partial)")]
        assert (whole.n_train, whole.n_features, whole.n_test) == (
            paper_set.n_train,
            paper_set.n_features,
            paper_set.n_test,
        )
        assert paper_set.name in SETS


@pytest.mark.parametrize(("n_classes", "n_low"), [(2, 1), (3, 1), (6, 3), (7, 3), (10, 5)])
def test_lower_half_is_the_positive_class(n_classes, n_low):
    np.testing.assert_array_equal(take_lower_half(np.arange(n_classes)), np.arange(n_classes) < n_low)


def test_split_takes_as_many_rows_of_hill_valley_as_the_paper():
    X = np.arange(1212.0)[:, None]
    split_set = split("hill-valley, 1000 rows", {"X": X, "y": X[:, 0]}, seed=0)
    assert (len(split_set.y_train), len(split_set.y_test)) == (1000, 212)


def test_cones_are_two_cones_among_noise():
    arrays = make_cones(seed=3, n_train=3000, n_test=1000)
    X, y = np.vstack([arrays["X_train"], arrays["X_test"]]), np.append(arrays["y_train"], arrays["y_test"])
    assert X.shape == (4000, 500)
    assert X.dtype == np.float32
    sides = np.where(y == 1, 1, -1)
    columns = np.argsort(-np.abs(sides @ X))[:10]
    points = sides[:, None] * X[:, columns].astype(np.float64)
    height = points.sum(axis=1) / np.sqrt(10)
    radius = np.sqrt((points**2).sum(axis=1) - height**2)
    assert height.min() > 0
    assert height.max() <= 1 + 1e-6
    assert (radius / height).max() <= np.tan(HALF_ANGLE) + 1e-3
    noise = np.delete(X, columns, axis=1)
    assert np.abs(noise.mean(axis=0)).max() < 0.1
    assert np.abs(noise.std(axis=0) - 1).max() < 0.1


def test_cones_depend_on_the_seed_alone():
    same, again, other = (make_cones(seed, n_train=30, n_test=10) for seed in (1, 1, 2))
    assert checksum(same) == checksum(again) != checksum(other)


def test_listing_names_every_set_and_what_cannot_be_had(folders, capsys):
    assert listing.main() == 0
    printed = capsys.readouterr().out
    assert [name for name in ALL_SETS if name not in printed] == []
    assert "OpenML 41142" in printed
    assert "not to be had: Higgs Boson, Higgs Boson (partial), Gas Drift (partial)" in printed


def test_listing_fails_on_a_damaged_file(folders, capsys):
    (folders[0] / "magic.npz").write_bytes(b"nonsense")
    assert listing.main() == 1
    assert "FAILED" in capsys.readouterr().out
