"""The loop for many classes against the oracle, iteration by iteration."""

import numpy as np
import pytest

from mpboost import MPBoostClassifier
from mpboost.outputs.votes import rank_classes
from tests.support.cases import list_cases
from tests.support.class_oracle import ClassOracle
from tests.support.oracle import WEIGHTINGS, is_completion, rank_values
from tests.support.rules import Bell, Costs, Hedge, Tilted
from tests.support.runs import Recorder, RecordingLearner, boost_for, make_classes, make_run, pose

pytestmark = pytest.mark.slow

WAYS = ("margin", "m2", "mh", "oc")
NEW = {"learning_rate": "auto", "importance": "out_of_patch", "exploration": 0.1, "momentum": 0.1}
SIZES = {"importance": "out_of_patch", "min_samples_split": "auto", "patch": (140, 5)}
RUNS = {
    **{f"{way}, {weighting}": {"way": way, "weighting": weighting} for way in WAYS for weighting in WEIGHTINGS},
    **{f"{way}, learning rate 0.1": {"way": way, "learning_rate": 0.1} for way in WAYS},
    **{f"{way}, weights": {"way": way, "weighted": True, "learning_rate": 0.3} for way in WAYS},
    **{f"{way}, patches of 3 rows": {"way": way, "patch": (3, 2), "weighting": "exponential"} for way in WAYS},
    **{f"{way}, rate by noise": {"way": way, "learning_rate": "auto"} for way in WAYS},
    **{f"{way}, unseen rows": {"way": way, "importance": "out_of_patch"} for way in WAYS},
    **{f"{way}, rate by noise, unseen rows, weights": {"way": way, "weighted": True} | NEW for way in WAYS},
    **{f"{way}, rounds of 5": {"way": way, "round_size": 5} | NEW for way in WAYS},
    **{f"{way}, rule by margins": {"way": way, "weighting": Bell()} for way in WAYS},
    **{f"{way}, rule by rows": {"way": way, "weighting": Tilted(), "weighted": True} for way in WAYS},
    "rules for credits and q": NEW | {"credit_rule": Costs(), "feature_update": Hedge()},
    "unseen rows, few left": {"patch": (200, 5), "importance": "out_of_patch"},
    "rate by noise, unseen rows, categories": {"n_categorical": 8, "missing": 0.2} | NEW,
    **{f"{way}, sizes of nodes": {"way": way, "adaptive": (False, True)} | SIZES for way in WAYS},
    "sizes of nodes, weights and categories": {"n_categorical": 8, "weighted": True} | SIZES,
    "large nodes": {"min_samples_split": 9},
    "momentum 1": {"momentum": 1.0},
    "exploration": {"exploration": 0.3},
    "small trees": {"max_depth": 2, "min_samples_leaf": 3},
    "uniform observations": {"adaptive": (False, True), "weighted": True},
    "oc, uniform observations": {"way": "oc", "adaptive": (False, True)},
    "uniform features": {"adaptive": (True, False)},
    "missing values": {"missing": 0.2},
    "weights, most rows drawn": {"weighted": True, "patch": (200, 5), "max_depth": 4},
    "categories": {"n_categorical": 8},
    "m2, categories, missing values": {"way": "m2", "n_categorical": 8, "missing": 0.2, "min_samples_leaf": 2},
    "oc, categories, missing values": {"way": "oc", "n_categorical": 8, "missing": 0.2},
    "weights and categories, missing values": {"weighted": True, "n_categorical": 8, "missing": 0.2},
}
QUICK = [
    *(f"{way}, logistic" for way in WAYS),
    "oc, weights",
    "oc, rounds of 5",
    "margin, rounds of 5",
    "m2, rate by noise",
    "mh, patches of 3 rows",
    "margin, unseen rows",
    "categories",
]


