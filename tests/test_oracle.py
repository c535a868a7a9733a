"""The loop for two classes against the oracle, iteration by iteration."""

import numpy as np
import pytest
from helpers import as_votes
from oracle import WEIGHTINGS, Oracle, is_completion, rank_values
from runs import Recorder, boost_for, make_data, make_run, pose

from mpboost import MPBoostClassifier
from mpboost.ballots import rank_classes

RUNS = {
    **{weighting: {"weighting": weighting} for weighting in WEIGHTINGS},
    "exponential, learning rate 0.1": {"weighting": "exponential", "learning_rate": 0.1},
    "logistic, learning rate 0.1": {"learning_rate": 0.1},
    "momentum 0.9": {"momentum": 0.9},
    "momentum 1": {"momentum": 1.0},
    "exploration": {"exploration": 0.3},
    "small trees": {"max_depth": 2, "min_samples_leaf": 3},
    "uniform observations": {"adaptive": (False, True)},
    "uniform features": {"adaptive": (True, False)},
    "missing values": {"missing": 0.2},
    "missing values, hard logistic": {"missing": 0.6, "weighting": "hard_logistic"},
    "patches of 3 rows": {"patch": (3, 2), "weighting": "exponential"},
    "weights": {"weighted": True},
    "weights, exponential": {"weighted": True, "weighting": "exponential", "learning_rate": 0.1},
    "weights, uniform observations": {"weighted": True, "adaptive": (False, True)},
    "weights, most rows drawn": {"weighted": True, "patch": (200, 5), "max_depth": 4},
    "categories": {"n_categorical": 8},
    "categories, missing values": {"n_categorical": 8, "missing": 0.2, "min_samples_leaf": 2},
    "weights and categories, missing values": {"weighted": True, "n_categorical": 8, "missing": 0.2},
}


def make_oracle(X, labels, options):
    adaptive = options.get("adaptive", (True, True))
    return Oracle(
        rank_values(X),
        labels,
        mu=options.get("momentum", 0.5),
        weighting=options.get("weighting", "logistic"),
        learning_rate=options.get("learning_rate", 1.0),
        tie_label=1 if rank_classes(labels > 0, 2, options.get("sample_weights"))[1] else -1,
        adaptive_observations=adaptive[0],
        adaptive_features=adaptive[1],
        sample_weights=options.get("sample_weights"),
        is_categorical=options.get("is_categorical"),
        max_depth=options.get("max_depth", 0),
        min_samples_leaf=options.get("min_samples_leaf", 1),
    )


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())
def test_boost_matches_the_oracle(options):
    X, labels, options = pose(make_data, options)
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    boost_for(make_run(X, labels, **options), 50, recorder)
    F_before = np.zeros(len(labels), dtype=int)
    assert len(recorder.records) == 50
    for record in recorder.records:
        oracle.iterate(record.R, record.C, record.patch_weights)
        np.testing.assert_array_equal(record.F - F_before, oracle.h)
        np.testing.assert_array_equal(record.F, oracle.F)
        np.testing.assert_array_equal(record.G, oracle.G)
        np.testing.assert_allclose(record.p, oracle.p, rtol=1e-12)
        np.testing.assert_allclose(record.q, oracle.q, rtol=1e-12)
        if "sample_weights" in options:
            assert len(set(record.patch_weights)) > 1
            assert (record.oop, record.train) == pytest.approx((oracle.oop, oracle.train), rel=1e-12)
        else:
            assert (record.oop, record.train) == (oracle.oop, oracle.train)
        F_before = record.F


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())
def test_boost_draws_from_the_distributions_of_the_oracle(options):
    X, labels, options = pose(make_data, options)
    n, m = options.get("patch", (40, 5))
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    boost_for(make_run(X, labels, seed=99, **options), 50, recorder)
    eps = options.get("exploration", 0.0)
    for t, record in enumerate(recorder.records, start=1):
        R, C = oracle.draw((n, m), 99, t, eps)
        assert is_completion(R, record.R, labels, oracle.p)
        assert record.C.tolist() == C.tolist()
        oracle.iterate(record.R, record.C, record.patch_weights)


@pytest.mark.parametrize("learning_rate", [1.0, 0.1])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_classifier_publishes_what_the_oracle_finds(weighting, learning_rate):
    X, labels = make_data(missing=0.1)
    recorder = Recorder()
    model = MPBoostClassifier(
        n_estimators=50,
        max_samples=40,
        max_features=5,
        weighting=weighting,
        learning_rate=learning_rate,
        stopping=None,
        callbacks=[recorder],
        random_state=0,
    ).fit(X, np.where(labels > 0, "yes", "no"))
    oracle = make_oracle(X, labels, {"weighting": weighting, "learning_rate": learning_rate})
    oop, train = [], []
    for record in recorder.records:
        oracle.iterate(record.R, record.C, record.patch_weights)
        oop.append(oracle.oop)
        train.append(oracle.train)
    np.testing.assert_array_equal(as_votes(model.decision_function(X), learning_rate), oracle.F)
    np.testing.assert_array_equal(model.oop_decision_function_, learning_rate * oracle.G)
    np.testing.assert_allclose(model.observation_probabilities_, oracle.p, rtol=1e-12)
    np.testing.assert_allclose(model.feature_probabilities_, oracle.q, rtol=1e-12)
    np.testing.assert_array_equal(model.oop_scores_, oop)
    np.testing.assert_array_equal(model.train_scores_, train)
    assert np.mean(model.predict(X) == np.where(labels > 0, "yes", "no")) == oracle.train
