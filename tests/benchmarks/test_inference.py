"""Worlds have the features that they claim, tests are counted by role, and the page has the tables of the results."""

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.folders import RESULTS
from benchmarks.common.pages import fill, list_tables
from benchmarks.common.results import read_rows, write_rows
from benchmarks.inference import __main__ as command
from benchmarks.inference import limits, methods, page, simulations
from benchmarks.inference.simulations import Case, list_cases, simulate, write_percent
from benchmarks.inference.tests_of_features import COLUMNS
from benchmarks.inference.worlds import N_SIGNALS, TARGETS, WORLDS, make_world


@pytest.mark.parametrize("name", WORLDS)
def test_world_is_the_same_for_a_seed_and_has_five_signals(name):
    world, again, other = (make_world(name, "numbers", 0.5, seed) for seed in (0, 0, 1))
    assert np.array_equal(world.X, again.X)
    assert np.array_equal(world.y, again.y)
    assert not np.array_equal(world.y, other.y)
    assert np.count_nonzero(world.roles == "signal") == N_SIGNALS
    assert world.X.shape == (len(world.y), len(world.roles))
    assert set(make_world(name, "classes", 0.5, 0).y) == {0, 1}


@pytest.mark.parametrize("name", ["linear", "correlated"])
def test_signals_and_proxies_go_along_with_the_target_and_noise_does_not(name):
    correlations = {"signal": [], "proxy": [], "noise": []}
    for seed in range(10):
        world = make_world(name, "numbers", 0.5, seed)
        for role, column in zip(world.roles, world.X.T, strict=True):
            correlations[role].append(np.corrcoef(column, world.y)[0, 1])
    means = {role: np.mean(values) for role, values in correlations.items() if values}
    assert means["signal"] > 0.25
    assert abs(means["noise"]) < 0.03
    assert name == "linear" or 0.15 < means["proxy"] < means["signal"]


@pytest.mark.parametrize("target", TARGETS)
def test_world_without_effect_is_all_noise(target):
    world = make_world("Madelon-like", target, 0.0, 0)
    assert set(world.roles) == {"noise"}
    assert max(abs(np.corrcoef(column, world.y)[0, 1]) for column in world.X.T) < 0.25


def test_simulation_counts_what_is_called_useful_by_role(monkeypatch):
    def call_the_first_eight_useful(X, y, seed):
        return np.where(np.arange(X.shape[1]) < 8, 0.01, 0.5)

    tests = {"infer_features": call_the_first_eight_useful, "other": lambda X, y, seed: np.full(X.shape[1], 0.05)}
    monkeypatch.setattr(simulations, "METHODS", tests)
    found = dict(simulate(Case("correlated", "classes", 0.5), 3, 2))
    shares = {
        role: (counts.n_worlds, counts.n_tested, counts.share) for role, counts in found["infer_features"].items()
    }
    assert shares == {"signal": (3, 15, 1.0), "proxy": (3, 15, 0.6), "noise": (3, 30, 0.0)}
    assert found["other"]["signal"] == (2, 10, 0.0, 0.0)  # 5 % is not below the level
    nothing = dict(simulate(Case("linear", "classes", 0.0), 1, 1))["other"]["signal"]
    assert nothing.n_tested == 0
    assert write_percent(nothing.share) == ""
    assert len(list_cases([0.0, 1.0])) == 2 * len(WORLDS) * len(TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.METHODS)
@pytest.mark.parametrize("target", TARGETS)
def test_methods_find_strong_signals(name, target, monkeypatch):
    monkeypatch.setattr(methods, "N_LEARNERS", 600)
    world = make_world("linear", target, 1.0, 0)
    p_values = methods.METHODS[name](world.X, world.y, 0)
    assert p_values[world.roles == "signal"].max() < 0.05
    assert np.median(p_values[world.roles == "noise"]) > 0.15


@pytest.mark.slow
def test_quick_run_writes_files_and_leaves_the_page_alone(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(limits, "show", lambda folder, *, quick: shown.append((folder, quick)))  # see test_limits.py
    assert command.main(["--quick", "--output", str(tmp_path)]) == 0
    assert shown == [(tmp_path, True)]
    assert [row["method"] for row in read_rows(tmp_path / "tests.csv")] == list(methods.METHODS)
    assert all(float(row["seconds"]) > 0 for row in read_rows(tmp_path / "speed.csv"))
    assert not (tmp_path / "page.md").exists()


def test_page_has_the_tables_of_the_results():
    text, tables = page.PAGE.read_text(encoding="utf-8"), page.make_tables(RESULTS / "inference")
    assert list_tables(text, page.COMMAND) == list(tables)
    assert fill(text, page.COMMAND, tables) == text


def test_tables_are_made_of_what_was_measured(tmp_path):
    rest = ["10", "1.0", "5", "80.0", "2.0", ""]
    ours = [
        ["linear", "classes", effect, "infer_features", "3", "60", size, *rest[1:]]
        for effect, size in (("0", "4.0"), ("1", "6.0"))
    ]
    ours[0][8:10] = ["0", ""]
    other = [["linear", "classes", "1", method, "3", "60", "9.0", *rest[1:]] for method in list(methods.METHODS)[1:]]
    write_rows(tmp_path / "tests.csv", COLUMNS, [*ours, *other])
    size = page.tabulate_size(tmp_path).splitlines()
    assert size[2:] == [
        "| linear | classes | 0 | 4.0 |  |  |",
        "| linear | classes | 1 | 6.0 | 9.0 | 9.0 |",
        "| mean |  |  | 5.0 | 9.0 | 9.0 |",
    ]
    assert page.tabulate_power(tmp_path).splitlines()[2:] == [
        "| linear | classes | 1 | 80.0 | 80.0 | 80.0 |  |",
        "| mean |  |  | 80.0 | 80.0 | 80.0 |  |",
    ]
