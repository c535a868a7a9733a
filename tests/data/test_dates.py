"""Dates in data frames, of any library."""

import datetime

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mpboost import MPBoostClassifier
from mpboost.data.dates import split_dates

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
def test_split_dates_makes_numbers_of_parts_that_differ(values, features):
    table = split_dates(nw.from_native(pa.table({"d": values}), eager_only=True))
    n_missing = pa.chunked_array([values]).null_count
    assert {name: table[name].to_list() for name in table.columns} == {
        f"d:{part}": pytest.approx([*numbers, *[np.nan] * n_missing], nan_ok=True) for part, numbers in features.items()
    }


def make_frames():
    """Make the same table of dates in several libraries, with a time zone, and with an index that counts nothing."""
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("2020-01-01 05:00") + pd.to_timedelta(rng.integers(0, 5000, 300) * 3600, unit="s")
    frame = pd.DataFrame({"x": rng.normal(size=300), "d": moments}, index=rng.permutation(300) + 1000)
    flat = frame.reset_index(drop=True)
    return frame, {
        "polars": pl.from_pandas(flat),
        "pyarrow": pa.Table.from_pandas(flat),
        "time zone": frame.assign(d=frame["d"].dt.tz_localize("UTC").dt.tz_convert("UTC")),
        "objects": frame.assign(d=pd.Series([*frame["d"]], frame.index, dtype=object)),
    }


@pytest.fixture(scope="module")
def frame():
    return make_frames()[0]


@pytest.fixture(scope="module")
def model(frame):
    return MPBoostClassifier(n_estimators=20, random_state=0).fit(frame, frame["d"].dt.month > 6)


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "time zone", "objects"])
def test_fit_takes_dates_of_any_library_alike(kind, frame, model):
    other = make_frames()[1][kind]
    same = MPBoostClassifier(n_estimators=20, random_state=0).fit(other, (frame["d"].dt.month > 6).to_numpy())
    assert same.feature_names_in_.tolist() == ["x", "d:days", "d:month", "d:weekday", "d:hour"]
    np.testing.assert_array_equal(same.predict_proba(other), model.predict_proba(frame))
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))


def test_predict_takes_a_frame_whose_dates_are_split_already(frame, model):
    split = split_dates(nw.from_native(frame, eager_only=True)).to_native()
    np.testing.assert_array_equal(model.predict_proba(split), model.predict_proba(frame))


def test_predict_takes_dates_whose_parts_do_not_differ(frame, model):
    one = frame.iloc[:1]
    np.testing.assert_array_equal(model.predict_proba(one), model.predict_proba(frame)[:1])


def test_predict_says_that_dates_are_text(frame, model):
    with pytest.raises(TypeError, match=r"Column 'd' of X contains String, but .* trained on dates.*read_table"):
        model.predict(frame.assign(d=frame["d"].astype(str)))


def test_fit_keeps_one_part_of_a_date_that_never_changes():
    frame = pd.DataFrame({"x": np.arange(20.0), "d": pd.Timestamp("2024-02-29")})
    model = MPBoostClassifier(n_estimators=2, random_state=0).fit(frame, np.arange(20) > 9)
    assert model.feature_names_in_.tolist() == ["x", "d:days"]


def test_fit_refuses_dates_among_other_values():
    frame = pd.DataFrame({"d": np.array([datetime.date(2024, 1, 1), 5, "x"] * 4, dtype=object)})
    with pytest.raises(TypeError, match="contains dates and other values, such as 5"):
        MPBoostClassifier().fit(frame, [0, 1, 0] * 4)
