"""The clean run measures what it says, goes on where it stood, and the pages say what its files say."""

import json
import math
import re
import time
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.clean import __main__ as command
from benchmarks.clean import fits, page, record, summary
from benchmarks.clean.fits import FIGURES, Task, choose_held_out, interrupt_after, judge, run_fit, run_row
from benchmarks.clean.modes import DEFAULTS, EARLY, ENTRANTS, EQUAL, MODES
from benchmarks.clean.picture import COLOURS, draw_sets, find_frontier
from benchmarks.clean.plan import EXPECTED, Forecast, list_tasks
from benchmarks.clean.record import CHANGED, MixedRunError, check_mix
from benchmarks.clean.summary import Cell, collect_cells, compute_standings, estimate, rank
from benchmarks.contestants import CONTESTANTS, Plan, find_installed
from benchmarks.data.collection import COLLECTION
from benchmarks.data.split_set import SplitSet
from tests.support.benchmarks import needs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made_up():
    """Three classes that three columns tell apart, with noise."""
    rng = np.random.default_rng(0)
    X = rng.random((900, 6))
    y = X[:, :3].argmax(axis=1)
    y = np.where(rng.random(900) < 0.2, rng.integers(3, size=900), y)
    return SplitSet("made up", X[:600], y[:600], X[600:], y[600:])


def make_rows(scores, seconds=None, **more):
    """Make the lines of a run: scores by set and contestant, default fits of one seed."""
    return [
        dict.fromkeys(FIGURES, "nan")
        | {"set": name, "seed": "0", "mode": DEFAULTS, "contestant": contestant, "score": str(score)}
        | {"seconds": str((seconds or {}).get(contestant, 1.0)), "wall_seconds": "1.0", "predict_seconds": "1.0"}
        | {"stopped": "", "commit": "c" * 40, **more}
        for name, found in scores.items()
        for contestant, score in found.items()
    ]


@pytest.mark.parametrize("mode", MODES)
def test_fits_of_every_mode_learn_and_are_judged(mode, made_up):
    for name in find_installed(MODES[mode]):
        found = run_fit(name, mode, made_up, 0, cap=30.0 if mode != EQUAL else 0.3)
        assert found.keys() == set(FIGURES)
        assert 55 < found["score"] < 90, name
        assert 0.4 < found["log_loss"] < 3.0
        assert 0.7 < found["auc"] < 1.0
        assert found["stopped"] == ""


def test_a_fit_without_a_clock_is_interrupted_and_judged_by_the_trees_that_it_has(made_up):
    contestant = CONTESTANTS["HistGradientBoosting"]
    entry = contestant.enter(made_up, Plan(100_000))
    model, is_cut = fits.fit_within(contestant, entry, made_up.y_train, cap=0.5)
    assert is_cut
    assert all(len(trees) == 3 for trees in model._predictors)
    assert judge(model, entry.X_test, made_up)["score"] > 55
    forest = CONTESTANTS["RandomForest"]
    entry = forest.enter(made_up, Plan(100_000))
    assert fits.fit_within(forest, entry, made_up.y_train, cap=0.2) == (None, True)


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        math.factorial(50)


def test_an_interrupt_is_taken_back():
    with pytest.raises(fits.TimeIsUpError), interrupt_after(0.02):
        spin(0.1)
    with interrupt_after(0.05):
        pass
    spin(0.1)


def test_an_interrupt_gets_through_code_that_translates_or_drops_errors():
    def translate():
        try:
            spin(10.0)
        except fits.TimeIsUpError as error:
            raise ValueError("not a valid format") from error

    def drop():
        with suppress(fits.TimeIsUpError):
            spin(10.0)
        spin(10.0)

    for work in translate, drop:
        with pytest.raises(fits.TimeIsUpError), interrupt_after(0.02):
            work()
    with pytest.raises(ValueError, match="its own"), interrupt_after(10.0):
        raise ValueError("its own")


