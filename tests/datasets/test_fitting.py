"""A model of a dataset is the model of the same rows in memory, byte for byte; so are its predictions."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mpboost import BinnedDataset, MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier
from tests.support.cases import list_cases
from tests.support.datasets import (
    CLASSIFIERS,
    ESTIMATORS,
    QUICK,
    REGRESSORS,
    build_cut,
    describe_dataset,
    make_mixed,
    make_numbers,
    save_bytes,
)

NUMBERS, VALUES = make_numbers()
MIXED, WORDS = make_mixed()
LABELS = VALUES > 0
WHOLE = np.nan_to_num(NUMBERS * 20).astype(int)


def with_cells(table, value):
    table = table.copy()
    table[::7, 1] = value
    return table


def on_day(hours):
    return [datetime.datetime(2024, 5, 6, int(hour)) for hour in hours]


#: Tables of all kinds that estimators read.
TABLES = {
    "float64": NUMBERS,
    "float32": NUMBERS.astype(np.float32),
    "float16": NUMBERS.astype(np.float16),
    "fortran": np.asfortranarray(NUMBERS),
    "big endian": NUMBERS.astype(">f8"),
    "int64": WHOLE,
    "int8": WHOLE.astype(np.int8),
    "uint8": (WHOLE + 60).astype(np.uint8),
    "uint8 gaps": (WHOLE + 60).astype(np.uint8) // 9 * 9,
    "uint16": (WHOLE + 60).astype(np.uint16),
    "large int64": WHOLE + (1 << 60),
    "bool": NUMBERS > 0,
    "infinities": with_cells(with_cells(NUMBERS, np.inf)[::-1], -np.inf),
    "infinite float32": with_cells(NUMBERS.astype(np.float32), np.inf),
    "negative zeros": with_cells(NUMBERS * (NUMBERS > 0), -0.0),
    "constant": with_cells(NUMBERS, 1.0) * [0, 1, 0, 1, np.nan],
    "objects": NUMBERS.astype(object),
    "one column": NUMBERS[:, :1],
    "misaligned": np.ndarray(
        (200, 4), np.int16, b"".join(map(bytes, np.arange(2000).reshape(200, 10) % 50)), strides=(10, 3)
    ),
    "strided": np.repeat(NUMBERS, 2, axis=0)[::2, ::-1],
    "mixed": MIXED,
    "integer names": pd.DataFrame(NUMBERS),
    "numbers of pandas": pd.DataFrame(NUMBERS, columns=list("abcde")),
    "nullable": pd.DataFrame(
        {"i": pd.array(WHOLE[:, 0], "Int64"), "b": pd.array(NUMBERS[:, 1] > 0, "boolean"), "f": NUMBERS[:, 2]}
    ).convert_dtypes(),
    "missing bools": pd.DataFrame({"b": np.where(NUMBERS[:, 0] > 1, None, NUMBERS[:, 1] > 0), "x": NUMBERS[:, 2]}),
    "decimals": pd.DataFrame({"d": [Decimal(int(value)) / 10 for value in WHOLE[:, 0]], "x": NUMBERS[:, 2]}),
    "categories of numbers": MIXED.assign(count=MIXED["count"].astype("category")),
    "unused categories": MIXED.assign(shape=MIXED["shape"].cat.add_categories([f"unused {k}" for k in range(500)])),
    "many categories": MIXED.assign(colour=[f"shade {k % 90}" for k in range(len(MIXED))]),
    "all missing": MIXED.assign(colour=None, height=np.nan),
    "dates of one day": MIXED.assign(when=on_day(MIXED["count"])),
    "one date": MIXED.assign(when=on_day([5] * len(MIXED))),
    "missing dates": MIXED.assign(when=MIXED["when"].where(MIXED["is_new"])),
    "python dates": MIXED.assign(when=[moment.date() for moment in MIXED["when"]]),
    "times": MIXED.assign(when=[datetime.time(int(hour)) for hour in MIXED["count"]]),
    "time zones": MIXED.assign(when=MIXED["when"].dt.tz_localize("Europe/Vienna")),
    "polars": pl.from_pandas(MIXED),
    "polars numbers": pl.DataFrame(NUMBERS),
    "polars enumeration": pl.from_pandas(MIXED).with_columns(pl.col("colour").cast(pl.Enum(["red", "blue", "green"]))),
    "polars categories": pl.from_pandas(MIXED).with_columns(pl.col("colour").cast(pl.Categorical)),
    "arrow": pa.Table.from_pandas(MIXED, preserve_index=False),
    "arrow dictionaries": pa.Table.from_pandas(MIXED.assign(colour=MIXED["colour"].astype("category"))),
}


@pytest.mark.parametrize("table", list_cases(TABLES, ["float64", "uint8", "mixed", "polars", "arrow", "one date"]))
def test_model_of_a_dataset_has_the_bytes_of_one_in_memory(table):
    for make, y in ((MPBoostClassifier, LABELS), (MPGradientBoostingClassifier, WORDS), (MPBoostRegressor, VALUES)):
        expected = save_bytes(make(**QUICK).fit(table, y))
        for dataset in (BinnedDataset.from_arrays(table, y), build_cut(table, y)):
            dataset.check()
            assert save_bytes(make(**QUICK).fit(dataset)) == expected


#: Labels of all kinds: two classes and more.
CLASSES = {
    "bool": LABELS,
    "text": WORDS,
    "int": np.digitize(VALUES, [-1, 0, 1]) * 3 - 4,
    "uint16": np.digitize(VALUES, [-1, 0, 1]).astype(np.uint16) * 9000,
    "float": np.digitize(VALUES, [-1, 1]).astype(float),
    "objects": np.array(["small", "large", "middling"], dtype=object)[np.digitize(VALUES, [-1, 1])],
    "whole objects": np.digitize(VALUES, [-1, 1]).astype(object),
    "truth as objects": LABELS.astype(object),
    "variable-length text": WORDS.astype(np.dtypes.StringDType()),
    "list": np.digitize(VALUES, [-1, 1]).tolist(),
    "series": pd.Series(WORDS, index=range(7, 207)),
    "categories": pd.Series(WORDS, dtype="category").cat.add_categories("never"),
    "polars": pl.Series(WORDS),
    "polars categories": pl.Series(WORDS, dtype=pl.Categorical),
    "arrow": pa.chunked_array([WORDS.tolist()]),
    "many": np.arange(len(VALUES)) % 70,
}


@pytest.mark.parametrize("y", list_cases(CLASSES, ["bool", "text", "int"]))
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_labels_of_all_kinds_give_the_same_model(make, y):
    model = make(**QUICK, warm_start=False)
    expected = save_bytes(model.fit(NUMBERS, y))
    assert save_bytes(model.fit(BinnedDataset.from_arrays(NUMBERS, y))) == expected
    assert save_bytes(model.fit(build_cut(NUMBERS, y))) == expected
    assert save_bytes(model.fit(build_cut(NUMBERS, None), y)) == expected


NUMERIC = {
    "float64": VALUES,
    "float32": VALUES.astype(np.float32),
    "int": (VALUES * 10).astype(int),
    "few": np.digitize(VALUES, [-1, 1]),
    "bool": LABELS,
    "text": (VALUES * 10).astype(int).astype(str),
    "decimals": [Decimal(int(value * 10)) for value in VALUES],
    "polars": pl.Series(VALUES),
}


@pytest.mark.parametrize("y", list_cases(NUMERIC, ["float64", "few"]))
@pytest.mark.parametrize("make", REGRESSORS)
def test_numbers_of_all_kinds_give_the_same_model(make, y):
    model = make(**QUICK)
    expected = save_bytes(model.fit(NUMBERS, y))
    assert save_bytes(model.fit(build_cut(NUMBERS, y))) == expected


WEIGHTS = np.random.default_rng(5).integers(0, 4, len(VALUES)) / 2


@pytest.mark.parametrize("make", ESTIMATORS)
def test_weights_give_the_same_model_also_where_they_are_zero(make):
    y = VALUES if make in REGRESSORS else WORDS
    expected = save_bytes(make(**QUICK).fit(MIXED, y, WEIGHTS))
    dataset = build_cut(MIXED, y, WEIGHTS)
    assert save_bytes(make(**QUICK).fit(dataset)) == expected
    assert save_bytes(make(**QUICK).fit(build_cut(MIXED, y), sample_weight=WEIGHTS)) != expected, (
        "bins and categories come from rows that count"
    )
    assert np.array_equal(dataset.sample_weight, WEIGHTS)
    given = make(**QUICK).fit(dataset, sample_weight=np.ones(len(VALUES)))
    assert save_bytes(given) != expected


def test_bins_and_categories_come_from_rows_with_weight():
    X = MIXED.assign(colour=np.where(WEIGHTS > 0, MIXED["colour"].fillna("grey"), "never"))
    X["count"] = np.where(WEIGHTS > 0, X["count"], 255).astype(np.uint8)
    dataset = build_cut(X, WORDS, WEIGHTS)
    assert "never" not in dataset.known.features["categories_"][3]
    assert save_bytes(MPBoostClassifier(**QUICK).fit(dataset)) == save_bytes(
        MPBoostClassifier(**QUICK).fit(X, WORDS, WEIGHTS)
    )


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("class_weight", ["balanced", {"yes": 3, "no": 1}], ids=str)
def test_class_weights_give_the_same_model(make, class_weight):
    model = make(**QUICK, class_weight=class_weight)
    expected = save_bytes(model.fit(MIXED, WORDS, WEIGHTS))
    assert save_bytes(model.fit(build_cut(MIXED, WORDS, WEIGHTS))) == expected


@pytest.mark.parametrize(
    ("table", "chosen"),
    [
        (MIXED.drop(columns="when"), ["count", "colour", "shape"]),
        (MIXED.drop(columns="when"), [2, 3, 4]),
        (MIXED.drop(columns="when"), [False, False, True, True, True, False]),
        (MIXED, ["count", "colour", "shape"]),
        (MIXED, ["count", "colour", "shape", "when"]),
        (MIXED.drop(columns=["colour", "shape"]), None),
        (WHOLE, [0, 2]),
        (np.where(WHOLE > 0, "up", "down").astype(object), [0, 1, 2, 3, 4]),
        (NUMBERS, [1]),
        (TABLES["negative zeros"], [0, 1]),
        (NUMBERS, []),
        (NUMBERS > 0, [1]),
        (pl.from_pandas(MIXED.drop(columns="when")), ["count", "colour", "shape"]),
    ],
    ids=[
        *("names", "numbers", "mask", "names and dates", "dates as categories", "none", "array", "array of words"),
        *("floats", "negative zeros", "empty", "bools", "polars"),
    ],
)
def test_chosen_categories_give_the_same_model(table, chosen):
    model = MPBoostClassifier(**QUICK, categorical_features=chosen)
    expected = save_bytes(model.fit(table, LABELS))
    for dataset in (
        BinnedDataset.from_arrays(table, LABELS, categorical_features=chosen),
        build_cut(table, LABELS, categorical_features=chosen),
    ):
        if chosen and not isinstance(chosen[0], str):
            assert save_bytes(model.fit(dataset)) == expected
        model.categorical_features = "from_dtype"
        found = model.fit(dataset)
        found.categorical_features = model.categorical_features = chosen
        assert save_bytes(found) == expected


@pytest.mark.parametrize("make", ESTIMATORS)
def test_fewer_bins_give_the_same_model(make):
    y = VALUES if make in REGRESSORS else WORDS
    for table in (MIXED.assign(colour=[f"shade {k % 40}" for k in range(len(MIXED))]), TABLES["uint8"]):
        expected = make(**QUICK, max_bins=15).fit(table, y)
        dataset = build_cut(table, y, max_bins=15)
        assert dataset.max_bins == 15
        assert save_bytes(make(**QUICK, max_bins=15).fit(dataset)) == save_bytes(expected)
        by_default = make(**QUICK).fit(dataset).set_params(max_bins=15)
        assert save_bytes(by_default) == save_bytes(expected)


@pytest.mark.slow
@pytest.mark.parametrize("has_weights", [False, True])
def test_bins_come_from_the_same_sample_of_many_rows(has_weights):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=230_000), "n": rng.integers(0, 1000, 230_000).astype(np.float32)})
    y = X["x"].to_numpy() > 0
    weights = (rng.random(len(y)) < 0.95).astype(float) if has_weights else None
    model = MPGradientBoostingClassifier(n_estimators=2, random_state=0)
    expected = save_bytes(model.fit(X, y, weights))
    assert save_bytes(model.fit(build_cut(X, y, weights, places=(1, 70_000, 150_000, 229_999)))) == expected
    if has_weights:  # few enough rows that all of them are in the sample
        weights[rng.random(len(y)) < 0.5] = 0.0
        expected = save_bytes(model.fit(X, y, weights))
        assert save_bytes(model.fit(BinnedDataset.from_arrays(X, y, weights))) == expected


@pytest.mark.slow
def test_wide_tables_give_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))
    y = X[:, 0] > 0
    names = [f"a rather long name of a column, {k}" for k in range(3000)]
    for table in (X, pd.DataFrame(X, columns=names)):
        dataset = build_cut(table, y, places=(30,))
        assert save_bytes(MPBoostClassifier(**QUICK).fit(dataset)) == save_bytes(
            MPBoostClassifier(**QUICK).fit(table, y)
        )


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_matrices_give_the_model_of_the_same_numbers(kind):
    table = kind(np.where(np.nan_to_num(NUMBERS) > 0.8, NUMBERS, 0.0))
    model = MPBoostClassifier(**QUICK)
    in_memory, of_numbers = save_bytes(model.fit(table, LABELS)), save_bytes(model.fit(table.toarray(), LABELS))
    assert save_bytes(model.fit(BinnedDataset.from_arrays(table, LABELS))) == in_memory == of_numbers
    rows = sparse.csr_array(table)
    batches = [(rows[:50], LABELS[:50]), (rows[50:], LABELS[50:])]
    assert save_bytes(model.fit(BinnedDataset.from_batches(lambda: batches))) == in_memory


def test_memory_maps_give_the_same_model(tmp_path):
    np.save(tmp_path / "X.npy", NUMBERS)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = MPBoostClassifier(**QUICK)
    expected = save_bytes(model.fit(NUMBERS, LABELS))
    assert save_bytes(model.fit(BinnedDataset.from_arrays(mapped, LABELS))) == expected


@pytest.mark.parametrize("make", ESTIMATORS)
def test_validation_datasets_give_the_same_model(make):
    y = VALUES if make in REGRESSORS else WORDS
    X_val, words = make_mixed(90, seed=1)
    X_val.loc[3, "colour"] = "never seen"
    y_val, weights = VALUES[:90] if make in REGRESSORS else words, np.arange(90.0)
    expected = save_bytes(make(**QUICK).fit(MIXED, y, X_val=X_val, y_val=y_val, sample_weight_val=weights))
    training = build_cut(MIXED, y)
    validation = build_cut(X_val, y_val, weights, places=(20,), like=training)
    assert save_bytes(make(**QUICK).fit(training, X_val=validation)) == expected
    assert save_bytes(make(**QUICK).fit(training, X_val=X_val, y_val=y_val, sample_weight_val=weights)) == expected
    other = build_cut(X_val, y_val, places=(20,))
    with pytest.raises(ValueError, match="build it with like="):
        make(**QUICK).fit(training, X_val=other)
    with pytest.raises(ValueError, match="build it with like="):
        make(**QUICK).fit(MIXED, y, X_val=validation)


@pytest.mark.slow
@given(places=st.lists(st.integers(0, 60), max_size=6).map(sorted), has_weights=st.booleans())
@settings(max_examples=25)
def test_any_cut_into_batches_gives_the_same_dataset(places, has_weights):
    X, y = make_mixed(60, seed=2)
    weights = np.arange(60) % 5 / 2 if has_weights else None
    whole = BinnedDataset.from_arrays(X, y, weights)
    assert describe_dataset(build_cut(X, y, weights, places=places)) == describe_dataset(whole)


@pytest.mark.slow
@given(places=st.lists(st.integers(0, 60), max_size=6).map(sorted), name=st.sampled_from(sorted(TABLES)))
@settings(max_examples=25)
def test_any_cut_of_tables_of_all_kinds_gives_the_same_dataset(places, name):
    table = TABLES[name][:60]
    whole = BinnedDataset.from_arrays(table, VALUES[:60])
    assert describe_dataset(build_cut(table, VALUES[:60], places=places)) == describe_dataset(whole)


@pytest.fixture(scope="module")
def mixed():
    return build_cut(MIXED, WORDS)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_classifiers_predict_datasets_as_tables(make, mixed):
    model = make(**QUICK).fit(mixed)
    for method in ("predict", "predict_proba", "decision_function"):
        assert getattr(model, method)(mixed).tolist() == getattr(model, method)(MIXED).tolist()
    for method in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        stages = zip(getattr(model, method)(mixed), getattr(model, method)(MIXED), strict=True)
        assert all(one.tolist() == other.tolist() for one, other in stages)
    assert model.score(mixed) == model.score(MIXED, WORDS)
    assert model.score(mixed, WORDS[::-1]) == model.score(MIXED, WORDS[::-1])


@pytest.mark.parametrize("make", REGRESSORS)
def test_regressors_predict_datasets_as_tables(make):
    dataset = build_cut(MIXED, VALUES, WEIGHTS)
    model = make(**QUICK).fit(dataset)
    assert model.predict(dataset).tolist() == model.predict(MIXED).tolist()
    assert [stage.tolist() for stage in model.staged_predict(dataset)] == [
        stage.tolist() for stage in model.staged_predict(MIXED)
    ]
    assert model.score(dataset) == model.score(MIXED, VALUES, WEIGHTS)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_new_rows_are_predicted_if_built_like_the_model_or_its_dataset(make, mixed):
    dataset = mixed if make in CLASSIFIERS else build_cut(MIXED, VALUES)
    model = make(**QUICK).fit(dataset)
    X, _ = make_mixed(70, seed=3)
    for like in (model, dataset):
        new = build_cut(X, None, places=(5,), like=like)
        assert new.y is None
        assert model.predict(new).tolist() == model.predict(X).tolist()
    with pytest.raises(ValueError, match=r"has other features, categories or bins .* build it with like="):
        model.predict(BinnedDataset.from_arrays(X))
    with pytest.raises(ValueError, match="built without a target: pass y"):
        model.score(new)
    in_memory = make(**QUICK).fit(MIXED, WORDS if make in CLASSIFIERS else VALUES)
    assert in_memory.predict(new).tolist() == model.predict(X).tolist(), "bins are the same, so codes mean the same"
