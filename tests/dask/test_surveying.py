import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpboost.dask.surveying import count_batch
from mpboost.datasets.batches import Batch
from mpboost.datasets.dataset import find_known
from tests.support.dask_tables import CUTS, code_batches, cut, plan_batches
from tests.support.datasets import CLASSIFIERS, QUICK, make_mixed, make_numbers, save_bytes

GRADIENT = CLASSIFIERS[1]


def find_known_in_memory(X, y, weights=None, **params):
    return find_known(GRADIENT(**QUICK | {"n_estimators": 1} | params).fit(X, y, weights))


def make_weights(n_rows):
    """Make weights, a third of them 0."""
    return np.random.default_rng(1).integers(0, 3, n_rows).astype(np.float64)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("has_weights", [False, True], ids=["plain", "weights"])
def test_plan_has_the_bins_of_a_fit_in_memory(cuts, has_weights):
    X, y = make_mixed()
    weights = make_weights(200) if has_weights else None
    plan = plan_batches(cut(X, y, weights, cuts))
    assert plan.known.equals(find_known_in_memory(X, y, weights))
    assert plan.targets.values.tolist() == ["no", "yes"]


def test_plan_samples_rows_by_their_number_among_all():
    # More rows than are sampled, a third of them of weight 0.
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(450_000, 1)), make_weights(450_000)
    y = X[:, 0] > 0
    plan = plan_batches(cut(X, y, weights, [7, 100_000, 100_000, 449_000]))
    assert plan.known.equals(find_known_in_memory(X, y, weights))


@pytest.mark.slow
@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 200), max_size=6).map(sorted), kind=st.sampled_from(["mixed", "numbers", "bytes"]))
def test_model_is_that_of_a_fit_in_memory_for_any_cuts(cuts, kind):
    if kind == "mixed":
        X, y = make_mixed()
    else:
        X, y = make_numbers()[0], make_mixed()[1]
        X = X if kind == "numbers" else np.nan_to_num(X * 20).astype(np.uint8)
    weights = make_weights(200)
    batches = cut(X, y, weights, cuts)
    rows = code_batches(batches, plan_batches(batches))
    params = QUICK | {"n_estimators": 3}
    assert save_bytes(GRADIENT(**params).fit(rows)) == save_bytes(GRADIENT(**params).fit(X, y, weights))


def test_plan_unites_categories_and_classes_that_live_in_one_partition_only():
    X = pd.DataFrame({"a": ["x"] * 100 + ["z"] * 50 + ["y"] * 50, "b": np.arange(200.0)})
    y = np.array(["one"] * 100 + ["three"] * 50 + ["two"] * 50)
    plan = plan_batches(cut(X, y, None, [100, 150]))
    assert plan.known.features["categories_"] == [["x", "y", "z"], None]
    assert plan.targets.values.tolist() == ["one", "three", "two"]


def test_plan_takes_a_column_that_is_missing_in_a_partition_for_what_it_is_elsewhere():
    X = pd.DataFrame({"a": ["x", "y"] * 50, "b": np.arange(100.0)})
    y = np.arange(100) % 2
    first = X[:50].assign(a=np.full(50, np.nan))
    batches = [Batch("Partition 0", first, y[:50], None), Batch("Partition 1", X[50:], y[50:], None)]
    for ordered in (batches, batches[::-1]):
        assert plan_batches(ordered).known.features["categories_"] == [["x", "y"], None]


def test_plan_unites_types_of_numbers():
    X = np.random.default_rng(0).integers(0, 200, (200, 2))
    y = np.arange(200) % 2
    types = np.uint8, np.float32, np.int64
    batches = [
        batch._replace(X=batch.X.astype(dtype)) for batch, dtype in zip(cut(X, y, None, [60, 130]), types, strict=True)
    ]
    assert plan_batches(batches).known.equals(find_known_in_memory(X.astype(np.float64), y))


def test_plan_leaves_out_parts_of_dates_that_never_change_in_all_partitions():
    when = pd.to_datetime(["2024-01-01"] * 100 + ["2024-02-01"] * 100)
    X, y = pd.DataFrame({"when": when, "b": np.arange(200.0)}), np.arange(200) % 2
    plan = plan_batches(cut(X, y, None, [100]))
    assert plan.known.equals(find_known_in_memory(X, y))


def test_plan_refuses_types_that_differ_and_names_the_partition():
    X, y = make_numbers()
    frames = [pd.DataFrame(X[:100]).add_prefix("x"), pd.DataFrame(X[100:]).add_prefix("x")]
    frames[1]["x1"] = "word"
    batches = [Batch(f"Partition {k}", frame, y[:100], None) for k, frame in enumerate(frames)]
    with pytest.raises(ValueError, match=r"Partition 1: column 'x1' contains categories, but contained numbers in "):
        plan_batches(batches)


def test_plan_refuses_dates_where_there_were_numbers():
    y = np.arange(10) % 2
    frames = [pd.DataFrame({"a": np.arange(10.0)}), pd.DataFrame({"a": pd.date_range("2024-01-01", periods=10)})]
    batches = [Batch(f"Partition {k}", frame, y, None) for k, frame in enumerate(frames)]
    with pytest.raises(
        ValueError, match=r"Partition 1: column 'a' contains dates, but contained numbers in earlier pa"
    ):
        plan_batches(batches)
    with pytest.raises(ValueError, match=r"Partition 1: column 'a' contained dates in earlier partitions"):
        plan_batches([batches[1]._replace(place="Partition 0"), batches[0]])


@pytest.mark.parametrize(
    ("y", "weights", "words"),
    [
        (np.zeros(9), None, "Partition 3: X has 10 rows, but y has 9"),
        (None, np.zeros(11), "Partition 3: X has 10 rows, but sample_weight has 11"),
        (None, -np.ones(10), "Partition 3: weights must be finite numbers that are not negative"),
    ],
    ids=["targets", "weights", "negative"],
)
def test_count_refuses_what_does_not_match(y, weights, words):
    with pytest.raises(ValueError, match=words):
        count_batch(Batch("Partition 3", np.zeros((10, 2)), y, weights))


def test_plan_refuses_rows_of_weight_0_alone():
    X, y = make_numbers()
    with pytest.raises(ValueError, match="All rows have weight 0"):
        plan_batches(cut(X, y, np.zeros(200), [100]))
