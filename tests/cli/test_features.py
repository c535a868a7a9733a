"""Columns as features and targets: numbers, categories, dates, identifiers and constants."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from mpboost.cli.features import choose_features, derive_features, infer_column_kind, make_training_features
from mpboost.cli.targets import TargetKind, as_labels, choose_target_kind

N = 120
RNG = np.random.default_rng(0)


def choose(values, **options):
    table = pa.table({"c": values, "y": np.arange(len(values))})
    (column,) = choose_features(table, target="y", **({"keep": [], "drop": []} | options))
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


MOMENT = datetime.datetime(2024, 2, 29, 18, 30)  # a Thursday
OTHER = datetime.datetime(1969, 12, 31)  # a Wednesday
UTC = datetime.UTC


@pytest.mark.parametrize(
    ("values", "features"),
    [
        ([MOMENT.date(), OTHER.date(), None], {"days": [19782, -1], "month": [2, 12], "weekday": [3, 2]}),
        (
            [MOMENT, OTHER, None],
            {"days": [19782 + 18.5 / 24, -1], "month": [2, 12], "weekday": [3, 2], "hour": [18, 0]},
        ),
        (
            pa.array([MOMENT, OTHER, None], pa.timestamp("ns")),
            {"days": [19782 + 18.5 / 24, -1], "month": [2, 12], "weekday": [3, 2], "hour": [18, 0]},
        ),
        (
            pa.array([MOMENT.replace(tzinfo=UTC), OTHER.replace(tzinfo=UTC), None], pa.timestamp("s", "Asia/Tokyo")),
            {"days": [19783 + 3.5 / 24, -1 + 9 / 24], "month": [3, 12], "weekday": [4, 2], "hour": [3, 9]},
        ),
        ([MOMENT.time(), OTHER.time(), None], {"hour": [18, 0]}),
        ([MOMENT.date(), MOMENT.date() - datetime.timedelta(days=7)] * 2, {"days": [19782, 19775] * 2}),
    ],
    ids=["dates", "moments", "nanoseconds", "time zone", "times", "parts that never differ"],
)
def test_derive_features_makes_numbers_of_dates(values, features):
    values = pa.chunked_array([values])
    if values.null_count:
        features = {part: [*numbers, None] for part, numbers in features.items()}
    derived = derive_features("d", values, infer_column_kind(values.type))
    assert {name: column.to_pylist() for name, column in derived.items()} == {
        f"d:{part}": pytest.approx(numbers) for part, numbers in features.items()
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, None, False], ["true", None, "false"]),
        (pa.array(["a", None, "b"]).dictionary_encode(), ["a", None, "b"]),
        (pa.array([3, None, 1]).dictionary_encode(), ["3", None, "1"]),
        (pa.array(["a", None, "b"], pa.large_string()), ["a", None, "b"]),
        ([decimal.Decimal("1.50"), None, decimal.Decimal("2")], [1.5, None, 2.0]),
        (pa.array(np.array([1.5, 2], np.float16)), [1.5, 2.0]),
        ([1, None, 3], [1, None, 3]),
    ],
)
def test_make_training_features_makes_text_and_numbers(values, expected):
    table = pa.table({"c": values})
    columns = choose_features(table, target="y", keep=["c"], drop=[])
    assert make_training_features(table, columns)["c"].to_pylist() == expected


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


def test_choose_task_does_what_it_is_told():
    assert choose_target_kind(TargetKind.REGRESSION, np.array([0, 1]), "y") == (TargetKind.REGRESSION, "")
    assert choose_target_kind(TargetKind.CLASSIFICATION, np.arange(99), "y") == (TargetKind.CLASSIFICATION, "")


def test_as_labels_calls_whole_numbers_by_their_names():
    assert as_labels(np.array([0.0, 1.0])).tolist() == [0, 1]
    assert as_labels(np.array([0.0, 1.0])).dtype == np.int64
    assert as_labels(np.array([0.5, 1.0])).tolist() == [0.5, 1.0]
