"""The loop for numbers against the oracle, iteration by iteration."""

import numpy as np
import pytest

from mpboost import MPBoostRegressor
from tests.support.cases import list_cases
from tests.support.oracle import rank_values
from tests.support.rules import Costs, Hedge, Lopsided, Tilted
from tests.support.runs import Recorder, RecordingLearner, boost_for, make_run, make_values, pose
from tests.support.value_oracle import RESIDUAL_WEIGHTINGS, ValueOracle

UNSEEN = {"importance": "out_of_patch"}
SIZES = UNSEEN | {"min_samples_split": "auto", "patch": (140, 5)}
RUNS = {
    **{weighting: {"weighting": weighting} for weighting in RESIDUAL_WEIGHTINGS},
    **{f"{weighting}, weights": {"weighting": weighting, "weighted": True} for weighting in RESIDUAL_WEIGHTINGS},
    "no exploration of rows": {"residual_exploration": 0.0},
    "rows drawn uniformly": {"residual_exploration": 1.0, "weighted": True},
    "momentum 1": {"momentum": 1.0},
    "exploration": {"exploration": 0.3},
    "small trees": {"max_depth": 2, "min_samples_leaf": 3},
    "uniform observations": {"adaptive": (False, True), "weighted": True},
    "uniform features": {"adaptive": (True, False)},
    "missing values": {"missing": 0.2},
    "patches of 3 rows": {"patch": (3, 2)},
    "single rows": {"patch": (1, 2)},
    "weights, most rows drawn": {"weighted": True, "patch": (200, 5), "max_depth": 4},
    "rounds of 5": {"round_size": 5},
    "rounds of 5, unseen rows, weights": UNSEEN | {"round_size": 5, "weighted": True},
    "unseen rows": UNSEEN,
    "rule by residuals": {"weighting": Lopsided()},
    "rule by residuals, weights": {"weighting": Lopsided(), "weighted": True},
    "rule by rows": {"weighting": Tilted()},
    "rule by rows, weights, no exploration": {"weighting": Tilted(), "weighted": True, "residual_exploration": 0.0},
    "rules for credits and q": UNSEEN | {"credit_rule": Costs(), "feature_update": Hedge()},
    "unseen rows, few left": UNSEEN | {"patch": (200, 5)},
    "unseen rows, weights": UNSEEN | {"weighted": True},
    "unseen rows, single ones": UNSEEN | {"patch": (1, 2)},
    "unseen rows, categories, missing values": UNSEEN | {"n_categorical": 8, "missing": 0.2},
    "sizes of nodes": SIZES,
    "sizes of nodes, large leaves": SIZES | {"min_samples_leaf": 3},
    "sizes of nodes, weights and categories": SIZES | {"n_categorical": 8, "weighted": True},
    "large nodes": {"min_samples_split": 9},
    "categories": {"n_categorical": 8},
    "weights and categories, missing values": {"weighted": True, "n_categorical": 8, "missing": 0.2},
}
QUICK = [
    "linear",
    "threshold",
    "linear, weights",
    "small trees",
    "patches of 3 rows",
    "rounds of 5, unseen rows, weights",
    "unseen rows, single ones",
    "rule by residuals",
    "rule by rows",
    "categories",
]


def make_oracle(X, labels, options):
    adaptive = options.get("adaptive", (True, True))
    return ValueOracle(
        rank_values(X),
        labels,
        mu=options.get("momentum", 0.5),
        weighting=options.get("weighting", "linear"),
        exploration=options.get("residual_exploration", 0.25),
        adaptive_observations=adaptive[0],
        adaptive_features=adaptive[1],
        importance=options.get("importance", "impurity"),
        sample_weights=options.get("sample_weights"),
        is_categorical=options.get("is_categorical"),
        max_depth=options.get("max_depth", 0),
        min_samples_leaf=options.get("min_samples_leaf", 1),
        min_samples_split=options.get("min_samples_split", 2),
        round_size=options.get("round_size", 1),
        credit_rule=options.get("credit_rule"),
        feature_update=options.get("feature_update"),
    )


