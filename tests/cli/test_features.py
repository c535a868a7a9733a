"""Columns as features and targets: numbers, categories, dates, identifiers and constants."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from mpboost.cli.choices import TargetKind
from mpboost.cli.features import choose_features, make_training_features
from mpboost.cli.target_kinds import as_labels, choose_target_kind
from mpboost.table_files.options import Habits
from mpboost.table_files.reading import TableReading

N = 120
RNG = np.random.default_rng(0)


def as_reading(obstacles=(), **columns):
    table = pa.table(columns)
    return TableReading(table, "t.csv", "", [], dict(obstacles), Habits(), table)


def choose(values, obstacles=(), **options):
    reading = as_reading(obstacles, c=values, y=np.arange(len(values)))
    (column,) = choose_features(reading, target="y", **({"keep": [], "drop": []} | options))
    return column


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([f"word {i}" for i in range(N)], "identifier: text"),
        ([f"word {i}" for i in range(61)] + ["a"] * 59, "identifier: text"),
        ([f"word {i}" for i in range(59)] + ["a"] * 61, ""),
        ([f"word {i}" for i in range(50)], ""),
        (np.arange(N) * 3, "identifier: sorted whole numbers"),
        (np.arange(N)[::-1], "identifier: sorted whole numbers"),
        (RNG.permutation(N), ""),
        (np.arange(N) // 2, ""),
        (np.arange(N) * 1.5, ""),
        (np.arange(9), ""),
        ([5] * N, "is always 5"),
        (["a"] * N, "is always a"),
        ([5] * (N - 1) + [None], ""),
        ([True] * N, "is always True"),
        (pa.nulls(N), "has no values"),
        (pa.nulls(N, pa.string()), "has no values"),
        ([[1, 2]] * N, "contains unsupported values (list<"),
        ([datetime.date(2024, 1, 1)] * N, "is always 2024-01-01"),
        ([datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(N)], ""),
    ],
)
def test_choose_features_leaves_out_useless_columns(values, reason):
    column = choose(values)
    assert reason in column.reason
    assert bool(column.features) == (not reason)
    assert bool(column.reason) == bool(reason)


@pytest.mark.parametrize("values", [[f"word {i}" for i in range(N)], np.arange(N), [5] * N])
def test_choose_features_uses_columns_that_are_kept(values):
    assert choose(values, keep=["c"]).features == ("c",)


@pytest.mark.parametrize("values", [pa.nulls(N), [[1, 2]] * N])
def test_choose_features_cannot_keep_columns_without_values(values):
    assert choose(values, keep=["c"]).features == ()


def test_choose_features_leaves_out_dropped_columns():
    assert choose(RNG.normal(size=N), drop=["c"]).features == ()


def test_choose_features_counts_missing_values():
    column = choose(["a", None, "b", None] * 30)
    assert (column.n_missing, column.n_values) == (60, 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, None, False], [True, None, False]),
        (pa.array(["a", None, "b"]).dictionary_encode(), ["a", None, "b"]),
        (pa.array([3, None, 1]).dictionary_encode(), [3, None, 1]),
        (pa.array(["a", None, "b"], pa.large_string()), ["a", None, "b"]),
        (pa.array(np.array([1.5, 2], np.float16)), [1.5, 2.0]),
        ([1, None, 3], [1, None, 3]),
    ],
)
def test_make_training_features_makes_text_and_numbers(values, expected):
    reading = as_reading(c=values)
    columns = choose_features(reading, target="y", keep=["c"], drop=[])
    assert make_training_features(reading.table, columns)["c"].to_pylist() == expected


def test_choose_features_tells_what_stood_in_the_way_of_numbers():
    column = choose([f"{i}" for i in range(N - 1)] + ["n.d."], obstacles={"c": "'n.d.' is not a number"})
    assert "identifier" in column.reason
    assert "'n.d.' is not a number" in column.reason


def test_choose_features_names_the_parts_of_dates():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=7 * i) for i in range(N)]
    assert choose(days).features == ("c:days", "c:month")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], TargetKind.CLASSIFICATION),
        ([True, False], TargetKind.CLASSIFICATION),
        ([0, 1], TargetKind.CLASSIFICATION),
        (range(20), TargetKind.CLASSIFICATION),
        (range(21), TargetKind.REGRESSION),
        ([0.0, 1.0], TargetKind.CLASSIFICATION),
        ([0.5, 1.0], TargetKind.REGRESSION),
    ],
)
def test_choose_task_looks_at_the_target(y, task):
    assert choose_target_kind(TargetKind.AUTO, np.array(y), "y")[0] is task


def test_choose_task_names_the_word_among_the_numbers_of_a_target():
    with pytest.raises(ValueError, match=r"'n\.d\.' is not a number; or use --task classification"):
        choose_target_kind(TargetKind.AUTO, np.array(["1", "n.d."]), "y", "'n.d.' is not a number")


def test_choose_task_does_what_it_is_told():
    assert choose_target_kind(TargetKind.REGRESSION, np.array([0, 1]), "y") == (TargetKind.REGRESSION, "")
    assert choose_target_kind(TargetKind.CLASSIFICATION, np.arange(99), "y") == (TargetKind.CLASSIFICATION, "")


def test_as_labels_calls_whole_numbers_by_their_names():
    assert as_labels(np.array([0.0, 1.0])).tolist() == [0, 1]
    assert as_labels(np.array([0.0, 1.0])).dtype == np.int64
    assert as_labels(np.array([0.5, 1.0])).tolist() == [0.5, 1.0]
