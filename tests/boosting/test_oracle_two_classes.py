"""The loop for two classes against the oracle, iteration by iteration."""

import numpy as np
import pytest

from mpboost import MPBoostClassifier
from mpboost.outputs.votes import rank_classes
from tests.support.cases import list_cases
from tests.support.helpers import as_votes
from tests.support.oracle import WEIGHTINGS, Oracle, is_completion, rank_values
from tests.support.rules import Bell, Costs, Hedge, Tilted
from tests.support.runs import Recorder, RecordingLearner, boost_for, make_data, make_run, pose

UNSEEN, AUTO = {"importance": "out_of_patch"}, {"learning_rate": "auto"}
SIZES = UNSEEN | {"min_samples_split": "auto", "patch": (140, 5), "adaptive": (False, True)}
RULES_OF_Q = {"credit_rule": Costs(), "feature_update": Hedge()}
RUNS = {
    **{weighting: {"weighting": weighting} for weighting in WEIGHTINGS},
    "exponential, learning rate 0.1": {"weighting": "exponential", "learning_rate": 0.1},
    "logistic, learning rate 0.1": {"learning_rate": 0.1},
    "momentum 0.9": {"momentum": 0.9},
    "momentum 1": {"momentum": 1.0},
    "exploration": {"exploration": 0.3},
    "small trees": {"max_depth": 2, "min_samples_leaf": 3},
    "large nodes": {"min_samples_split": 9},
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
    "unseen rows": UNSEEN,
    "unseen rows, few left": UNSEEN | {"patch": (200, 5)},
    "unseen rows, patches of 3 rows": UNSEEN | {"patch": (3, 2), "weighting": "exponential"},
    "unseen rows, weights": UNSEEN | {"weighted": True},
    "unseen rows, weights, few left": UNSEEN | {"weighted": True, "patch": (200, 5), "max_depth": 4},
    "unseen rows, categories, missing values": UNSEEN | {"n_categorical": 8, "missing": 0.2, "exploration": 0.1},
    "sizes of nodes": SIZES,
    "sizes of nodes, large leaves, adaptive observations": SIZES | {"min_samples_leaf": 3, "adaptive": (True, True)},
    "sizes of nodes, weights": SIZES | {"weighted": True},
    "sizes of nodes, rounds of 5": SIZES | {"round_size": 5},
    "sizes of nodes, categories, missing values": SIZES | {"n_categorical": 8, "missing": 0.2},
    "rate by noise": AUTO,
    "rate by noise, exponential, patches of 3 rows": AUTO | {"weighting": "exponential", "patch": (3, 2)},
    "rate by noise, hard logistic": AUTO | {"weighting": "hard_logistic"},
    "rounds of 5": {"round_size": 5},
    "rounds of 5, rate by noise, weights, unseen rows": AUTO | UNSEEN | {"weighted": True, "round_size": 5},
    "rounds of 5, unseen rows, patches of 3 rows": UNSEEN | {"patch": (3, 2), "round_size": 5},
    "rule by margins": {"weighting": Bell()},
    "rule by margins, rate by noise, weights": AUTO | {"weighting": Bell(), "weighted": True},
    "rule by rows": {"weighting": Tilted()},
    "rule by rows, rate by noise, weights, unseen rows": AUTO | UNSEEN | {"weighting": Tilted(), "weighted": True},
    "rule by rows, rounds of 5": {"weighting": Tilted(), "round_size": 5},
    "rule for credits": UNSEEN | {"credit_rule": Costs()},
    "rule for q": UNSEEN | {"feature_update": Hedge(), "exploration": 0.1},
    "rules for credits and q, categories": UNSEEN | RULES_OF_Q | {"n_categorical": 8, "missing": 0.2},
    "rate by noise, weights, unseen rows": AUTO | UNSEEN | {"weighted": True, "exploration": 0.1, "momentum": 0.1},
}
QUICK = [
    "logistic",
    "exponential",
    "hard_logistic",
    "exploration",
    "small trees",
    "uniform features",
    "weights",
    "categories, missing values",
    "unseen rows, patches of 3 rows",
    "sizes of nodes",
    "rate by noise",
    "rule by margins",
    "rule by rows",
    "rule for q",
    "rounds of 5, rate by noise, weights, unseen rows",
    "rounds of 5, unseen rows, patches of 3 rows",
]


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
    X, labels, options = pose(make_data, options)
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    boost_for(make_run(X, labels, seed=99, **options), 50, recorder)
    sizes, round_size = options.get("patch", (40, 5)), options.get("round_size", 1)
    F_before, drawn = np.zeros(len(labels), dtype=int), []
    assert len(recorder.records) == 50
    for t, record in enumerate(recorder.records, start=1):
        drawn = drawn or oracle.draw_round(sizes, 99, t, round_size, options.get("exploration", 0.0))
        R, C, U, p = drawn.pop(0)
        assert is_completion(R, record.R, labels, p)
        assert record.C.tolist() == C.tolist()
        assert record.U.tolist() == [i for i in U if i not in record.R]
        oracle.iterate(record.R, record.C, record.U, record.patch_weights)
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
        assert record.rate == pytest.approx(oracle.learning_rate, rel=1e-12)
        F_before = record.F
    assert (oracle.learning_rate != recorder.records[0].rate) == oracle.is_auto
    assert (len(set(oracle.limits)) > 1) == (options.get("min_samples_split") == "auto")


@pytest.mark.parametrize("importance", ["impurity", pytest.param("out_of_patch", marks=pytest.mark.slow)])
@pytest.mark.parametrize("learning_rate", [1.0, 0.1, "auto"])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_classifier_publishes_what_the_oracle_finds(monkeypatch, weighting, learning_rate, importance):
    monkeypatch.setattr("mpboost.estimators.assembly.TreeLearner", RecordingLearner)
    X, labels = make_data(missing=0.1)
    recorder = Recorder()
    model = MPBoostClassifier(
        n_estimators=50,
        max_samples=40,
        max_features=5,
        weighting=weighting,
        learning_rate=learning_rate,
        feature_momentum=0.3,
        importance=importance,
        stopping=None,
        callbacks=[recorder],
        random_state=0,
    ).fit(X, np.where(labels > 0, "yes", "no"))
    options = {"weighting": weighting, "learning_rate": learning_rate, "momentum": 0.3, "importance": importance}
    oracle = make_oracle(X, labels, options | {"min_samples_split": "auto", "round_size": 8})
    oop, train = [], []
    for record in recorder.records:
        oracle.iterate(record.R, record.C, record.U)
        oop.append(oracle.oop)
        train.append(oracle.train)
    rate = oracle.learning_rate
    np.testing.assert_array_equal(as_votes(model.decision_function(X), rate), oracle.F)
    np.testing.assert_allclose(model.oop_decision_function_, rate * oracle.G, rtol=1e-12)
    np.testing.assert_allclose(model.observation_probabilities_, oracle.p, rtol=1e-12)
    np.testing.assert_allclose(model.feature_probabilities_, oracle.q, rtol=1e-12)
    np.testing.assert_array_equal(model.oop_scores_, oop)
    np.testing.assert_array_equal(model.train_scores_, train)
    assert np.mean(model.predict(X) == np.where(labels > 0, "yes", "no")) == oracle.train
