"""The callbacks of scikit-learn (1.9 or later): what they are told, and that they can stop a fit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mpboost import Callback, MPBoostClassifier
from mpboost.estimators.publishing import describe_classifier
from tests.support.helpers import SMALL, FailAt, StopAt, describe_model, make_integers, run_script

sklearn_callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

PARAMETERS = {**SMALL, "stopping": None}


class Book:
    """Writes down what it is told, without asking for anything."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.lines = []

    def setup(self, estimator, context):
        self.lines.append("setup")

    def teardown(self, estimator, context):
        self.lines.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.lines.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context):
        self.lines.append(("end", context.task_name, context.task_id))
        return context.task_name == "iteration" and context.task_id + 1 == self.stop_after


class Keeper(Book):
    """Asks for all that there is after each iteration, and keeps it."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.kept.append((context.task_name, X, y, fitted_estimator))


@pytest.fixture
def keeper():
    """A keeper that forgets its models at the end: scikit-learn caches the callback itself for the whole process."""
    keeper = Keeper()
    yield keeper
    keeper.kept.clear()


def expected_lines(n_iterations):
    pairs = [(edge, "iteration", t) for t in range(n_iterations) for edge in ("begin", "end")]
    return ["setup", ("begin", "fit", 0), *pairs, ("end", "fit", 0), "teardown"]


def test_callbacks_are_told_of_the_fit_and_each_iteration():
    book = Book()
    MPBoostClassifier(**PARAMETERS).set_callbacks(book).fit(*make_integers())
    assert book.lines == expected_lines(25)


def test_callbacks_can_stop_the_fit():
    book = Book(stop_after=4)
    model = MPBoostClassifier(**PARAMETERS).set_callbacks(book).fit(*make_integers())
    assert model.n_iter_ == 4
    assert "scikit-learn" in model.stop_reason_
    assert book.lines == expected_lines(4)


def test_callbacks_of_both_kinds_work_together():
    book = Book()
    model = MPBoostClassifier(**PARAMETERS, callbacks=[StopAt(6)]).set_callbacks(book).fit(*make_integers())
    assert model.stop_reason_ == "stopped by StopAt"
    assert book.lines == expected_lines(6)


def test_callbacks_go_on_at_a_warm_start():
    book = Book()
    model = MPBoostClassifier(**PARAMETERS, warm_start=True).set_callbacks(book).fit(*make_integers())
    for n_more in (3, 0):
        book.lines.clear()
        model.set_params(n_estimators=28).fit(*make_integers())
        assert book.lines == expected_lines(n_more)


def test_callbacks_are_torn_down_when_the_fit_fails():
    book = Book()
    with pytest.raises(RuntimeError, match="on purpose"):
        MPBoostClassifier(**PARAMETERS, callbacks=[FailAt(2)]).set_callbacks(book).fit(*make_integers())
    assert book.lines[-2:] == [("begin", "iteration", 1), "teardown"]


def test_callbacks_end_all_that_they_began_when_the_fit_is_interrupted():
    class Raise(Callback):
        def on_iteration_end(self, run):
            if run.iteration == 3:
                raise KeyboardInterrupt

    book = Book()
    with pytest.warns(RuntimeWarning, match="interrupted after 3"):
        MPBoostClassifier(**PARAMETERS, callbacks=[Raise()]).set_callbacks(book).fit(*make_integers())
    assert book.lines == expected_lines(3)


@pytest.mark.parametrize("stopping", [None, "patience"])
def test_callbacks_get_the_model_of_the_moment(stopping, keeper):
    X, y = make_integers()
    parameters = {**SMALL, "stopping": stopping, "n_iter_no_change": 10}
    model = MPBoostClassifier(**parameters).set_callbacks(keeper).fit(X, y)
    assert [name for name, *_ in keeper.kept] == ["iteration"] * model.n_iter_ + ["fit"]
    for t in (1, 5, model.n_iter_):
        fitted = keeper.kept[t - 1][3]
        shorter = MPBoostClassifier(**{**parameters, "n_estimators": t}).fit(X, y)
        np.testing.assert_array_equal(fitted.decision_function(X), shorter.decision_function(X))
        assert fitted.oop_score_ == shorter.oop_score_
    np.testing.assert_array_equal(keeper.kept[-1][3].predict(X), model.predict(X))


def test_callbacks_get_the_data_as_it_was_given(keeper):
    pandas = pytest.importorskip("pandas")
    X, y = make_integers()
    table, labels = pandas.DataFrame(X, columns=list("abcde")), np.where(y, "yes", "no")
    MPBoostClassifier(**PARAMETERS).set_callbacks(keeper).fit(table, labels)
    _, given, targets, fitted = keeper.kept[3]
    assert given is table
    assert fitted.score(given, targets) > 0.5  # a table without names would be warned of


def test_callbacks_get_a_model_that_has_forgotten_an_earlier_fit(keeper):
    pandas = pytest.importorskip("pandas")
    X, y = make_integers()
    model = MPBoostClassifier(**PARAMETERS).fit(pandas.DataFrame(X, columns=list("abcde")), y)
    model.set_callbacks(keeper).fit(X[:, :4], y)
    keeper.kept[0][3].predict(X[:, :4])


def test_callbacks_that_ask_for_no_model_make_none(monkeypatch):
    n_made = []

    def counted(*args, **kwargs):
        n_made.append(1)
        return describe_classifier(*args, **kwargs)

    monkeypatch.setattr("mpboost.estimators.classifier.describe_classifier", counted)
    MPBoostClassifier(**PARAMETERS).set_callbacks(Book()).fit(*make_integers())
    assert len(n_made) == 1  # the one that is published


def test_callbacks_do_not_change_the_model(keeper):
    X, y = make_integers()
    watched = MPBoostClassifier(**PARAMETERS).set_callbacks(keeper).fit(X, y)
    del watched._skl_callbacks
    assert describe_model(watched) == describe_model(MPBoostClassifier(**PARAMETERS).fit(X, y))


def test_scoring_monitor_sees_the_training_score():
    X, y = make_integers()
    monitor = sklearn_callback.ScoringMonitor(scoring="accuracy")
    model = MPBoostClassifier(**PARAMETERS).set_callbacks(monitor).fit(X, y)
    scores = {tuple(row["task_id_path"]): row["accuracy"] for row in monitor.get_logs().data}
    assert [scores[0, t] for t in range(25)] == model.train_scores_.tolist()


def test_progress_bar_of_scikit_learn_shows_the_fit(capsys):
    MPBoostClassifier(**PARAMETERS).set_callbacks(sklearn_callback.ProgressBar()).fit(*make_integers())
    output = capsys.readouterr().out
    assert "MPBoostClassifier - fit" in output
    assert "100%" in output


def test_progress_bar_of_a_search_reaches_the_fits(capsys):
    search = GridSearchCV(MPBoostClassifier(**PARAMETERS), {"max_depth": [1, None]}, cv=2)
    search.set_callbacks(sklearn_callback.ProgressBar()).fit(*make_integers())
    assert capsys.readouterr().out.count("MPBoostClassifier - fit") == 5
    assert not hasattr(search.best_estimator_, "_skl_callbacks")


def test_progress_bar_of_a_pipeline_reaches_the_fit(capsys):
    pipeline = make_pipeline(StandardScaler(), MPBoostClassifier(**PARAMETERS))
    pipeline.set_callbacks(sklearn_callback.ProgressBar()).fit(*make_integers())
    assert "MPBoostClassifier - fit" in capsys.readouterr().out


@pytest.mark.slow
def test_monitor_of_a_model_inside_a_search_logs_all_fits():
    monitor = sklearn_callback.ScoringMonitor(scoring="accuracy")
    model = MPBoostClassifier(**PARAMETERS).set_callbacks(monitor)
    GridSearchCV(model, {"max_depth": [1, None]}, cv=2).fit(*make_integers())
    assert len(monitor.get_logs().data) == 5 * (25 + 1)


def test_callbacks_go_with_a_clone_and_a_pickle():
    X, y = make_integers()
    monitor = sklearn_callback.ScoringMonitor(scoring="accuracy")
    model = MPBoostClassifier(**PARAMETERS).set_callbacks(monitor).fit(X, y)
    assert clone(model)._skl_callbacks == [monitor]
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    restored.fit(X, y)


def test_set_callbacks_refuses_our_own():
    with pytest.raises(TypeError, match="FitCallback"):
        MPBoostClassifier().set_callbacks(StopAt(3))


@pytest.mark.slow
def test_model_works_where_scikit_learn_has_no_callbacks():
    script = """
import sys
import sklearn.inspection, sklearn.datasets
sys.modules["sklearn.callback"] = None
from mpboost import MPBoostClassifier
X, y = sklearn.datasets.load_breast_cancer(return_X_y=True)
model = MPBoostClassifier(n_estimators=5)
print(hasattr(model, "set_callbacks"), model.fit(X, y).n_iter_)
"""
    assert run_script(script).split() == ["False", "5"]
