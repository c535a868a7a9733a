"""The paper's tables: what is fitted, kept, chosen and written."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.contestants import CONTESTANTS, OTHERS, Grid
from benchmarks.contestants.clock import StageClock, would_go_on
from benchmarks.data.sets import PAPER_SETS
from benchmarks.data.split_set import SplitSet
from benchmarks.paper import page, runs
from benchmarks.paper.__main__ import main
from benchmarks.paper.choices import Member, choose, find_fastest, find_winner, rank
from benchmarks.paper.config import PAPER_CONFIG, Config, ConfigError, SetPlan, pick_sets, read_config
from benchmarks.paper.ledger import Fit, Ledger
from benchmarks.paper.summary import Summary, is_tied, summarise_set
from benchmarks.paper.tables import find_leaders, measure_speed, read_published, tabulate_fixed_time

pytestmark = pytest.mark.slow

STAGES = (1, 2, 5)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 8))
    X, y = X[kept].astype(np.float32), (y[kept] == 8).astype(int)
    y[::10] = 1 - y[::10]  # so that nobody is always right
    return SplitSet("digits", X[:250], y[:250], X[250:], y[250:])


def make_fit(contestant="LightGBM", accuracy=90.0, cpu_seconds=1.0, **others):
    values = {"set": "digits", "phase": "grid", "version": "1", "settings": "{}", "n_trees": 10, "seed": 0}
    return Fit(
        **values | {"wall_seconds": cpu_seconds} | others,
        contestant=contestant,
        accuracy=accuracy,
        cpu_seconds=cpu_seconds,
    )


@pytest.mark.parametrize("name", OTHERS)
def test_climb_predicts_like_plain_fits_of_so_many_trees(name, digits):
    contestant = CONTESTANTS[name]
    if not contestant.is_installed:
        pytest.skip(f"{contestant.package} is not installed")
    settings = {"depth": 3, "learning_rate": 0.3}
    clock = StageClock(STAGES, cap=60.0)
    with threadpool_limits(1):
        climbed = dict(contestant.climb(settings, digits, 0, clock))
        plain = {n: contestant.make_member(settings, n, 0).fit(digits.X_train, digits.y_train) for n in STAGES}
    assert list(climbed) == list(STAGES)
    for n_trees, labels in climbed.items():
        np.testing.assert_array_equal(np.ravel(labels), np.ravel(plain[n_trees].predict(digits.X_test)))
    times = [clock.reached[n_trees].cpu for n_trees in STAGES]
    assert times[0] > 0
    assert name == "HistGradientBoosting" or times == sorted(times)


@pytest.mark.parametrize("name", OTHERS)
def test_climb_ends_when_its_time_is_up(name, digits):
    contestant = CONTESTANTS[name]
    if not contestant.is_installed:
        pytest.skip(f"{contestant.package} is not installed")
    clock = StageClock((1, 400), cap=0.0)
    with threadpool_limits(1):
        n_trees, _ = list(contestant.climb({"depth": 3, "learning_rate": 0.3}, digits, 0, clock))[-1]
    assert n_trees <= 2
    assert clock.verdict == "capped at 0"
    assert would_go_on(clock.verdict, 1.0)
    assert not would_go_on(clock.verdict, 0.0)


def test_climb_notes_where_a_fit_ends_by_itself(digits):
    clock = StageClock((2, 5), cap=60.0)
    assert [n for n, _ in CONTESTANTS["AdaBoost"].climb({"depth": None}, digits, 0, clock)] == [
        1
    ]  # a tree without errors
    assert clock.verdict == "complete"
    assert not would_go_on(clock.verdict, 1e9)


@pytest.fixture
def small_run(tmp_path, monkeypatch, digits):
    monkeypatch.setattr(
        runs,
        "load_set",
        lambda name: {"X": np.r_[digits.X_train, digits.X_test], "y": np.r_[digits.y_train, digits.y_test]},
    )
    plan = SetPlan("digits", Grid(depths=(3,), learning_rates=(0.3,), stages=STAGES), 5.0, 1)
    config = Config(
        contestants=("PAPER", "PAPER, long", "MPBoost", "RandomForest", "AdaBoost"),
        seeds=(0, 1),
        sets=(plan,),
        paper_grid=Grid(depths=(None,), max_samples=(50, 100), max_features=(8, 65), momenta=(0.5,)),
        n_finalists=2,
        n_long=1,
        long_run=30,
        results=tmp_path,
    )

    def run(config=config):
        done = []

        def do(tasks):
            for description, task in tasks:
                done.append(description)
                task()

        set_run = runs.SetRun(config, plan, do)
        set_run.run_grids()
        set_run.run_finals()
        return Counter(description.removeprefix("digits: ") for description in done), set_run.ledger

    return run, config


@pytest.mark.slow
def test_set_run_fits_grids_then_finalists_then_finals(small_run):
    done, ledger = small_run[0]()
    # Two members of the paper's grid have no more features than the table; each meets three more weightings.
    assert done["grid, PAPER"] == 2 + 2 * 3
    assert done["finalist, PAPER"] == done["final, PAPER"] + 2 == 4
    assert done["finalist, PAPER, long"] == done["finalist, MPBoost"] == 2
    assert done["grid, RandomForest"] == 1
    assert [fit.n_trees for fit in ledger.find("grid", "RandomForest")] == list(STAGES)
    assert {fit.seed for fit in ledger.find("final")} == {0, 1}
    result = summarise_set("digits", ledger, 1)
    assert 80 < result.best("PAPER").accuracy <= 100
    assert "| digits |" in tabulate_fixed_time([result], "MPBoost")


@pytest.mark.slow
def test_set_run_goes_on_where_it_was_interrupted(small_run):
    run, config = small_run
    _, ledger = run()
    lines = ledger.path.read_text().splitlines(keepends=True)
    assert run()[0].total() == 0
    ledger.path.write_text("".join(lines[:-2]))
    assert run()[0].total() == 2
    assert sorted(ledger.path.read_text().splitlines()[0].split(",")) == sorted(lines[0].strip().split(","))
    assert run(replace(config, seeds=(0, 1, 2)))[0].total() > 0


def test_set_run_leaves_the_grid_of_the_paper_when_a_member_is_always_right(small_run):
    run, config = small_run
    Ledger(config.results / "digits.csv").add([make_fit("PAPER", 100.0, settings='{"L": "logistic"}')])
    changed = replace(config, contestants=("PAPER",), n_finalists=0, n_long=0)
    _, ledger = run(changed)
    assert len(ledger.find("grid")) == 1


def test_ledger_reads_what_it_wrote(tmp_path):
    fits = [make_fit(ended="complete", settings='{"depth": 3, "L": "a, b"}'), make_fit(accuracy=1 / 3)]
    Ledger(tmp_path / "new" / "fits.csv").add(fits)
    assert Ledger(tmp_path / "new" / "fits.csv").fits == fits


def test_rank_takes_the_most_accurate_within_the_limit_and_then_the_fastest():
    fits = [make_fit(n_trees=1, accuracy=80, cpu_seconds=1), make_fit(n_trees=2, accuracy=90, cpu_seconds=2)]
    fits += [make_fit(n_trees=3, accuracy=90, cpu_seconds=3), make_fit(n_trees=4, accuracy=95, cpu_seconds=4)]
    assert [member.n_trees for member in rank(fits, 3.0)] == [2, 3, 1]


def test_find_fastest_gives_one_of_each_contestant():
    slow = [make_fit(accuracy=95, cpu_seconds=3), make_fit(accuracy=96, cpu_seconds=4)]
    fast = [make_fit("XGBoost", 95, 2), make_fit("XGBoost", 94, 1)]
    assert [member.contestant for member in find_fastest([slow, fast, [make_fit(accuracy=1)]], 95)] == [
        "XGBoost",
        "LightGBM",
    ]


def test_find_winner_goes_by_the_mean_of_all_seeds():
    lucky = [make_fit("PAPER", accuracy, seed=seed, n_trees=1) for seed, accuracy in enumerate((99, 80))]
    steady = [make_fit("PAPER", accuracy, seed=seed, n_trees=2) for seed, accuracy in enumerate((92, 93))]
    assert find_winner(lucky + steady) == steady


def test_choose_limits_others_to_the_time_of_ours(tmp_path):
    ledger = Ledger(tmp_path / "fits.csv")
    ledger.add([make_fit(n_trees=n, accuracy=80 + n, cpu_seconds=n) for n in (1, 2, 5)])
    ledger.add([make_fit("MPBoost", 84, 3, phase="finalist", n_trees=0)])
    choices = choose(ledger, 1)
    assert choices.within["MPBoost", "LightGBM"] == [Member("LightGBM", "{}", 2)]
    assert choices.best["LightGBM"] == choices.fastest["MPBoost"] == [Member("LightGBM", "{}", 5)]
    assert choices.within["MPBoost", "XGBoost"] == []


@pytest.mark.parametrize(
    ("ours", "other", "tied"),
    [
        ((90, 92), (90, 92), True),
        ((90, 92), (91, 91.5), True),
        ((90, 92), (90.5, 92.4), False),
        ((90, 92), (80, 80), True),
    ],
)
def test_is_tied_compares_seed_by_seed(ours, other, tied):
    assert is_tied(Summary(ours, (1, 1)), Summary(other, (1, 1))) is tied


def test_tables_tell_who_leads_and_by_what(tmp_path):
    ledger = Ledger(tmp_path / "fits.csv")
    ledger.add([make_fit(n_trees=n, accuracy=80 + n, cpu_seconds=n) for n in (1, 2, 6)])
    ledger.add([make_fit("MPBoost", 84, 3, phase=phase, n_trees=0) for phase in ("finalist", "final")])
    finals = [
        make_fit(n_trees=n, accuracy=accuracy, cpu_seconds=n, phase="final") for n, accuracy in ((2, 85), (6, 83.5))
    ]
    ledger.add(finals)
    result = summarise_set("digits", ledger, 1)
    assert find_leaders(result) == {"MPBoost": "-1.00"}  # by what the finals say, not the grid
    assert measure_speed(result, "MPBoost") == ("LightGBM", "2.00", 2 / 3)
    slower = summarise_set("digits", replace_fits(ledger, [fit for fit in ledger.fits if fit != finals[0]]), 1)
    assert find_leaders(slower) == {"MPBoost": "best"}
    assert measure_speed(slower, "MPBoost") == ("none", "> 6.00", 2.0)


def replace_fits(ledger, fits):
    ledger.fits = fits
    return ledger


def test_published_numbers_are_whole_and_agree_in_both_tables():
    published = read_published()
    tables, rows, methods = ({key[part] for key in published} for part in range(3))
    assert published.keys() == {*product(tables, rows, methods)}
    assert rows <= {row for row, paper_set in PAPER_SETS.items() if paper_set.is_complete}
    for (table, row, method), numbers in published.items():
        assert 50 < numbers.accuracy <= 100
        if table == 3:
            assert numbers.seconds > 0
            if method == "MP-Boost":  # its best, which both tables have
                assert numbers.accuracy == published[2, row, method].accuracy


def test_members_of_the_paper_are_all_of_its_grid():
    grid = read_config(PAPER_CONFIG).paper_grid
    members = [tuple(member.values()) for member in CONTESTANTS["PAPER"].list_members(grid)]
    combinations = product(grid.depths, grid.max_samples, grid.max_features, grid.momenta, ["logistic"])
    assert sorted(members, key=str) == sorted(combinations, key=str)
    assert None in grid.depths  # which TOML cannot say


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contestants = [", "Cannot read"),
        ("seeds = [0]", "lacks the entry 'contestants'"),
        ('contestants = ["Perceptron"]', "unknown contestants: Perceptron"),
    ],
)
def test_config_that_cannot_be_run_is_a_clear_error(tmp_path, text, message, capsys):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_config(path)
    assert main(["--config", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_pick_sets_names_what_there_is():
    with pytest.raises(ConfigError, match=r"Unknown sets: mist\. There are: .*MNIST 3 vs 8"):
        pick_sets(read_config(PAPER_CONFIG), ["mist"])


def test_main_skips_by_name_what_cannot_be_had(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path))
    assert main(["--only", "volkert, lower half", "higgs, all rows", "--results", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "skipped: volkert, lower half. There is no" in printed
    assert "skipped: higgs, all rows. There is no" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_page_says_what_the_results_say():
    assert page.write_page(read_config(PAPER_CONFIG)) == page.PAGE.read_text(encoding="utf-8")


def test_describe_standing_counts_the_best_and_names_the_others(tmp_path):
    def make_result(name, accuracies):
        ledger = Ledger(tmp_path / f"{name}.csv")
        ledger.add([make_fit("MPBoost", 90, 3, phase="finalist", n_trees=0), make_fit(cpu_seconds=2)])
        for seed, accuracy in enumerate(accuracies):
            ledger.add([make_fit("MPBoost", 90, 3, phase="final", n_trees=0, seed=seed)])
            ledger.add([make_fit(accuracy=accuracy, phase="final", seed=seed)])
        return replace(summarise_set("digits", ledger, 1), name=name)

    results = [make_result("A", (89, 90)), make_result("B", (90.5, 89.9)), make_result("C", (90.5, 90.5))]
    assert page.describe_standing(results) == (
        "One of ours is best on 1 of 3 sets against all 7 peers, and tied on B; none is on C."
    )
