"""Fits whose rows are in several shards: the same bytes of the model as a fit of all rows in one place."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import mpboost
from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    _native,
)
from mpboost.data.checks import check_training_data, check_validation_data
from mpboost.datasets.coded_table import CodedTable
from mpboost.datasets.known import Known
from mpboost.estimators.sharded import Shard, fit_shard
from tests.support.cases import list_cases
from tests.support.native.naive_sums import draw_cuts
from tests.support.thread_shards import run_in_threads

CHUNK = _native.CHUNK_ROWS
N_ROWS = 3 * CHUNK + 1000


def make_table(n_rows=N_ROWS, n_features=8, seed=0):
    """Make columns of few and of many values, with some that are missing in the last rows only."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] = rng.integers(5, size=n_rows)
    X[-300:, 1] = np.nan
    return X, rng


X, RNG = make_table()
SIGNAL = X[:, 2] - X[:, 3] * X[:, 4] + (X[:, 0] == 2) + RNG.normal(size=N_ROWS)
TWO, FOUR = np.where(SIGNAL > 0, "yes", "no"), np.digitize(SIGNAL, [-1.0, 0.3, 2.0])
WEIGHTS = RNG.uniform(0.1, 3.0, N_ROWS)
FEW = {"n_estimators": 20, "random_state": 0}


