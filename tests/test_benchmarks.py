"""The benchmarks run, and the yardstick that they measure against is what it claims to be."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mpboost import MPBoostClassifier

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.data import PROJECT, data_folder, make_table
from benchmarks.literal import fit_literal, update_features, weigh_observations
from benchmarks.measure import StepClock, median_ratio, take_turns
from benchmarks.speed import judge_linearity

needs_mnist = pytest.mark.skipif(
    not (data_folder() / "mnist.npz").is_file(), reason=f"no mnist.npz in {data_folder()}; set MPBOOST_DATA"
)


def run_benchmark(name, *arguments, data=None):
    environment = {**os.environ, "PYTHONUTF8": "1", **({"MPBOOST_DATA": str(data)} if data else {})}
    command = [sys.executable, "-W", "error", "-m", f"benchmarks.{name}", "--quick", *arguments]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 8))
    X, y = X[kept], np.where(y[kept] == 8, 1, -1).astype(np.int8)
    return X[:250], y[:250], X[250:], y[250:]


@needs_mnist
def test_speed_quick_prints_all_sections():
    finished = run_benchmark("speed")
    assert finished.returncode == 0, finished.stderr
    words = [
        "(a)",
        "literal loop",
        "draw rows",
        "(b)",
        "nodes",
        "(c)",
        "ns per row",
        "(d)",
        "bytes per row",
        "(e)",
        "portable",
    ]
    assert [word for word in words if word not in finished.stdout] == []


@needs_mnist
def test_quality_quick_prints_tables_and_draws_the_ablation(tmp_path):
    finished = run_benchmark("quality", "--output", str(tmp_path))
    assert finished.returncode == 0, finished.stderr
    assert "its own stop" in finished.stdout
    assert "p uniform, q adaptive" in finished.stdout
    assert (tmp_path / "ablation.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["speed", "quality"])
def test_benchmarks_say_what_to_do_without_data(name, tmp_path):
    finished = run_benchmark(name, data=tmp_path)
    assert finished.returncode == 2
    assert "MPBOOST_DATA" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_literal_loop_learns_digits(digits):
    X, y, X_test, y_test = digits
    model = fit_literal(X, y, max_samples=50, max_features=8, n_estimators=100)
    assert np.mean(model.predict(X_test) == y_test) > 0.93
    assert model.oop_scores[-1] > 0.93
    assert model.p.sum() == pytest.approx(1)
    assert model.q.sum() == pytest.approx(1)
    assert model.loop_seconds > 0


def test_literal_loop_does_what_ours_does(digits):
    """Draws differ, so only the means of a few runs can agree."""
    X, y, X_test, y_test = digits
    sizes = {"max_samples": 50, "max_features": 8, "n_estimators": 60}
    literal, ours = [], []
    for seed in range(8):
        theirs = fit_literal(X, y, **sizes, seed=seed)
        mine = MPBoostClassifier(**sizes, stopping=None, random_state=seed).fit(X, y)
        literal.append([np.mean(theirs.predict(X_test) == y_test), theirs.oop_scores[-1], 1 / np.sum(theirs.q**2)])
        ours.append([mine.score(X_test, y_test), mine.oop_scores_[-1], 1 / np.sum(mine.feature_probabilities_**2)])
    test, oop, effective_features = np.mean(literal, axis=0) - np.mean(ours, axis=0)
    assert abs(test) < 0.03
    assert abs(oop) < 0.03
    assert abs(effective_features) < 8


def test_literal_p_is_the_normalised_soft_logistic_weight():
    y, F = np.array([1, -1, 1], dtype=np.int8), np.array([2.0, 2.0, 0.0])
    weights = np.array([1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2)), 0.5])
    np.testing.assert_allclose(weigh_observations(y, F), weights / weights.sum())


def test_literal_q_moves_towards_importances_and_keeps_its_mass():
    q = np.array([0.4, 0.2, 0.3, 0.1])
    update_features(q, np.array([3, 0]), np.array([1.0, 0.0]), 0.5)
    np.testing.assert_allclose(q, [0.2, 0.2, 0.3, 0.3])
    update_features(q, np.array([1, 2]), np.zeros(2), 0.5)
    np.testing.assert_allclose(q, [0.2, 0.2, 0.3, 0.3])


def test_take_turns_interleaves_contestants():
    calls = []
    results = take_turns(
        {"a": lambda: calls.append("a") or len(calls), "b": lambda: calls.append("b") or len(calls)}, 2
    )
    assert calls == ["a", "b", "a", "b"]
    assert results == {"a": [1, 3], "b": [2, 4]}


def test_median_ratio_compares_within_turns():
    assert median_ratio([10.0, 40.0, 3.0], [1.0, 2.0, 3.0]) == 10.0


def test_step_clock_accounts_for_the_whole_loop():
    clock = StepClock()
    X, y = make_table(500, 10)
    parameters = {"n_estimators": 20, "stopping": None, "random_state": 0}
    model = MPBoostClassifier(**parameters, callbacks=[clock]).fit(X, y)
    assert sum(clock.steps.values()) == pytest.approx(clock.seconds)
    assert min(clock.steps.values()) > 0
    plain = MPBoostClassifier(**parameters).fit(X, y)
    np.testing.assert_array_equal(plain.oop_scores_, model.oop_scores_)


@pytest.mark.parametrize(
    ("milliseconds", "linear"), [([1.1, 2.0, 11.0], True), ([1.0, 10.0, 1000.0], False)], ids=["line", "square"]
)
def test_judge_linearity(milliseconds, linear):
    assert judge_linearity((10, 100, 1000), milliseconds).startswith("linear") == linear
