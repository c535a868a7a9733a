"""Seeds and threads: the same seed gives the same bits, for any number of threads and in any process."""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import mpboost
from mpboost import Callback, MPBoostClassifier, MPGradientBoostingClassifier
from tests.support.helpers import PATIENCE, FailAt, describe_model, run_script, run_short_of_threads

# So many rows that every kernel has work for several threads.
N_ROWS = 120_000
PARAMETERS = {"n_estimators": 20, "max_samples": 400, "max_features": 3, "random_state": 5}


def make_rows(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)).astype(np.float32)
    X[rng.random(n_rows) < 0.01, 2] = np.nan
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def rows():
    return make_rows()


@pytest.fixture(scope="module")
def alone(rows):
    """The model that one thread learns."""
    return MPBoostClassifier(**PARAMETERS, n_jobs=1).fit(*rows)


# Seeds


def test_random_state_fixes_the_model():
    X, y = make_rows(500)
    first, second = (MPBoostClassifier(n_estimators=20, random_state=7).fit(X, y) for _ in range(2))
    assert describe_model(first) == describe_model(second)


def test_random_state_fixes_the_model_when_the_same_estimator_is_fitted_again():
    X, y = make_rows(500)
    model = MPBoostClassifier(n_estimators=20, random_state=7).fit(X, y)
    before = describe_model(model)
    assert describe_model(model.fit(X, y)) == before


@pytest.mark.parametrize("other", [0, 8, 2**32 - 1])
def test_random_state_changes_the_model(other):
    X, y = make_rows(500)
    first, second = (MPBoostClassifier(n_estimators=20, random_state=seed).fit(X, y) for seed in (7, other))
    assert not np.array_equal(first.decision_function(X), second.decision_function(X))


def test_random_state_takes_an_instance_and_moves_it_on():
    X, y = make_rows(500)
    state = np.random.RandomState(3)
    first, second = (MPBoostClassifier(n_estimators=20, random_state=state).fit(X, y) for _ in range(2))
    again = MPBoostClassifier(n_estimators=20, random_state=np.random.RandomState(3)).fit(X, y)
    assert describe_model(first) == describe_model(again)
    assert not np.array_equal(first.decision_function(X), second.decision_function(X))


def test_random_state_none_draws_anew():
    X, y = make_rows(500)
    first, second = (MPBoostClassifier(n_estimators=20).fit(X, y) for _ in range(2))
    assert not np.array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize(
    "parameters",
    [{"importance": "permutation"}, {"estimator": DecisionTreeClassifier(max_features=2)}],
    ids=["permutation", "estimator"],
)
def test_random_state_reaches_every_source_of_chance(parameters):
    X, y = make_rows(500)
    first, second = (MPBoostClassifier(n_estimators=10, random_state=7, **parameters).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.feature_probabilities_, second.feature_probabilities_)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.slow
def test_random_state_fixes_the_model_across_processes():
    script = """
import joblib, numpy as np
from mpboost import MPBoostClassifier
X = np.arange(3000, dtype=np.float64).reshape(500, 6) * 7919 % 1009
model = MPBoostClassifier(n_estimators=20, random_state=7).fit(X, X[:, 0] > X[:, 1])
result = joblib.hash((model.decision_function(X), model.feature_probabilities_, model.oop_scores_))
"""
    here = {}
    exec(script, here)
    assert run_script(script + "print(result)").strip() == here["result"]


# Threads


@pytest.mark.parametrize("n_jobs", [2, 4, -1, None])
def test_n_jobs_does_not_change_the_model(rows, alone, n_jobs):
    model = MPBoostClassifier(**PARAMETERS, n_jobs=n_jobs).fit(*rows)
    assert describe_model(model) == describe_model(alone)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64], ids=["uint8", "float64"])