@pytest.mark.parametrize("name", ["LightGBM", "XGBoost", "CatBoost"])
def test_a_watched_fit_ends_at_its_cap_and_is_marked(name, made_up):
    if not CONTESTANTS[name].is_installed:
        pytest.skip(f"{name} is not installed")
    fits.warm_up(name, EARLY)
    found = run_fit(name, EARLY, made_up, 0, cap=0.01)
    assert found["stopped"] == "0.01"
    assert found["score"] > 40
    assert found["seconds"] < 5


@pytest.mark.parametrize("name", MODES[EARLY])
def test_early_stopping_stops_before_all_trees(name, made_up):
    contestant = CONTESTANTS[name]
    if not contestant.is_installed:
        pytest.skip(f"{name} is not installed")
    entry = contestant.enter(made_up, Plan(fits.MAX_TREES))
    held_out = choose_held_out(made_up.y_train, 0, is_regression=False)
    entry, y = contestant.stop_early(entry, made_up.y_train, held_out, patience=5)
    assert len(y) == len(entry.X_train) == 540
    model = entry.model.fit(entry.X_train, y, **entry.fit_arguments)
    n_trees = {"LightGBM": "best_iteration_", "XGBoost": "best_iteration", "CatBoost": "best_iteration_"}
    assert getattr(model, n_trees.get(name, "n_iter_")) < 300


def test_held_out_rows_leave_something_of_each_class():
    y = np.array([0] * 50 + [1] * 49 + [2])
    for seed in range(30):
        held_out = choose_held_out(y, seed, is_regression=False)
        assert 9 <= held_out.sum() <= 10
        assert not held_out[-1]
    assert choose_held_out(np.linspace(0, 1, 40), 0, is_regression=True).sum() == 4


def test_classes_without_training_rows_are_wrong_and_have_no_area():
    split_set = SplitSet("few", np.eye(4), np.array(["b", "b", "d", "d"]), np.eye(5)[:, :4], np.array(list("abcde")))
    encoded = split_set.encode()
    assert encoded.y_train.tolist() == [0, 0, 1, 1]
    assert encoded.y_test.tolist() == [-1, 0, -1, 1, -1]

    class Model:
        def predict(self, X):
            return np.zeros(len(X))

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    figures = judge(Model(), encoded.X_test, encoded)
    assert figures["score"] == 20.0
    assert figures["log_loss"] == pytest.approx(math.log(2))
    assert figures["auc"] == 0.5
    encoded.y_test[3] = 0
    assert "auc" not in judge(Model(), encoded.X_test, encoded)


@needs("vehicle.npz")
def test_rows_take_turns_and_others_get_the_time_of_ours(monkeypatch):
    calls = []

    def pretend(name, mode, split_set, seed, cap):
        calls.append((name, mode, cap))
        return dict.fromkeys(FIGURES, 0.0) | {"seconds": 7.5 if name == "MPGradientBoosting" else 1.0}

    monkeypatch.setattr(fits, "run_fit", pretend)
    monkeypatch.setattr(fits, "warm_up", lambda name, mode: None)
    monkeypatch.setattr(fits, "find_installed", list)
    lines = run_row(Task("vehicle", 1), limit=60.0)
    assert [line["contestant"] for line in lines[:7]] == [*MODES[DEFAULTS][1:], MODES[DEFAULTS][0]]
    assert {cap for _, mode, cap in calls if mode != EQUAL} == {60.0}
    assert {cap for _, mode, cap in calls if mode == EQUAL} == {7.5}
    assert run_row(Task("vehicle", 0, last_start=time.time() - 1.0), limit=60.0) == []


def test_small_sets_come_first_and_all_first_seeds_before_the_second():
    assert EXPECTED.keys() == set(COLLECTION)
    tasks = list_tasks(["MNIST", "vehicle"], 2, {("vehicle", 0)}, minutes=10.0)
    assert [(task.set_name, task.seed) for task in tasks] == [("MNIST", 0), ("vehicle", 1), ("MNIST", 1)]
    assert tasks[1].last_start - tasks[0].last_start == pytest.approx(EXPECTED["MNIST"] - EXPECTED["vehicle"])