def make_oracle(X, labels, options):
    adaptive = options.get("adaptive", (True, True))
    return ClassOracle(
        rank_values(X),
        labels,
        way=options.get("way", "margin"),
        mu=options.get("momentum", 0.5),
        weighting=options.get("weighting", "logistic"),
        learning_rate=options.get("learning_rate", 1.0),
        ranks=rank_classes(labels, labels.max() + 1, options.get("sample_weights")),
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
    X, labels, options = pose(make_classes, options)
    oracle, recorder = make_oracle(X, labels, options), Recorder()
    run = make_run(X, labels, seed=99, **options)
    boost_for(run, 50, recorder)
    assert len(recorder.records) == 50
    sizes, drawn = (options.get("patch", (40, 5)), options.get("round_size", 1)), []
    for t, record in enumerate(recorder.records, start=1):
        posed = labels
        if not drawn:
            of_round = recorder.records[t - 1 : t - 1 + sizes[1]]
            for s, other in enumerate(of_round, start=t):
                if oracle.way == "oc":  # each learner of a round has colours of its own, hence a p
                    oracle.colour(other.colours)
                drawn += oracle.draw_round(sizes[0], 99, s, 1, options.get("exploration", 0.0))
            if oracle.way == "oc":
                np.testing.assert_allclose(record.p, oracle.p, rtol=1e-12)
        if oracle.way == "oc":
            oracle.colours = record.colours
            posed = record.colours[labels]
        R, C, U, p = drawn.pop(0)
        assert is_completion(R, record.R, posed, p)
        assert record.C.tolist() == C.tolist()
        assert record.U.tolist() == [i for i in U if i not in record.R]
        oracle.iterate(record.R, record.C, record.U, record.patch_weights, record.learner)
        np.testing.assert_array_equal(record.F, oracle.F)
        np.testing.assert_array_equal(record.G, oracle.G)
        np.testing.assert_allclose(record.p, oracle.p, rtol=1e-12)
        np.testing.assert_allclose(record.q, oracle.q, rtol=1e-12)
        if "sample_weights" in options:
            assert len(set(record.patch_weights)) > 1
        assert (record.oop, record.train) == pytest.approx((oracle.oop, oracle.train), rel=1e-12)
        assert record.rate == pytest.approx(oracle.learning_rate, rel=1e-12)
    assert (oracle.learning_rate != recorder.records[0].rate) == oracle.is_auto
    assert (len(set(oracle.limits)) > 1) == (options.get("min_samples_split") == "auto")


@pytest.mark.parametrize(
    "options",
    list_cases({"fixed rate": {"learning_rate": 0.1}, "rate by noise, unseen rows": NEW}, quick=["fixed rate"]),
)
@pytest.mark.parametrize("way", WAYS)
def test_classifier_publishes_what_the_oracle_finds(monkeypatch, way, options):
    monkeypatch.setattr("mpboost.estimators.assembly.TreeLearner", RecordingLearner)
    X, labels = make_classes(missing=0.1)
    recorder, names = Recorder(), np.array(["a", "b", "c", "d"])
    model = MPBoostClassifier(
        n_estimators=50,
        max_samples=40,
        max_features=5,
        multiclass=way,
        learning_rate=options["learning_rate"],
        feature_momentum=options.get("momentum", 0.5),
        feature_exploration=options.get("exploration", 0.0),
        importance=options.get("importance", "impurity"),
        stopping=None,
        callbacks=[recorder],
        random_state=0,
    ).fit(X, names[labels])
    oracle = make_oracle(X, labels, {"way": way, "min_samples_split": "auto", "round_size": 8, **options})
    oop, train = [], []
    for record in recorder.records:
        if way == "oc":
            oracle.colour(record.colours)
        oracle.iterate(record.R, record.C, record.U, None, record.learner)
        oop.append(oracle.oop)
        train.append(oracle.train)
    oracle.update_p(oracle.weigh())  # those of the last iteration, whatever its colours
    rate = oracle.learning_rate
    np.testing.assert_array_equal(np.rint(model.decision_function(X) / rate), oracle.F)  # ties are broken
    np.testing.assert_allclose(model.oop_decision_function_, rate * oracle.G, rtol=1e-12)
    np.testing.assert_allclose(model.observation_probabilities_, oracle.p, rtol=1e-12)
    np.testing.assert_allclose(model.feature_probabilities_, oracle.q, rtol=1e-12)
    np.testing.assert_array_equal(model.oop_scores_, oop)
    np.testing.assert_array_equal(model.train_scores_, train)
    assert np.mean(model.predict(X) == names[labels]) == oracle.train
