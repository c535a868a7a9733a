"""The paper's figures are drawn by one command, and the numbers beside them are theirs."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.data.split_set import SplitSet
from benchmarks.paper import figures
from mpboost import MPBoostClassifier

pytestmark = pytest.mark.slow

NAMES = ["figure_2a", "figure_2b", "figure_3", "figure_4"]
EFFORT = replace(figures.QUICK, ablation_run=12, long_run=40, n_estimators=30)


@pytest.fixture(scope="module")
def split_set():
    """Small digits, each several times with other noise: as many as minipatches of 500 need."""
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 8))
    X, y = np.tile(X[kept], (3, 1)), np.tile(np.where(y[kept] == 8, 1, -1), 3)
    X = np.clip(X + np.random.default_rng(0).integers(-2, 3, size=X.shape) * (X > 0), 0, 16)
    return SplitSet("small digits", X[:800], y[:800], X[800:], y[800:])


@pytest.fixture(scope="module")
def run(split_set, tmp_path_factory):
    """Folders of the pictures and of the results of the command, and how often its bar moved."""
    folder, results, steps = tmp_path_factory.mktemp("pictures"), tmp_path_factory.mktemp("results") / "new", []
    draw_all = figures.draw_all
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "load_case_study", lambda: split_set)
        patch.setattr(figures, "QUICK", EFFORT)
        patch.setattr(figures, "draw_all", lambda *given: draw_all(*given[:-1], lambda: steps.append(given[-1]())))
        assert figures.main(["--quick", "--output", str(folder), "--results", str(results)]) == 0
    return folder, results, len(steps)


@pytest.fixture(scope="module")
def stopped(split_set):
    parameters = {**figures.PAPER_MNIST, "n_estimators": EFFORT.n_estimators}
    return MPBoostClassifier(**parameters, random_state=0).fit(split_set.X_train, split_set.y_train)


def read_rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_figures_command_draws_all_as_png_and_svg(run):
    folder, _, n_steps = run
    assert n_steps == EFFORT.n_steps
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")
    ]
    for path in folder.iterdir():
        assert 10_000 < path.stat().st_size < 300_000, path.name


@pytest.mark.slow
def test_figures_2a_numbers_are_those_of_each_repeat(run, split_set):
    rows = read_rows(run[1] / "figure_2a.csv")
    assert [row["iteration"] for row in rows] == ["10"] * len(figures.ABLATION) * EFFORT.n_repeats
    both = [float(row["test_accuracy"]) for row in rows if row["setting"] == "p and q adaptive"]
    parameters = {**figures.PAPER_MNIST, "stopping": None, "n_estimators": 10}
    model = MPBoostClassifier(**parameters, random_state=1).fit(split_set.X_train, split_set.y_train)
    assert both[1] == pytest.approx(model.score(split_set.X_test, split_set.y_test), abs=1e-5)


@pytest.mark.slow
def test_figures_2b_numbers_have_the_stop(run, split_set, stopped):
    rows = {int(row["iteration"]): row for row in read_rows(run[1] / "figure_2b.csv")}
    assert set(rows) == {10, 25, stopped.best_iteration_, stopped.n_iter_}
    best = rows[stopped.best_iteration_]
    assert best["event"] == "best iteration"
    assert float(best["test"]) == pytest.approx(stopped.score(split_set.X_test, split_set.y_test), abs=1e-5)
    assert float(best["oop"]) == pytest.approx(stopped.oop_score_, abs=1e-5)


@pytest.mark.slow
def test_figures_3_numbers_are_of_the_likeliest_rows(run, split_set, stopped):
    rows = read_rows(run[1] / "figure_3.csv")
    p = stopped.observation_probabilities_
    assert len(rows) == 6
    shown = [int(row["row"]) for row in rows]
    np.testing.assert_array_equal(p[shown], np.sort(p)[:-7:-1])
    assert [row["label"] for row in rows] == ["8" if split_set.y_train[row] > 0 else "3" for row in shown]
    assert float(rows[0]["share_of_hardest_percent"]) == pytest.approx(np.sort(p)[-8:].sum(), abs=1e-4)
    assert float(rows[0]["times_uniform"]) == pytest.approx(800 * p.max(), abs=0.1)


def test_figures_4_numbers_begin_with_chance(run, split_set):
    rows = read_rows(run[1] / "figure_4.csv")
    assert [int(row["iteration"]) for row in rows] == [0, 10, 30, 40]
    is_inked = split_set.X_train.max(axis=0) > 0
    assert float(rows[0]["effective_features"]) == 64
    assert float(rows[0]["share_on_inked_pixels"]) == pytest.approx(is_inked.mean(), abs=1e-4)
    assert float(rows[-1]["effective_features"]) < 60


@pytest.mark.slow
def test_figures_are_the_same_bytes_when_drawn_again(split_set, tmp_path):
    curves = {"a": np.linspace(0.5, 0.9, 20).reshape(2, 10)}
    first, second = (
        figures.save_picture(figures.draw_ablation(split_set, curves), tmp_path / name) for name in ("a", "b")
    )
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