def test_forecast_expects_of_the_rest_what_was_seen(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("benchmarks.clean.plan.time.time", lambda: now[0])
    tasks = list_tasks(["vehicle", "MNIST"], 1, set(), minutes=math.inf)
    forecast = Forecast(tasks, 1, minutes=math.inf)
    now[0] += 2 * EXPECTED["vehicle"]
    forecast.note(tasks[0], was_run=True)
    assert f"about {math.ceil(2 * EXPECTED['MNIST'] / 60)} min left" in str(forecast)


@needs("vehicle.npz")
@needs("colon.npz")
def test_a_run_goes_on_where_it_stood_and_mixes_only_if_told(tmp_path, monkeypatch, capsys):
    arguments = ["--quick", "--only", "vehicle", "colon", "--seeds", "1", "--output", str(tmp_path)]
    calls = []

    def pretend(task, limit, n_rows):
        calls.append(task.set_name)
        if task.set_name == "colon" and calls.count("colon") == 1:
            return [], "broken"
        figures = dict.fromkeys(FIGURES, 0.5) | {"stopped": ""}
        return [
            {"set": task.set_name, "seed": task.seed, "mode": mode, "contestant": name, **figures}
            for mode, names in MODES.items()
            for name in find_installed(names)
        ], ""

    monkeypatch.setattr(command, "try_row", pretend)
    monkeypatch.setattr(record, "differs_from", lambda commit: False)
    assert command.main(arguments) == 1
    assert "tries them again: colon, seed 0" in capsys.readouterr().err
    # A line that is missing is a row that was not written to its end.
    path = tmp_path / summary.FILE
    path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    assert command.main(arguments) == 0
    assert calls == ["vehicle", "colon", "vehicle", "colon"]
    assert command.main(arguments) == 0
    assert len(calls) == 4
    parts = json.loads((tmp_path / summary.RECORD).read_text(encoding="utf-8"))["parts"]
    assert [part["rows"] for part in parts] == [1, 2]
    assert {"commit", "versions", "processor", "load_average", "workers", "limit_seconds"} <= parts[0].keys()
    assert "| vehicle | 1 |" in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert (tmp_path / "images" / "benchmarks.png").stat().st_size > 5000

    monkeypatch.setattr(record, "differs_from", lambda commit: commit != "HEAD")
    assert command.main(arguments) == 2
    assert "not that of" in capsys.readouterr().err
    assert command.main([*arguments, "--mix"]) == 0
    assert command.main([*arguments, "--fresh"]) == 0
    assert len(calls) == 6


@needs("vehicle.npz")
def test_an_interrupted_run_says_how_it_goes_on(tmp_path, monkeypatch, capsys):
    def interrupt(task, limit, n_rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "try_row", interrupt)
    assert command.main(["--quick", "--only", "vehicle", "--mix", "--output", str(tmp_path)]) == 0
    assert "Interrupted; the same command goes on" in capsys.readouterr().out
    assert page.NOT_RUN in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")


def test_columns_of_too_many_categories_are_numbers_for_the_histogram_booster():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(300), rng.integers(3, size=300)]).astype(float)
    split_set = SplitSet("words", X, X[:, 1] > 0, X, X[:, 1] > 0, categorical=(0, 1))
    entry = CONTESTANTS["HistGradientBoosting"].enter(split_set, Plan(5))
    assert entry.model.categorical_features == [1]
    assert entry.model.fit(entry.X_train, split_set.y_train).score(entry.X_test, split_set.y_test) == 1.0


def test_a_run_is_not_mixed_with_changes_or_other_libraries(monkeypatch):
    part = {"commit": "abc", "versions": {"a": "1"}, "processor": "p", "workers": 2, "limit_seconds": 60.0}
    monkeypatch.setattr(record, "differs_from", lambda commit: False)
    check_mix([part], part)
    with pytest.raises(MixedRunError, match="not committed"):
        check_mix([], part | {"commit": f"abc{CHANGED}"})
    with pytest.raises(MixedRunError, match="versions"):
        check_mix([part], part | {"versions": {"a": "2"}})


def test_ranks_share_places_and_the_last_has_no_model():
    assert rank(np.array([[3.0, 1.0, 3.0, -np.inf]])).tolist() == [[1.5, 3.0, 1.5, 4.0]]


