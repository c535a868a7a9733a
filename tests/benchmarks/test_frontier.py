"""Scores by budgets are those of models that a fit within the budget would give, and cells are counted as said."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.results import read_rows
from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.contestants.clock import StageClock, Times
from benchmarks.data.collection import COLLECTION, load_split
from benchmarks.data.words import TARGETS
from benchmarks.frontier import __main__ as command
from benchmarks.frontier import fits
from benchmarks.frontier.cells import Shares, collect_curves, compare_cells, share_cells
from benchmarks.frontier.fits import RUNNERS, find_cuts, score_budgets
from benchmarks.frontier.picture import STYLES, draw_curves, draw_map
from tests.support.benchmarks import needs

pytestmark = pytest.mark.slow


@pytest.fixture
def clock():
    """A fit whose trees came at 1, 2 and 4 seconds, and whose model would keep 1, 2 and 2 of them."""
    clock = StageClock(range(1, 10), cap=100.0)
    clock.reached = {n: Times(9.0, float(seconds)) for n, seconds in {1: 1, 2: 2, 3: 4}.items()}
    clock.kept = {1: 1, 2: 2, 3: 2}
    return clock


def test_cuts_are_what_the_last_tree_within_the_budget_would_keep(clock):
    assert find_cuts(clock, [0.5, 1.0, 1.9, 2.0, 4.0, 99.0]) == [0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("name", [name for name, runner in RUNNERS.items() if not runner.is_ours])
def test_others_score_at_the_cut_as_a_plain_fit_of_so_many_trees(name, monkeypatch):
    runner = RUNNERS[name]
    contestant = CONTESTANTS[runner.contestant]
    if not contestant.is_installed:
        pytest.skip(f"{contestant.package} is not installed")
    split_set = _make_digits()
    monkeypatch.setattr(fits, "MAX_TREES", 6)
    monkeypatch.setattr(fits, "find_cuts", lambda clock, budgets: [0, 2, len(clock.kept)])
    scores = score_budgets(runner, split_set, 0, [0.1, 1.0, 60.0])
    assert math.isnan(scores[0])
    for n_trees, score in zip((2, 6), scores[1:], strict=True):
        entry = contestant.enter(split_set, Plan(n_trees), learning_rate=runner.learning_rate)
        plain = entry.model.fit(entry.X_train, split_set.y_train)
        assert score == pytest.approx(100 * plain.score(entry.X_test, split_set.y_test))


@pytest.mark.parametrize("name", ["MPBoost", "MPGradientBoosting"])
def test_ours_ends_with_the_score_of_its_whole_fit(name):
    split_set = _make_digits()
    plain = CONTESTANTS[name].enter(split_set, Plan(None)).model.fit(split_set.X_train, split_set.y_train)
    scores = score_budgets(RUNNERS[name], split_set, 0, [1e-9, 60.0, 61.0])
    assert math.isnan(scores[0])
    assert scores[1] == scores[2] == pytest.approx(100 * plain.score(split_set.X_test, split_set.y_test))


def test_a_clock_is_told_what_ours_would_keep():
    split_set, contestant = _make_digits(), CONTESTANTS["MPBoost"]
    clock = StageClock(range(1, 1000), cap=60.0)
    model = contestant.watch(contestant.enter(split_set, Plan(None)), split_set.y_train, clock)
    assert len(clock.kept) == model.n_iter_
    assert clock.kept[model.n_iter_] == model.best_iteration_ < model.n_iter_
    assert all(kept <= n for n, kept in clock.kept.items())


def test_leads_compare_the_best_of_both_sides():
    nan = math.nan
    curves = {
        "MPBoost": [nan, nan, 90.0, 91.0],
        "MPGradientBoosting": [nan, 80.0, 89.0, 92.0],
        "LightGBM, 0.1": [nan, nan, 90.1, 91.0],
        "XGBoost, 0.3": [nan, nan, 90.5, nan],
    }
    leads = compare_cells(curves)
    assert math.isnan(leads[0])
    assert leads[1] == math.inf
    assert leads[2:] == pytest.approx([-0.5, 1.0])
    assert compare_cells(curves, ["MPBoost"])[2:] == pytest.approx([-0.5, 0.0])


def test_shares_leave_out_cells_without_any_score():
    assert share_cells([math.nan, math.inf, 0.0, -0.1, -0.3]) == Shares(0.5, 0.75, 4)
    assert share_cells([math.nan]).n_cells == 0


def test_curves_are_means_over_seeds():
    rows = [
        {"set": "a", "contestant": "MPBoost", "seed": seed, "budget": budget, "score": score}
        for seed, budget, score in [("0", "0.1", "nan"), ("1", "0.1", "80.0"), ("0", "1.0", "90.0"), ("1", "1.0", "92")]
    ]
    (scores,) = collect_curves(rows, [0.1, 1.0])["a"].values()
    assert math.isnan(scores[0])
    assert scores[1] == 91.0


def test_pictures_have_a_look_for_each_runner():
    assert STYLES.keys() == RUNNERS.keys()
    curves = {name: {"MPBoost": [math.nan, 80.0], "XGBoost, 0.1": [math.nan, 79.0]} for name in ("a", "b")}
    assert [panel.get_title() for panel in draw_curves(curves, [0.1, 1.0]).axes[:2]] == ["a", "b"]
    assert "+1.0" in [text.get_text() for text in draw_map(curves, [0.1, 1.0]).axes[0].texts]


@needs("colon.npz")
@needs("cpu_act.npz")
def test_frontier_quick_goes_on_where_it_stood(tmp_path, capsys, monkeypatch):
    arguments = ["--quick", "--only", "colon", "cpu act", "--output", str(tmp_path)]
    arguments += ["--contestants", "MPBoost", "MPGradientBoosting"]
    assert command.main(arguments) == 0
    assert "nothing to compare" in capsys.readouterr().out
    rows = read_rows(tmp_path / "curves.csv")
    assert len(rows) == 2 * 2 * len(command.QUICK_BUDGETS)

    monkeypatch.setattr(command, "run_set", pytest.fail)
    assert command.main(arguments) == 0
    # Another contestant is all that is missing; what is known stays.
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(command, "run_set", _pretend)
    assert command.main([*arguments, "LightGBM, 0.1"]) == 0
    printed = capsys.readouterr().out
    assert "cpu act: ours leads in" in printed
    assert {path.name for path in tmp_path.glob("*.png")} == {"curves.png", "map.png"}
    (first, *_) = read_rows(tmp_path / "shares.csv")
    assert first["seconds"] == "all"


@needs("words/telco_churn.csv.gz")
@pytest.mark.parametrize("name", TARGETS)
def test_tables_of_words_are_split_with_their_categories(name):
    split_set = load_split(name, 0, n_rows=300)
    assert len(split_set.y_train) == 300
    assert split_set.is_regression == (name == "melbourne_houses")
    assert split_set.categorical
    codes = split_set.X_train[:, split_set.categorical[0]]
    assert np.array_equal(codes, np.round(codes), equal_nan=True)


def test_collection_has_no_set_twice():
    assert len(set(COLLECTION)) == len(COLLECTION) >= 42


def _pretend(task, n_seeds, n_rows, budgets):
    name, runners = task
    assert runners == ("LightGBM, 0.1",)
    return [
        {"set": name, "seed": 0, "contestant": runner, "budget": budget, "score": 50.0}
        for runner in runners
        for budget in budgets
    ]


def _make_digits():
    from sklearn.datasets import load_digits

    from benchmarks.data.split_set import SplitSet

    X, y = load_digits(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.1, 1 - y, y)  # noise, or the first tree would be perfect
    return SplitSet("digits", X[:250], y[:250], X[250:], y[250:])
