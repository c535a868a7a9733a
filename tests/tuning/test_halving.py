"""Successive halving: who stays, what it costs, and how a search ends before its end."""

import weakref
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mpboost import Callback, MPBoostClassifier
from mpboost.tuning.halving import Candidate, Tournament, plan_rungs, smooth_score
from tests.support.helpers import Sleep, StopAt, describe_model
from tests.support.searches import SIZES, make_search


class Watch(Callback):
    """Sees all iterations of all copies of itself, and what is alive then."""

    seen: ClassVar = []
    runs: ClassVar = {}
    most_runs: ClassVar = 0

    def on_iteration_end(self, run):
        Watch.seen.append((run.params["max_samples"], run.params["max_depth"], run.iteration))
        Watch.runs[id(run)] = weakref.ref(run)
        Watch.most_runs = max(Watch.most_runs, sum(run() is not None for run in Watch.runs.values()))


@pytest.fixture
def watch(monkeypatch):
    monkeypatch.setattr(Watch, "seen", [])
    monkeypatch.setattr(Watch, "runs", {})
    monkeypatch.setattr(Watch, "most_runs", 0)
    return Watch()


# Halving


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((9, 1000, 3, 30), [(9, 3, 30), (3, 1, np.inf)]),
        ((27, 1000, 3, 30), [(27, 9, 30), (9, 3, 90), (3, 1, np.inf)]),
        ((10, 1000, 3, 30), [(10, 4, 30), (4, 2, 90), (2, 1, np.inf)]),
        ((27, 50, 3, 30), [(27, 9, 30), (9, 1, np.inf)]),  # no more iterations than the estimator has
        ((27, 30, 3, 30), [(27, 1, np.inf)]),
        ((3, 1000, 3, 30), [(3, 1, np.inf)]),
        ((1, 1000, 2, 30), [(1, 1, np.inf)]),
        ((5, 1000, 2, 10), [(5, 3, 10), (3, 2, 20), (2, 1, np.inf)]),
    ],
)
def test_rungs_keep_one_in_factor(arguments, expected):
    rungs = plan_rungs(*arguments)
    assert [(rung.n_candidates, rung.n_survivors, rung.oop_votes) for rung in rungs] == expected
    assert sum(rung.work for rung in rungs) == arguments[1]


def test_no_iteration_is_done_twice(cancer, watch):
    search = make_search(estimator={"callbacks": [watch]}).fit(*cancer)
    assert len(set(Watch.seen)) == len(Watch.seen) == search.results_["n_iterations"].sum()
    assert len(Watch.seen) < 9 * 60 / 2


def test_losers_are_let_go_at_once(cancer, watch):
    make_search(estimator={"callbacks": [watch]}).fit(*cancer)
    assert Watch.most_runs == 4  # the survivors of the first rung, and the candidate at hand


def test_survivors_of_a_rung_are_its_best(cancer):
    table = pd.DataFrame(make_search(factor=2).fit(*cancer).results_)
    assert sorted(table["rung"]) == [1, 1, 1, 1, 2, 2, 3, 4, 4]
    assert (table["n_iterations"][table["rung"] < 4] < 60).all()
    np.testing.assert_array_equal(
        table.sort_values("rank").index, table.sort_values(["rung", "oop_score"], ascending=False, kind="stable").index
    )


def test_rung_gives_each_candidate_as_many_out_of_patch_votes(cancer):
    X, y = cancer
    parameters = {"max_samples": [0.01, 0.5, 0.75, 0.9]}
    search = make_search(parameters, min_iterations=6, estimator={"n_estimators": 500, "stopping": None}).fit(X, y)
    lost = search.results_["rung"] == 1
    votes = search.results_["n_iterations"] * (1 - np.array([0.01, 0.5, 0.75, 0.9]))
    assert lost.sum() == 2
    np.testing.assert_allclose(votes[lost], 6, atol=1)


def test_candidate_that_its_own_rule_has_ended_stays_in_the_race(cancer, watch):
    options = {"stopping": "patience", "n_iter_no_change": 3, "n_estimators": 500, "callbacks": [watch]}
    search = make_search(estimator=options, min_iterations=40).fit(*cancer)
    plain = clone(search.estimator).set_params(**search.best_params_, callbacks=None).fit(*cancer)
    assert plain.n_iter_ < 40
    assert search.results_["rung"][search.best_index_] == 2
    assert describe_model(search.best_estimator_) == describe_model(plain)
    assert len(set(Watch.seen)) == len(Watch.seen)


def test_candidate_that_a_callback_has_ended_is_not_continued(cancer):
    search = make_search(estimator={"callbacks": [StopAt(3)], "stopping": None}).fit(*cancer)
    assert set(search.results_["n_iterations"]) == {3}
    assert search.best_estimator_.stop_reason_ == "stopped by StopAt"