def test_standings_compare_all_sets():
    scores = {
        "a": {"MPGradientBoosting": 90.0, "LightGBM": 89.8, "RandomForest": 80.0},
        "b": {"MPGradientBoosting": 70.0, "LightGBM": 71.0, "RandomForest": math.nan},
    }
    cells = collect_cells(make_rows(scores, {"MPGradientBoosting": 3.0, "LightGBM": 2.0}))
    standings = compute_standings(cells, DEFAULTS)
    assert {name: one.rank.value for name, one in standings.items()} == {
        "MPGradientBoosting": 1.5,
        "LightGBM": 1.5,
        "RandomForest": 3.0,
    }
    assert [one.near.value for one in standings.values()] == [50.0, 100.0, 0.0]
    assert [one.ratio.value for one in standings.values()] == [1.5, 1.0, 0.5]
    assert math.isnan(standings["LightGBM"].rank_auc.value)


def test_intervals_are_those_of_a_mean_over_many_sets():
    values = np.random.default_rng(1).normal(5.0, 1.0, size=(400, 1))
    (found,) = estimate(values, np.mean)
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_losses_name_the_winner_and_come_worst_first():
    scores = {
        "a": {"MPGradientBoosting": 90.0, "LightGBM": 90.2},
        "b": {"MPGradientBoosting": 90.0, "LightGBM": 91.0},
        "c": {"MPGradientBoosting": 90.0, "LightGBM": 95.0},
    }
    text = page.tabulate_losses(collect_cells(make_rows(scores)))
    assert "on 2 of 3 sets" in text
    assert re.findall(r"\| (\w) \| ([\d.]+ \(\w+\))", text) == [("c", "5.00 (LightGBM)"), ("b", "1.00 (LightGBM)")]


def test_a_mixed_run_names_all_its_commits():
    rows = make_rows({"a": {"LightGBM": 1.0}}) + make_rows({"b": {"LightGBM": 1.0}}, commit=f"{'d' * 40}{CHANGED}")
    assert page.name_commits(rows[:1]) == "commit `cccccccccc`"
    assert page.name_commits(rows) == "commits `cccccccccc`, `dddddddddd with changes`"


def test_frontier_has_who_is_faster_or_better():
    def at(seconds, score):
        return Cell(score, 0.5, 0.5, seconds, 0.1, 1.0, 1.0, 0)

    fast, good, slow, equal = at(1.0, 80.0), at(2.0, 90.0), at(3.0, 85.0), at(4.0, 90.0)
    assert find_frontier([slow, good, equal, fast]) == [fast, good]


def test_picture_has_a_panel_for_each_set_and_a_colour_for_each_contestant():
    assert set(MODES[DEFAULTS]) == COLOURS.keys()
    cells = collect_cells(make_rows({name: dict.fromkeys(MODES[DEFAULTS], 50.0) for name in ("a", "b")}))
    assert [panel.get_title() for panel in draw_sets(cells).axes[:2]] == ["a", "b"]


def test_ours_are_compared_in_all_modes_with_their_default_fits():
    assert ENTRANTS[EARLY]["MPBoost"] == ENTRANTS[EQUAL]["MPGradientBoosting"] == DEFAULTS
    assert ENTRANTS[EQUAL]["LightGBM"] == EQUAL


@pytest.mark.parametrize("path", page.PAGES, ids=lambda path: path.name)
def test_pages_say_what_the_results_say(path):
    text = path.read_text(encoding="utf-8")
    assert set(page.list_blocks(text)) == set(page.PAGES[path])
    assert page.fill(text, page.write_blocks(page.PUBLISHED)) == text


def test_the_page_has_no_other_numbers_than_those_of_the_protocol():
    (path, _) = page.PAGES
    numbers = re.findall(r"\d[\d.]*\d|\d", page.remove_blocks(path.read_text(encoding="utf-8")))
    protocol = [100 * fits.HOLD_OUT, fits.MAX_TREES, fits.PATIENCE, summary.NEAR, 100 * summary.CONFIDENCE]
    # The defaults of other libraries, in trees; the best rank; the factor of R².
    assert {float(number) for number in numbers} <= {*map(float, protocol), 100.0, 1000.0, 1.0}