def digest(model, path):
    mpboost.save_model(model, path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fit_in_shards(model, bounds, X, y, weights=None, validation=None):
    """Fit in one thread for each shard; empty shards are left out, as a cluster does."""
    data = check_training_data(
        model, X, y, weights, categorical_features=model.categorical_features, max_bins=model.max_bins
    )
    threads = _native.Threads(1)
    mapper = data.table.fit_mapper(model.max_bins, threads)
    whole = CodedTable(Known(data.known, mapper, model.max_bins), data.table.bin(mapper, threads))
    ranges = [(first, end) for first, end in itertools.pairwise(bounds) if first < end]
    checked = None if validation is None else check_validation_data(model, data.known, *validation)

    def fit(shards):
        table = whole.take_rows(slice(shards.first_row, shards.end_row))
        if shards.rank:
            return fit_shard(clone(model), Shard(table), shards, [])
        facts = {"y": data.y, "sample_weight": data.sample_weight, "known": dict(data.known), "validation": checked}
        return fit_shard(clone(model), Shard(table, **facts), shards, [])

    first, *others = run_in_threads(ranges, fit)
    assert others == [None] * (len(ranges) - 1)
    return first


CASES = {
    "two classes": (MPBoostClassifier(**FEW), TWO, None),
    "two classes, weights": (MPBoostClassifier(**FEW), TWO, WEIGHTS),
    "two classes, size trial": (MPBoostClassifier(n_estimators=45, max_depth=1, random_state=0), TWO, None),
    "two classes, metric": (MPBoostClassifier(scoring="roc_auc", **FEW), TWO, WEIGHTS),
    "two classes, class weights": (MPBoostClassifier(class_weight="balanced", **FEW), TWO, None),
    "permutation": (MPBoostClassifier(importance="permutation", **FEW), TWO, None),
    "paper": (MPBoostClassifier(**mpboost.PAPER | FEW | {"max_samples": 200}), TWO, None),
    **{
        f"four classes, {name}": (MPBoostClassifier(multiclass=name, **FEW), FOUR, None)
        for name in ("margin", "m2", "mh", "oc")
    },
    "four classes, weights": (MPBoostClassifier(**FEW), FOUR, WEIGHTS),
    "numbers": (MPBoostRegressor(**FEW), SIGNAL, None),
    "numbers, weights": (MPBoostRegressor(weighting="exponential", **FEW), SIGNAL, WEIGHTS),
    "numbers, metric": (MPBoostRegressor(scoring="neg_mean_absolute_error", **FEW), SIGNAL, None),
    "equal numbers": (MPBoostRegressor(**FEW), np.full(N_ROWS, 7.0), None),
    "log loss": (MPGradientBoostingClassifier(**FEW), TWO, None),
    "log loss, weights": (MPGradientBoostingClassifier(class_weight="balanced", **FEW), TWO, WEIGHTS),
    "log loss, metric": (MPGradientBoostingClassifier(scoring="roc_auc", **FEW), TWO, WEIGHTS),
    "log loss, models in turns": (MPGradientBoostingClassifier(n_models=3, **FEW), TWO, None),
    "log loss, constraints": (
        MPGradientBoostingClassifier(monotonic_cst={2: 1}, interaction_cst=[[0, 1], [2, 3]], **FEW),
        TWO,
        None,
    ),
    "log loss, four classes": (MPGradientBoostingClassifier(**FEW), FOUR, WEIGHTS),
    "squared error": (MPGradientBoostingRegressor(**FEW), SIGNAL, None),
    "huber": (MPGradientBoostingRegressor(loss="huber", **FEW), SIGNAL, WEIGHTS),
    "poisson": (MPGradientBoostingRegressor(loss="poisson", **FEW), np.abs(SIGNAL), None),
    "gamma": (MPGradientBoostingRegressor(loss="gamma", importance="gain", **FEW), np.abs(SIGNAL) + 0.1, None),
}


@pytest.mark.parametrize("case", list_cases(CASES, quick=["two classes", "log loss"]))
def test_shards_give_the_model_of_one_table(tmp_path, case):
    model, y, weights = case
    expected = digest(clone(model).fit(X, y, weights), tmp_path / "whole")
    bounds = [0, CHUNK, 3 * CHUNK, N_ROWS]  # one chunk, two, and a part of one
    assert digest(fit_in_shards(model, bounds, X, y, weights), tmp_path / "shards") == expected


@pytest.mark.slow
@pytest.mark.parametrize("case", ["two classes, weights", "four classes, margin", "numbers", "log loss, weights"])
def test_number_of_shards_does_not_matter(tmp_path, case):
    model, y, weights = CASES[case]
    expected = digest(clone(model).fit(X, y, weights), tmp_path / "whole")
    for bounds in ([0, N_ROWS], [0, CHUNK, N_ROWS], [0, CHUNK, 2 * CHUNK, 3 * CHUNK, N_ROWS]):
        assert digest(fit_in_shards(model, bounds, X, y, weights), tmp_path / "shards") == expected


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(bounds=draw_cuts(N_ROWS), case=st.sampled_from(sorted(CASES)), seed=st.integers(0, 9))
def test_shards_may_be_cut_anywhere(tmp_path_factory, bounds, case, seed):
    model, y, weights = CASES[case]
    model, folder = clone(model).set_params(n_estimators=9, random_state=seed), tmp_path_factory.mktemp("models")
    expected = digest(clone(model).fit(X, y, weights), folder / "whole")
    assert digest(fit_in_shards(model, bounds, X, y, weights), folder / "shards") == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [MPBoostClassifier(**FEW), MPGradientBoostingClassifier(**FEW)], ids=["votes", "gradient"]
)
def test_shards_take_categories(tmp_path, model):
    pd = pytest.importorskip("pandas")
    words = pd.Categorical.from_codes(np.arange(N_ROWS) * 7919 % 30, [f"word {k}" for k in range(30)])
    table = pd.DataFrame({"number": X[:, 2], "word": words, "other": X[:, 5]})
    y = np.where(SIGNAL + (words.codes % 3 == 0) > 0, 1, 0)
    expected = digest(clone(model).fit(table, y), tmp_path / "whole")
    assert digest(fit_in_shards(model, [0, 2 * CHUNK, N_ROWS], table, y), tmp_path / "shards") == expected


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
@pytest.mark.parametrize("kind", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_shards_stop_by_validation_rows(tmp_path, kind, scoring):
    model = kind(scoring=scoring, n_iter_no_change=5, n_estimators=40, random_state=1)
    validation = X[:500], TWO[:500], WEIGHTS[:500]
    whole = clone(model).fit(X, TWO, X_val=validation[0], y_val=validation[1], sample_weight_val=validation[2])
    shards = fit_in_shards(model, [0, CHUNK, N_ROWS], X, TWO, validation=validation)
    assert digest(shards, tmp_path / "shards") == digest(whole, tmp_path / "whole")


@pytest.mark.slow
def test_shards_complete_minipatches_of_one_class(tmp_path):
    y = np.zeros(N_ROWS, dtype=int)
    y[-2:] = 1  # in the last shard
    model = MPBoostClassifier(max_samples=5, n_estimators=10, random_state=0, stopping=None)
    for weights in (None, WEIGHTS):
        expected = digest(clone(model).fit(X, y, weights), tmp_path / "whole")
        bounds = [0, CHUNK, 2 * CHUNK, N_ROWS]
        assert digest(fit_in_shards(model, bounds, X, y, weights), tmp_path / "shards") == expected


@pytest.mark.slow
def test_shards_send_more_candidates_where_one_has_most_of_the_hard_rows(tmp_path):
    weights = np.where(np.arange(N_ROWS) < CHUNK, 1.0, 1e-9)  # nearly all winners are in the first shard
    model = MPBoostClassifier(max_samples=3000, **FEW)
    expected = digest(clone(model).fit(X, TWO, weights), tmp_path / "whole")
    bounds = [0, CHUNK, 2 * CHUNK, N_ROWS]
    assert digest(fit_in_shards(model, bounds, X, TWO, weights), tmp_path / "shards") == expected


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (MPBoostClassifier(DecisionTreeClassifier()), "cannot be trained on rows in several places"),
        (MPBoostClassifier(warm_start=True), "warm_start=True does not work on a cluster"),
        (MPBoostClassifier(class_weight={"no": 1.0, "yes": 0.0}), "class_weight with a weight of 0"),
        (MPGradientBoostingRegressor(loss="absolute_error"), "loss='absolute_error' needs all rows in one place"),
        (MPGradientBoostingRegressor(loss="quantile"), "placement='one'"),
        (MPGradientBoostingClassifier(leaf_refit=False), "leaf_refit=False needs all rows in one place"),
    ],
    ids=["estimator", "warm start", "class weight", "absolute error", "quantile", "leaf refit"],
)
def test_shards_refuse_what_needs_all_rows(model, words):
    with pytest.raises(ValueError, match=words):
        fit_in_shards(model, [0, CHUNK, N_ROWS], X, SIGNAL if "Regressor" in type(model).__name__ else TWO)