@pytest.mark.parametrize("options", list_cases(RUNS, QUICK))
def test_boost_matches_the_oracle(monkeypatch, options):
    monkeypatch.setattr("mpboost.learners.node_sizes.MIN_KEPT_SHARE", 0.6)  # few rows and trees make little clear
    monkeypatch.setattr("mpboost.learners.node_sizes.N_WARM_UP", 5)
    X, labels, options = pose(make_values, options)
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    boost_for(make_run(X, labels, seed=99, **options), 50, recorder)
    assert len(recorder.records) == 50
    sizes, drawn = (options.get("patch", (40, 5)), options.get("round_size", 1)), []
    for t, record in enumerate(recorder.records, start=1):
        drawn = drawn or oracle.draw_round(sizes[0], 99, t, sizes[1], options.get("exploration", 0.0))
        R, C, U, _ = drawn.pop(0)
        assert (record.R.tolist(), record.C.tolist()) == (R.tolist(), C.tolist())
        assert record.U.tolist() == U.tolist()
        oracle.iterate(R, C, U, record.patch_weights, record.learner)
        np.testing.assert_allclose(record.F / t, oracle.F, rtol=1e-12, atol=1e-12)
        counts = record.state["oop_counts"]
        np.testing.assert_array_equal(counts, np.sum(oracle.outside, axis=0))
        np.testing.assert_allclose(record.G[counts > 0] / counts[counts > 0], oracle.G[counts > 0], atol=1e-12)
        assert not record.G[counts == 0].any()
        np.testing.assert_allclose(record.p, oracle.p, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(record.q, oracle.q, rtol=1e-12)
        if "sample_weights" in options:
            assert len(set(record.patch_weights)) > 1
        assert (record.oop, record.train) == pytest.approx((oracle.oop, oracle.train), rel=1e-9)
    assert (len(set(oracle.limits)) > 1) == (options.get("min_samples_split") == "auto")


@pytest.mark.slow
@pytest.mark.parametrize("importance", ["impurity", pytest.param("out_of_patch", marks=pytest.mark.slow)])
@pytest.mark.parametrize("weighting", RESIDUAL_WEIGHTINGS)
def test_regressor_publishes_what_the_oracle_finds(monkeypatch, weighting, importance):
    monkeypatch.setattr("mpboost.estimators.assembly.TreeLearner", RecordingLearner)
    X, labels = make_values(missing=0.1)
    recorder = Recorder()
    model = MPBoostRegressor(
        n_estimators=50,
        max_samples=60,
        max_features=5,
        min_samples_leaf=1,
        weighting=weighting,
        observation_exploration=0.25,
        feature_momentum=0.5,
        feature_exploration=0.0,
        importance=importance,
        stopping=None,
        callbacks=[recorder],
        random_state=0,
    ).fit(X, labels)
    options = {"weighting": weighting, "importance": importance, "min_samples_split": "auto", "round_size": 8}
    oracle = make_oracle(X, labels, options)
    oop, train = [], []
    for record in recorder.records:
        oracle.iterate(record.R, record.C, record.U, None, record.learner)
        oop.append(oracle.oop)
        train.append(oracle.train)
    np.testing.assert_allclose(model.predict(X), oracle.F, atol=1e-12)
    np.testing.assert_allclose(model.oop_prediction_, oracle.G, atol=1e-12)
    np.testing.assert_allclose(model.observation_probabilities_, oracle.p, rtol=1e-9)
    np.testing.assert_allclose(model.feature_probabilities_, oracle.q, rtol=1e-12)
    np.testing.assert_allclose(model.oop_scores_, oop, rtol=1e-9)
    np.testing.assert_allclose(model.train_scores_, train, rtol=1e-9)