def test_n_jobs_does_not_change_the_model_of_any_type_of_table(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 256, size=(N_ROWS, 6)), dtype=dtype, order=order)
    y = X[:, 0] > X[:, 1]
    one, four = (MPBoostClassifier(**PARAMETERS, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 4))
    assert describe_model(four) == describe_model(one)


@pytest.mark.slow
@pytest.mark.parametrize("weighting", ["exponential", "hard_exponential", "hard_logistic"])
def test_n_jobs_does_not_change_the_model_of_any_weighting(rows, weighting):
    one, four = (MPBoostClassifier(**PARAMETERS, weighting=weighting, n_jobs=n_jobs).fit(*rows) for n_jobs in (1, 4))
    assert describe_model(four) == describe_model(one)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_n_jobs_does_not_change_predictions(alone, method, n_jobs):
    X, _ = make_rows(seed=1)
    expected = getattr(alone, method)(X)
    threaded = MPBoostClassifier(**PARAMETERS, n_jobs=n_jobs).fit(*make_rows())
    assert getattr(threaded, method)(X).tobytes() == expected.tobytes()


@pytest.mark.slow
def test_n_jobs_does_not_change_staged_decisions(rows, alone):
    X, _ = rows
    threaded = MPBoostClassifier(**PARAMETERS, n_jobs=4).fit(*rows)
    for one, four in zip(alone.staged_decision_function(X), threaded.staged_decision_function(X), strict=True):
        np.testing.assert_array_equal(one, four)


class ThreadCounter(Callback):
    """Counts the threads of this process, as the system sees them, while a fit is under way."""

    def on_iteration_end(self, run):
        self.n_threads = count_threads()


def count_threads():
    return len(os.listdir("/proc/self/task"))


def count_threads_down_to(expected, patience=PATIENCE):
    """Count threads until there are as few as expected: the system lists one that ended for a moment longer."""
    deadline = time.monotonic() + patience
    while count_threads() > expected and time.monotonic() < deadline:
        time.sleep(0.001)
    return count_threads()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="asks Linux for the threads of a process")
def test_fit_has_threads_only_while_it_runs(rows):
    before = count_threads()
    counter = ThreadCounter()
    MPBoostClassifier(**PARAMETERS, n_jobs=4, callbacks=[counter]).fit(*rows)
    assert counter.n_threads == before + 3
    assert count_threads_down_to(before) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="asks Linux for the threads of a process")
def test_fit_that_fails_leaves_no_threads_behind(rows):
    before = count_threads()
    with pytest.raises(RuntimeError, match="on purpose"):
        MPBoostClassifier(**PARAMETERS, n_jobs=4, callbacks=[FailAt(1)]).fit(*rows)
    assert count_threads_down_to(before) == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_fit_and_predict_warn_of_threads_that_cannot_start_and_go_on():
    names = [name for name in mpboost.__all__ if name.startswith("MP")]
    assert len(names) == 4
    output = run_short_of_threads(f"""
import warnings
import joblib, numpy as np
X = np.arange(360_000.0).reshape(-1, 6) * 7919 % 1009
y = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
def learn(name, n_jobs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = getattr(mpboost, name)(n_estimators=5, max_samples=300, random_state=0, n_jobs=n_jobs).fit(X, y)
        outputs = model.predict(X)
    for warning in caught:
        print(warning.category.__name__, warning.message)
    return joblib.hash(outputs)
for name in {names}:
    print(name, learn(name, 1) == learn(name, 4))
""")
    warning = "RuntimeWarning n_jobs=4 asks for 4 threads, but the system started only 2"
    lines = output.splitlines()
    assert len(lines) == 3 * len(names)
    for k, name in enumerate(names):
        fit, predict, same = lines[3 * k : 3 * k + 3]
        assert fit.startswith(warning)
        assert predict.startswith(warning)  # two threads again: that of the fit has ended
        assert same == f"{name} True"


# Forks


