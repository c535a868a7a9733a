"""The search by the out-of-patch score: what wins, what it costs, and that the winner is as good as a plain fit."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import rich
import rich.console
from scipy import sparse
from scipy.stats import loguniform, randint
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from mpboost import (
    FeatureProbabilityRecorder,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    OOPSearch,
    oop_tune,
)
from mpboost._bars import Bar
from tests.support.helpers import FailAt, describe_model
from tests.support.searches import GRID, SIZES, make_search

# The winner


@pytest.mark.parametrize("stopping", [None, "patience", "paper"])
def test_winner_is_the_model_of_a_plain_fit(cancer, stopping):
    search = make_search(estimator={"stopping": stopping, "n_iter_no_change": 10}).fit(*cancer)
    plain = clone(search.estimator).set_params(**search.best_params_).fit(*cancer)
    assert describe_model(search.best_estimator_) == describe_model(plain)
    assert vars(search.best_estimator_).keys() == vars(plain).keys()  # it does not hold its binned data, either
    assert search.best_estimator_.get_params() == plain.get_params()


def test_winner_of_a_search_with_a_seed_is_fitted_with_one_that_it_tells(cancer):
    search = make_search(estimator={"random_state": None}, random_state=3).fit(*cancer)
    again = clone(search.best_estimator_).fit(*cancer)
    assert describe_model(search.best_estimator_) == describe_model(again)
    other = make_search(estimator={"random_state": None}, random_state=4).fit(*cancer)
    assert other.best_estimator_.random_state != search.best_estimator_.random_state


def test_candidates_are_fitted_with_the_same_seed(cancer):
    # Two candidates that are the same but in name have the same score.
    parameters = {"max_depth": [2, np.int64(2)]}
    search = make_search(parameters, estimator={"random_state": None}).fit(*cancer)
    assert len(set(search.results_["oop_score"])) == 1
    assert search.best_index_ == 0  # at a tie the first


def test_winner_can_be_continued_if_the_user_wants(cancer):
    search = make_search(estimator={"warm_start": True, "stopping": None}).fit(*cancer)
    longer = search.best_estimator_.set_params(n_estimators=70).fit(*cancer)
    plain = clone(longer).fit(*cancer)
    assert describe_model(longer) == describe_model(plain)


def test_search_leaves_the_estimator_as_it_was(cancer):
    search = make_search(estimator={"callbacks": [FeatureProbabilityRecorder([0])]})
    before = dict(vars(search.estimator))
    search.fit(*cancer)
    assert vars(search.estimator) == before
    assert 60 in search.best_estimator_.callbacks[0].probabilities_


def test_search_finds_what_is_better(cancer):
    search = make_search().fit(*cancer)
    assert search.best_params_["max_samples"] > 3
    assert search.best_score_ == search.results_["oop_score"][search.best_index_] > 0.93
    assert search.best_score_ == pytest.approx(search.best_estimator_.oop_score_, abs=0.01)


def test_oop_tune_is_the_search_in_one_call(cancer):
    search = make_search(n_candidates=4, random_state=1).fit(*cancer)
    found = oop_tune(search.estimator, *cancer, GRID, n_candidates=4, random_state=1, min_iterations=5)
    assert found.best_params_ == search.best_params_
    assert describe_model(found.best_estimator_) == describe_model(search.best_estimator_)


def test_search_tunes_many_classes():
    search = make_search({"multiclass": ["margin", "oc"], "max_depth": [1, 4]}).fit(*load_wine(return_X_y=True))
    assert search.best_score_ > 0.9
    assert search.predict_proba(load_wine().data).shape == (178, 3)
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])


def test_search_tunes_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    search = make_search(model=MPBoostRegressor).fit(X, y)
    assert search.best_params_["max_samples"] > 3
    assert 0.3 < search.best_score_ < 0.7
    assert not hasattr(search, "predict_proba")


def test_search_tunes_a_weak_learner(cancer):
    search = make_search(
        {"estimator__max_depth": [1, 4]}, estimator={"estimator": DecisionTreeClassifier(), "n_estimators": 10}
    ).fit(*cancer)
    assert search.best_estimator_.estimator.max_depth == search.best_params_["estimator__max_depth"]


# Candidates


def test_distributions_are_drawn_from(cancer):
    parameters = {"learning_rate": loguniform(1e-3, 1), "max_samples": randint(20, 100)}
    search = make_search(parameters, n_candidates=5, random_state=0).fit(*cancer)
    assert len(set(search.results_["param_learning_rate"])) == 5
    assert search.best_params_ == make_search(parameters, n_candidates=5, random_state=0).fit(*cancer).best_params_
    other = make_search(parameters, n_candidates=5, random_state=1).fit(*cancer)
    assert other.results_["params"] != search.results_["params"]


def test_as_many_candidates_as_asked_for_are_drawn_from_a_grid(cancer):
    search = make_search(n_candidates=4, random_state=0).fit(*cancer)
    assert len({str(params) for params in search.results_["params"]}) == 4
    assert len(make_search(n_candidates=40, random_state=0).fit(*cancer).results_["params"]) == 9


def test_results_are_a_data_frame(cancer):
    search = make_search([{"max_depth": [2]}, {"max_samples": [10, 20], "weighting": ["exponential"]}]).fit(*cancer)
    table = pd.DataFrame(search.results_)
    assert list(table.columns) == [
        *("param_max_depth", "param_max_samples", "param_weighting"),
        *("params", "rung", "n_iterations", "oop_score", "fit_time", "rank"),
    ]
    assert table["param_max_depth"].isna().tolist() == [False, True, True]
    assert table["params"][1] == {"max_samples": 10, "weighting": "exponential"}
    assert sorted(table["rank"]) == [1, 2, 3]
    assert table["rank"][search.best_index_] == 1
    assert (table["fit_time"] > 0).all()


def test_weights_and_validation_data_reach_the_fits(cancer):
    X, y = cancer
    weights = np.where(np.arange(len(y)) < 300, 1.0, 0.0)
    search = make_search(SIZES).fit(X, y, weights, X_val=X[400:], y_val=y[400:])
    assert np.isnan(search.best_estimator_.oop_decision_function_[300:]).all()
    assert search.best_estimator_.validation_score_ > 0.85


def test_search_takes_sparse_matrices_and_frames(cancer):
    X, y = cancer
    expected = make_search().fit(X, y).best_params_
    assert make_search().fit(sparse.csr_array(X), y).best_params_ == expected
    search = make_search().fit(pd.DataFrame(X).add_prefix("x"), y)
    assert search.best_params_ == expected
    assert search.feature_names_in_[3] == "x3"


# Bad input


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"estimator": RandomForestClassifier()}, TypeError, "needs an estimator of mpboost"),
        ({"estimator": MPBoostClassifier}, TypeError, "needs an estimator of mpboost"),
        ({"estimator": make_pipeline(MPBoostClassifier())}, TypeError, "last step"),
        ({"estimator": MPBoostClassifier(n_estimators=0)}, ValueError, "n_estimators"),
        ({"parameters": {"max_sample": [3]}}, ValueError, "no parameter 'max_sample': did you mean 'max_samples'"),
        ({"parameters": {"zzz": [3]}}, ValueError, "no parameter 'zzz': it has .*max_depth"),
        ({"parameters": {3: [3]}}, ValueError, "no parameter 3"),
        ({"parameters": {"estimator__zzz": [3]}}, ValueError, "estimator__zzz"),
        ({"parameters": {}}, ValueError, "nothing to try"),
        ({"parameters": []}, ValueError, "nothing to try"),
        ({"parameters": [{}]}, ValueError, "nothing to try"),
        ({"parameters": {"max_depth": []}}, ValueError, "max_depth.*non-empty"),
        ({"parameters": {"max_depth": 3}}, TypeError, "max_depth"),
        ({"parameters": ["max_depth"]}, TypeError, "list of dicts"),
        ({"parameters": "max_depth"}, ValueError, "'parameters' parameter"),
        ({"parameters": {"n_estimators": [5]}}, ValueError, "n_estimators cannot be tuned: the search itself"),
        ({"parameters": {"warm_start": [True]}}, ValueError, "warm_start cannot be tuned: it does not change"),
        ({"parameters": {"n_jobs": [1]}}, ValueError, "n_jobs cannot be tuned"),
        ({"factor": 1}, ValueError, "'factor' parameter"),
        ({"n_candidates": 0}, ValueError, "'n_candidates' parameter"),
        ({"min_iterations": 0}, ValueError, "'min_iterations' parameter"),
        ({"time_limit": 0}, ValueError, "'time_limit' parameter"),
        ({"error_score": "ignore"}, ValueError, "'error_score' parameter"),
    ],
    ids=str,
)
def test_bad_input_is_refused(cancer, change, error, words):
    search = make_search().set_params(**change)
    with pytest.raises(error, match=words):
        search.fit(*cancer)
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize("value", ["many", 1.0], ids=["not-allowed", "all-rows"])
@pytest.mark.parametrize("stopping", [None, "patience"])
def test_candidate_that_cannot_be_fitted_is_named(cancer, value, stopping):
    search = make_search({"max_samples": [50, value]}, estimator={"stopping": stopping})
    with pytest.raises(ValueError, match="max_samples") as caught:
        search.fit(*cancer)
    assert caught.value.__notes__ == [f"This happened in the fit of candidate 1 with {{'max_samples': {value!r}}}."]


@pytest.mark.parametrize("stopping", [None, "patience"])
def test_candidate_that_cannot_be_fitted_is_ranked_last_if_wanted(cancer, stopping):
    search = make_search({"max_samples": [1.0, 50, 60, 70]}, error_score=-1, estimator={"stopping": stopping})
    with pytest.warns(FitFailedWarning, match=r"candidate 0 with {'max_samples': 1\.0} failed.*all rows"):
        search.fit(*cancer)
    assert search.results_["oop_score"][0] == -1
    assert search.results_["rank"][0] == 4


def test_search_without_any_good_candidate_fails(cancer):
    search = make_search({"max_samples": [1.0]}, error_score=np.nan)
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="fits of all 1 candidates failed"):
        search.fit(*cancer)


def test_failed_search_leaves_the_last_one(cancer):
    search = make_search().fit(*cancer)
    before = dict(vars(search))
    with pytest.raises(ValueError, match="samples"):
        search.fit(cancer[0], cancer[1][:-1])
    assert vars(search) == before


# The progress bar


def test_search_is_silent_by_default(cancer, capfd):
    make_search(estimator={"verbose": 1}).fit(*cancer)
    assert capfd.readouterr() == ("", "")


def test_verbose_shows_the_best_in_one_line(cancer, capsys):
    search = make_search(verbose=1).fit(*cancer)
    output = capsys.readouterr().out
    assert output.count("\n") == 1
    assert f"rung 2/2, candidate 3/3, best {search.best_score_:.4f} 0:00:0" in output
    assert "━" * 20 in output


def test_bar_moves_on_a_terminal_and_tells_the_time_left(cancer, capsys, monkeypatch):
    monkeypatch.setattr(Bar, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(rich, "_console", rich.console.Console(force_terminal=True, width=80, color_system=None))
    make_search(SIZES, verbose=1, estimator={"n_estimators": 20}).fit(*cancer)
    drawings = capsys.readouterr().out.split("\r")
    for words in (
        "6 candidates",
        "rung 1/2, candidate 1/6",
        "rung 1/2, candidate 6/6, best 0.",
        "rung 2/2, candidate 2/2",
    ):
        assert any(words in drawing and drawing.rstrip().endswith("left") for drawing in drawings), words
    filled = [drawing.count("━") + drawing.count("╸") for drawing in drawings[1:]]
    assert filled == sorted(filled)
    assert max(len(drawing) for drawing in drawings) < 90  # in one line, some of it control codes


def test_bar_is_closed_when_a_fit_fails(cancer, capsys, monkeypatch):
    monkeypatch.setattr(rich, "_console", rich.console.Console(force_terminal=True))
    with pytest.raises(RuntimeError, match="on purpose"):
        make_search(verbose=1, estimator={"callbacks": [FailAt(2)]}).fit(*cancer)
    assert capsys.readouterr().out.endswith("\x1b[?25h")  # the cursor is back


def test_bar_without_rich_says_what_to_install(cancer, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r'pip install "mpboost\[cli\]".*verbose=0'):
        make_search(verbose=1).fit(*cancer)


# The manners of scikit-learn

CHECKED = {
    "classifier": OOPSearch(MPBoostClassifier(n_estimators=20), {"max_depth": [1, None], "max_samples": [0.3, 0.5]}),
    "regressor": OOPSearch(MPBoostRegressor(n_estimators=20), {"max_samples": [0.3, 0.5]}),
}
EXPECTED_FAILURES = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "a row of weight 2 and two equal rows are drawn differently, though alike on average over seeds",
)


def list_checks():
    for name, search in CHECKED.items():
        for estimator, run in estimator_checks_generator(search):
            reason = EXPECTED_FAILURES.get(run.func.__name__)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            words = [name, run.func.__name__, *(f"{key}={value}" for key, value in run.keywords.items())]
            yield pytest.param(estimator, run, id="-".join(words), marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), list(list_checks()))
def test_search_passes_scikit_learn(estimator, check):
    check(estimator)


def test_tags_are_those_of_what_is_tuned():
    assert is_classifier(make_search())
    assert is_regressor(make_search(model=MPBoostRegressor))
    assert make_search().__sklearn_tags__().input_tags.allow_nan


def test_search_before_its_fit_says_so(cancer):
    with pytest.raises(NotFittedError):
        make_search().predict(cancer[0])
    assert not hasattr(make_search(), "classes_")


@pytest.mark.parametrize("is_fitted", [False, True])
def test_search_can_be_pickled(cancer, is_fitted):
    X, y = cancer
    parameters = {"max_samples": randint(20, 100)}
    search = make_search(parameters, n_candidates=3, random_state=0)
    copied = pickle.loads(pickle.dumps(search.fit(X, y) if is_fitted else search))
    copied = copied if is_fitted else copied.fit(X, y)
    np.testing.assert_array_equal(copied.predict_proba(X), search.fit(X, y).predict_proba(X))


def test_clone_has_the_parameters_and_is_not_fitted(cancer):
    search = make_search(factor=4).fit(*cancer)
    copied = clone(search)
    assert copied.factor == 4
    assert copied.estimator.n_estimators == 60
    assert not hasattr(copied, "best_estimator_")
    assert clone(search).set_params(estimator__max_bins=7).estimator.max_bins == 7


@pytest.mark.slow
def test_search_works_in_a_pipeline_and_in_cross_validation():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), make_search({"max_samples": [3, 20, 50]}))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9


# Gradient models


@pytest.mark.parametrize("model", [MPGradientBoostingClassifier, MPGradientBoostingRegressor])
@pytest.mark.parametrize("reserved", [{"n_models": 5}, {"oop_size": 0.3}], ids=str)
def test_search_over_gradient_models_is_as_a_plain_fit_of_the_winner(cancer, model, reserved):
    own = {"max_samples": 300, "max_features": 10, **reserved}
    grid = {"learning_rate": [1e-4, 1e-3, 0.1, 0.3], "max_leaf_nodes": [2, 8]}
    search = make_search(grid, model, estimator=own).fit(*cancer)
    assert search.best_params_["learning_rate"] >= 0.1
    plain = clone(search.estimator).set_params(**search.best_params_).fit(*cancer)
    assert describe_model(search.best_estimator_) == describe_model(plain)
    per_model = 5 if "n_models" in reserved else 1
    first = search.results_["n_iterations"][search.results_["rung"] == 1]
    assert set(first) == {5 * per_model}  # five iterations of each model


def test_search_over_gradient_models_needs_reserved_rows(cancer):
    search = make_search(
        {"learning_rate": [0.1]}, MPGradientBoostingClassifier, estimator={"oop_size": 0, "stopping": None}
    )
    with pytest.raises(ValueError, match="positive oop_size"):
        search.fit(*cancer)


def test_search_over_quantiles_is_refused(cancer):
    search = make_search({"learning_rate": [0.1]}, MPGradientBoostingRegressor, estimator={"loss": "quantile"})
    with pytest.raises(ValueError, match="GridSearchCV"):
        search.fit(*cancer)