def test_candidate_keeps_to_its_own_time_limit_over_all_rungs(cancer):
    options = {"callbacks": [Sleep()], "time_limit": 0.2, "n_estimators": 1000, "stopping": None}
    search = make_search({"max_depth": [1, 2]}, factor=2, estimator=options).fit(*cancer)
    assert search.best_estimator_.time_limit == 0.2
    assert search.best_estimator_.stop_reason_ == "time_limit reached"
    assert (search.results_["fit_time"] < 0.5).all()
    assert search.stop_reason_ == "all rungs done"


def test_score_is_averaged_with_its_neighbours():
    model = MPBoostClassifier()
    model.oop_scores_ = np.arange(100.0)
    model.best_iteration_ = 3
    assert smooth_score(model) == np.mean(np.arange(8))
    model.best_iteration_ = 100
    assert smooth_score(model) == np.mean(np.arange(95, 100))


# Interrupts and time


class PressAt(Callback):
    """Interrupts the fit of a candidate, or of the first one that comes so far, at an iteration."""

    def __init__(self, max_samples, iteration):
        self.max_samples, self.iteration = max_samples, iteration

    def on_iteration_end(self, run):
        if run.iteration == self.iteration and self.max_samples in (None, run.params["max_samples"]):
            raise KeyboardInterrupt


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize(
    ("where", "n_fitted", "words"),
    [
        ((3, 2), 1, "rung 1/3, candidate 1/6"),
        ((90, 2), 4, "rung 1/3, candidate 4/6"),
        ((None, 9), 6, "rung 2/3, candidate 1/3"),
    ],
    ids=["in-the-first-fit", "in-the-first-rung", "in-the-second-rung"],
)
def test_interrupt_ends_the_search_with_the_best_so_far(cancer, where, n_fitted, words):
    X, y = cancer
    search = make_search(SIZES, factor=2, estimator={"callbacks": [PressAt(*where)], "stopping": None})
    with pytest.warns(RuntimeWarning) as caught:
        search.fit(X, y)
    assert [str(each.message).partition(";")[0] for each in caught] == [f"The search was interrupted in {words}"]
    assert search.stop_reason_ == search.best_estimator_.stop_reason_ == "interrupted"
    n_iterations = search.results_["n_iterations"]
    assert (n_iterations > 0).sum() == n_fitted
    assert where[1] in n_iterations  # the one that was interrupted
    shorter = clone(search.best_estimator_).set_params(n_estimators=search.best_estimator_.n_iter_, callbacks=None)
    np.testing.assert_array_equal(search.decision_function(X), shorter.fit(X, y).decision_function(X))


def test_interrupt_between_fits_ends_the_search(cancer, monkeypatch):
    train, calls = Candidate.train, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        train(*args)

    monkeypatch.setattr(Candidate, "train", interrupted)
    with pytest.warns(RuntimeWarning, match="search was interrupted in rung 1/2, candidate 3/9"):
        search = make_search().fit(*cancer)
    assert (search.results_["n_iterations"] > 0).sum() == 2
    assert sorted(search.results_["rank"]) == list(range(1, 10))


def test_interrupt_before_anything_is_learned_goes_through(cancer, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Candidate, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_search().fit(*cancer)


def test_time_limit_ends_the_search_with_the_best_so_far(cancer):
    search = make_search(time_limit=0.3, estimator={"callbacks": [Sleep()], "stopping": None}).fit(*cancer)
    assert search.stop_reason_ == search.best_estimator_.stop_reason_ == "time_limit reached"
    assert 2 <= (search.results_["n_iterations"] > 0).sum() < 9
    assert search.results_["fit_time"].sum() < 0.6
    assert search.best_estimator_.n_estimators == 60
    assert search.best_estimator_.time_limit is None


def test_time_limit_leaves_something_of_the_first_candidate(cancer):
    search = make_search(time_limit=1e-9).fit(*cancer)
    assert search.best_estimator_.n_iter_ == 1
    assert search.best_index_ == 0


def test_race_ranks_those_in_it_by_score_and_those_out_of_it_by_rung():
    candidates = [
        Candidate(0, {}, None, rung=1, score=0.9),
        Candidate(1, {}, None, rung=2, score=0.5),
        Candidate(2, {}, "model", rung=3, score=0.7),
        Candidate(3, {}, "model", rung=2, score=0.8),
        Candidate(4, {}, None, rung=2),
        Candidate(5, {}, "model"),
    ]
    assert [c.index for c in sorted(candidates, key=lambda c: c.place, reverse=True)] == [3, 2, 5, 1, 0, 4]
    assert Tournament(candidates, [], error_score="raise", time_limit=None, bar=None).leader is candidates[3]