def fit_and_predict_in_child(model, X, y, connection):
    again = MPBoostClassifier(**PARAMETERS, n_jobs=2).fit(X, y)
    connection.send((describe_model(again), model.decision_function(X).tobytes()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_after_a_threaded_fit_can_fit_and_predict(rows, alone):
    X, y = rows
    model = MPBoostClassifier(**PARAMETERS, n_jobs=2).fit(X, y)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=fit_and_predict_in_child, args=(model, X, y, theirs))
    child.start()
    try:
        assert ours.poll(PATIENCE), "the forked child hangs"
        learned, decisions = ours.recv()
        child.join(PATIENCE)
    finally:
        child.kill()
    assert child.exitcode == 0
    assert learned == describe_model(alone)
    assert decisions == alone.decision_function(X).tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_inside_a_threaded_fit_can_fit_and_predict(rows, alone):
    # A callback that forks: the parent's threads are alive, and the child has only their shells.
    X, y = rows
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    children = []

    class Forker(Callback):
        def on_iteration_end(self, run):
            if run.iteration == 3:
                children.append(fork.Process(target=fit_and_predict_in_child, args=(alone, X, y, theirs)))
                children[0].start()

    MPBoostClassifier(**PARAMETERS, n_jobs=2, callbacks=[Forker()]).fit(X, y)
    try:
        assert ours.poll(PATIENCE), "the forked child hangs"
        learned, _ = ours.recv()
    finally:
        children[0].kill()
    assert learned == describe_model(alone)


# Several threads of the caller


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predict_from_many_threads_at_once_gives_the_same(rows, alone, n_jobs):
    X, y = rows
    model = MPBoostClassifier(**PARAMETERS, n_jobs=n_jobs).fit(X, y)
    parts = np.array_split(X, 8)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(model.decision_function, parts * 3))
    expected = alone.decision_function(X)
    for k in range(3):
        np.testing.assert_array_equal(np.concatenate(results[8 * k : 8 * k + 8]), expected)


@pytest.mark.slow
def test_fit_from_many_threads_at_once_gives_the_same(rows, alone):
    X, y = rows
    with ThreadPoolExecutor(3) as pool:
        models = list(pool.map(lambda n_jobs: MPBoostClassifier(**PARAMETERS, n_jobs=n_jobs).fit(X, y), [1, 2, 2]))
    assert [describe_model(model) for model in models] == [describe_model(alone)] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_goes_on_with_inherited_threads(rows, alone):
    # A generator that was begun before the fork holds threads that stayed with the parent.
    X, _ = rows
    expected = list(alone.staged_predict(X))
    stages = MPBoostClassifier(**PARAMETERS, n_jobs=2).fit(*rows).staged_predict(X)
    next(stages)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def go_on():
        answers.put(all(np.array_equal(a, b) for a, b in zip(stages, expected[1:], strict=True)))

    child = context.Process(target=go_on)
    child.start()
    child.join(PATIENCE)
    hangs = child.is_alive()
    if hangs:
        child.kill()
    assert not hangs
    assert child.exitcode == 0
    assert answers.get()
    assert np.array_equal(next(stages), expected[1])


@pytest.mark.parametrize("n_jobs", [2**40, 10**6, -1, -100])
def test_n_jobs_beyond_the_processors_is_no_error(n_jobs):
    X, y = make_rows(300)
    model = MPBoostClassifier(n_estimators=5, random_state=0, n_jobs=n_jobs).fit(X, y)
    expected = MPBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert describe_model(model) == describe_model(expected)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_bins_are_the_same_for_any_random_state(estimator):
    X = np.random.default_rng(0).normal(size=(250_000, 2))  # so many that bins come from a sample of the rows
    y = X[:, 0] > 0
    models = [estimator(n_estimators=1, max_samples=100, stopping=None, random_state=seed).fit(X, y) for seed in (0, 1)]
    edges = [model._ensemble.mapper.edges for model in models]
    np.testing.assert_array_equal(*edges)
