"""Bad input: an error that says what is wrong, and a model that is as it was before."""

import signal
import subprocess
import sys
import textwrap
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)
from tests.support.helpers import PATIENCE, FailAt, Memory

N, M = 60, 5


def make_data():
    X = np.random.default_rng(0).normal(size=(N, M))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


X, Y = make_data()


def set_cell(value, dtype=np.float64):
    bad = X.astype(dtype)
    bad[3, 2] = value
    return bad


def set_label(value, dtype=np.float64):
    bad = Y.astype(dtype)
    bad[3] = value
    return bad


# What is passed as X and y, the error, and what its message speaks of.
BAD_DATA = {
    "no-rows": (X[:0], Y[:0], ValueError, "0 sample"),
    "no-features": (X[:, :0], Y, ValueError, "0 feature"),
    "one-row": (X[:1], Y[:1], ValueError, "one class"),
    "one-class": (X, np.ones(N), ValueError, "one class"),
    "X-scalar": (1.0, Y, ValueError, "2D"),
    "X-1d": (X[:, 0], Y, ValueError, "2D"),
    "X-3d": (X[:, :, None], Y, ValueError, "dim 3"),
    "X-none": (None, Y, ValueError, "2D"),
    "X-ragged": ([[1.0, 2.0], [3.0]], [0, 1], ValueError, "inhomogeneous"),
    "X-shorter": (X[:-1], Y, ValueError, "inconsistent"),
    "y-shorter": (X, Y[:-1], ValueError, "inconsistent"),
    "X-strings": (X.astype(str), Y, ValueError, "X contains text: list its columns in categorical_features"),
    "X-word-among-objects": (set_cell("word", object), Y, ValueError, "could not convert"),
    "X-object-no-number": (set_cell(object(), object), Y, (TypeError, ValueError), "float"),
    "X-list-among-objects": (set_cell([1, 2], object), Y, (TypeError, ValueError), "sequence"),
    "X-complex": (X + 0j, Y, ValueError, "[Cc]omplex"),
    "X-array-of-words": (np.array([["x"], ["y"]] * (N // 2)), Y, ValueError, "could not convert|strings|categorical"),
    "X-frame-of-durations": (pd.DataFrame({"a": pd.to_timedelta(range(N), unit="s")}), Y, TypeError, "'a'"),
    "y-none": (X, None, ValueError, "requires y"),
    "y-nan": (X, set_label(np.nan), ValueError, "NaN"),
    "y-inf": (X, set_label(np.inf), ValueError, "infinity"),
    "y-none-among-objects": (X, set_label(None, object), ValueError, "label type"),
    "y-of-mixed-types": (X, set_label("word", object), (TypeError, ValueError), "label type|str"),
    "y-continuous": (X, X[:, 0], ValueError, "continuous"),
    "y-complex": (X, Y + 1j, ValueError, "[Cc]omplex"),
    "y-two-columns": (X, np.column_stack([Y, Y]), ValueError, "1d"),
    "y-scalar": (X, 1, (TypeError, ValueError), "1d|array"),
}


WORDS = ["a", "b"] * (N // 2)
MISSING = "missing values .* remove these rows"
FRAME = r"1d array, got a frame of 2 columns instead: pass one of them, for example y\['p'\]"


def set_first(value, values=Y):
    return [value, *list(values)[1:]]


#: Until 1.7 scikit-learn only warned of them.
REFUSES_BYTES = parse_version(sklearn.__version__) >= parse_version("1.7")

# What is passed as y, and what classifiers and regressors say; None if they take it.
BAD_TARGETS = {
    "words": (WORDS, None, "'a', which is not a number"),
    "words-as-array": (np.array(WORDS), None, "'a', which is not a number"),
    "words-as-objects": (np.array(WORDS, dtype=object), None, "'a', which is not a number"),
    "words-as-categories": (pd.Series(WORDS, dtype="category"), None, "'a', which is not a number"),
    "words-of-polars": (pl.Series(WORDS), None, "'a', which is not a number"),
    "bytes": ([b"a", b"b"] * (N // 2), "bytes" if REFUSES_BYTES else None, "b'a', which is not a number"),
    "mixed-list": (
        set_first(1, WORDS),
        r"text and numbers \('b' and 1\): convert all labels",
        "'b', which is not a number",
    ),
    "mixed-objects": (set_label("a", object), r"text and numbers \('a' and \d\)", "'a', which is not a number"),
    "mixed-bool": (set_first(True, WORDS), r"text and numbers \('b' and True\)", "'b', which is not a number"),
    "none": (set_first(None), MISSING, MISSING),
    "none-among-words": (set_first(None, WORDS), MISSING, MISSING),
    "NA-in-list": (set_first(pd.NA), MISSING, MISSING),
    "NA-among-objects": (pd.Series(set_first(pd.NA), dtype=object), MISSING, MISSING),
    "NA-among-strings": (pd.Series(set_first(pd.NA, WORDS), dtype="string"), MISSING, MISSING),
    "NA-among-numbers": (pd.Series(set_first(pd.NA), dtype="Int64"), "NaN: remove", "NaN: remove"),
    "NA-among-categories": (pd.Series(set_first(None, WORDS), dtype="category"), MISSING, MISSING),
    "null-of-polars": (pl.Series(set_first(None, Y.tolist())), "NaN: remove", "NaN: remove"),
    "nan": (set_label(np.nan), "NaN: remove", "NaN: remove"),
    "infinity": (set_label(np.inf), "infinity .*: remove these rows", "infinity .*: remove these rows"),
    "dates": (pd.Series(pd.date_range("2020", periods=N)), "of type Timestamp", "Timestamp.*not a number"),
    "dates-of-numpy": (np.arange(N).astype("M8[ns]"), None, "datetim.*not a number"),
    "dicts": ([{"a": 1}, {"b": 2}] * (N // 2), "{'a': 1} of type dict", "{'a': 1}, which is not a number"),
    "lists": (
        [[1], [2, 3]] * (N // 2),
        "1d array, but its entries have different lengths",
        "1d array, but its entries",
    ),
    "two-columns": (np.column_stack([Y, Y]), "1d array", "1d array"),
    "frame": (pd.DataFrame({"p": Y, "q": Y}), FRAME, FRAME),
    "frame-of-polars": (pl.DataFrame({"p": Y, "q": Y}), FRAME, FRAME),
    "frame-of-words": (pd.DataFrame({"p": WORDS, "q": WORDS}), FRAME, FRAME),
    "frame-with-a-name-twice": (
        pd.DataFrame(np.column_stack([Y, Y]), columns=["p", "p"]),
        "y has more than one column named 'p': rename",
        "y has more than one column named 'p': rename",
    ),
    "word": ("abc", "1d array", "1d array"),
}

# What is passed as X, and the error.
BAD_TABLES = {
    "names-twice": (pd.DataFrame(X, columns=list("abcda")), "X has more than one column named 'a': rename"),
    "names-twice-of-pyarrow": (pa.table(list(X.T), names=list("abcda")), "X has more than one column named 'a'"),
    "words-among-objects": (set_cell("word", object), "X contains text .*'word'.* categorical_features"),
}

ESTIMATORS = (MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier, MPGradientBoostingRegressor)


def bad_data(test):
    """Run a test on each case; NumPy itself warns of numbers that are too large for a type."""
    test = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")(test)
    return pytest.mark.parametrize(("bad_X", "bad_y", "error", "word"), BAD_DATA.values(), ids=BAD_DATA.keys())(test)


def make_model(**parameters):
    return MPBoostClassifier(**{"n_estimators": 5, "max_samples": 20, "random_state": 0, **parameters})


# fit


@bad_data
def test_fit_refuses_data(bad_X, bad_y, error, word):
    with pytest.raises(error, match=word):
        make_model().fit(bad_X, bad_y)


@pytest.mark.filterwarnings("ignore:Support for labels represented as bytes:FutureWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("bad_y", "of_classes", "of_numbers"), BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_fit_says_what_is_wrong_with_targets(estimator, bad_y, of_classes, of_numbers):
    model = estimator(n_estimators=2, max_samples=20)
    words = of_classes if is_classifier(model) else of_numbers
    with pytest.raises((ValueError, TypeError), match=words) if words else nullcontext():
        model.fit(X, bad_y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("bad_X", "words"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_fit_and_predict_say_what_is_wrong_with_tables(estimator, bad_X, words):
    with pytest.raises((ValueError, TypeError), match=words):
        estimator(n_estimators=2, max_samples=20).fit(bad_X, Y)
    fitted = estimator(n_estimators=2, max_samples=20).fit(X[:, : np.shape(bad_X)[1]], Y)
    with pytest.raises((ValueError, TypeError), match=words):
        fitted.predict(bad_X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_fit_takes_every_mark_of_missing_values_alike(estimator, make):
    models = [estimator(n_estimators=2, random_state=0) for _ in range(3)]
    first, *others = (
        model.fit(make(set_cell(mark, object)), Y).predict(X)
        for model, mark in zip(models, (np.nan, None, pd.NA), strict=True)
    )
    for other in others:
        np.testing.assert_array_equal(first, other)


@bad_data
def test_fit_on_bad_data_leaves_a_fresh_estimator_unfitted(bad_X, bad_y, error, word):
    model = make_model()
    held = dict(vars(model))
    with pytest.raises(error):
        model.fit(bad_X, bad_y)
    assert vars(model) == held
    assert not [name for name in vars(model) if name.endswith("_")]


@bad_data
def test_fit_on_bad_data_leaves_a_fitted_model_as_it_was(bad_X, bad_y, error, word):
    model = make_model().fit(X, Y)
    memory = Memory(model, X)
    with pytest.raises(error):
        model.fit(bad_X, bad_y)
    memory.assert_unchanged(model)


class FailingTree(DecisionTreeClassifier):
    """Works for a while."""

    n_fits = 0

    def fit(self, X, y):
        FailingTree.n_fits += 1
        if FailingTree.n_fits % 3 == 0:
            raise RuntimeError("broken on purpose")
        return super().fit(X, y)


MID_FIT_FAILURES = {
    "callback": {"callbacks": [FailAt(3)]},
    "weak-learner": {"estimator": FailingTree()},
}


@pytest.mark.parametrize("parameters", MID_FIT_FAILURES.values(), ids=MID_FIT_FAILURES.keys())
def test_fit_that_fails_half_way_leaves_a_fresh_estimator_unfitted(parameters):
    model = make_model(**parameters)
    held = dict(vars(model))
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(X, Y)
    assert vars(model) == held


@pytest.mark.parametrize("parameters", MID_FIT_FAILURES.values(), ids=MID_FIT_FAILURES.keys())
def test_fit_that_fails_half_way_leaves_a_fitted_model_as_it_was(parameters):
    model = make_model().fit(X, Y)
    memory = Memory(model, X)
    model.set_params(**parameters)
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(X[:, :3], Y)
    model.set_params(**{name: memory.held[name] for name in parameters})
    memory.assert_unchanged(model)


def test_fit_that_fails_half_way_of_a_warm_start_can_be_repeated():
    whole = make_model(n_estimators=12, stopping=None).fit(X, Y)
    model = make_model(n_estimators=2, stopping=None, warm_start=True).fit(X, Y)
    with pytest.raises(RuntimeError, match="on purpose"):
        model.set_params(n_estimators=12, callbacks=[FailAt(3)]).fit(X, Y)
    assert model.n_iter_ == 2  # as it was
    with pytest.warns(UserWarning, match="starts over"):
        model.set_params(callbacks=None).fit(X, Y)
    np.testing.assert_array_equal(model.oop_scores_, whole.oop_scores_)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


# predict


METHODS = ["predict", "predict_proba", "decision_function", "staged_predict", "staged_decision_function"]


def call(model, method, X):
    result = getattr(model, method)(X)
    return list(result) if method.startswith("staged") else result


@pytest.mark.parametrize("method", METHODS)
def test_predictions_before_fit_are_refused(method):
    model = make_model()
    held = dict(vars(model))
    with pytest.raises(NotFittedError, match="fit"):
        call(model, method, X)
    assert vars(model) == held


BAD_TABLES = {
    "fewer-features": (X[:, :-1], ValueError, f"expecting {M} features"),
    "more-features": (np.hstack([X, X]), ValueError, f"expecting {M} features"),
    "1d": (X[0], ValueError, "2D"),
    "3d": (X[None], ValueError, "dim 3"),
    "no-rows": (X[:0], ValueError, "0 sample"),
    "strings": (X.astype(str), ValueError, "X contains text"),
    "complex": (X + 0j, ValueError, "[Cc]omplex"),
    "sparse": (sparse.csr_matrix(X[:, :-1]), ValueError, "features"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("bad_X", "error", "word"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_predictions_refuse_table(method, bad_X, error, word):
    model = make_model().fit(X, Y)
    memory = Memory(model, X)
    with pytest.raises(error, match=word):
        call(model, method, bad_X)
    memory.assert_unchanged(model)


@pytest.mark.parametrize("columns", [list("abcdx"), list("bacde")], ids=["another-name", "another-order"])
def test_predict_refuses_other_feature_names(columns):
    model = make_model().fit(pd.DataFrame(X, columns=list("abcde")), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=columns))


def test_predict_warns_where_names_are_missing():
    model = make_model().fit(pd.DataFrame(X, columns=list("abcde")), Y)
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)


# Input that could take the whole process down, tried in one of its own.


def try_script(script):
    """Run a script in a fresh process; a crash shows as a negative return code, a hang as one of -SIGKILL."""
    prelude = """
        import numpy as np
        from mpboost import MPBoostClassifier
        X = np.random.default_rng(0).normal(size=(2000, 6))
        y = X[:, 0] > 0
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
    return process.returncode, output


@pytest.mark.slow
def test_fit_with_a_weak_learner_that_answers_other_than_its_labels_does_not_crash():
    # Votes beyond -1 and +1 must not lead out of the table of weights.
    returncode, output = try_script("""
        from sklearn.linear_model import LogisticRegression
        class Loud(LogisticRegression):
            def predict(self, X):
                return 100 * super().predict(X)
        try:
            MPBoostClassifier(Loud(), n_estimators=1000, stopping=None, random_state=0).fit(X, y)
        except (ValueError, TypeError) as error:
            print("refused:", error)
    """)
    assert returncode == 0, output[-500:]
    assert "refused" in output


def test_weak_learner_errors_reach_the_user():
    holed = X.copy()
    holed[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make_model(estimator=LogisticRegression()).fit(holed, Y)


def test_fit_refuses_dates():
    dates = np.array([["2020-01-01"], ["NaT"], ["2021-01-01"]] * 20, dtype="datetime64[s]")
    with pytest.raises(TypeError, match="convert it to numbers"):
        make_model().fit(dates, Y)


def test_fit_names_a_few_of_the_labels_that_only_validation_has():
    with pytest.raises(ValueError, match=r"y_val contains labels that y does not have: 2, 3, 4, 5, 6, \.\.\.\.$"):
        make_model().fit(X, Y, X_val=X, y_val=np.arange(len(Y)))
    with pytest.raises(ValueError, match=r"y_val contains labels that y does not have: 'no'\.$"):
        make_model().fit(X, Y, X_val=X, y_val=["no"] * len(Y))
