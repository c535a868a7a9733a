"""The measurements of gradient boosting run on made-up data, and judge what they say that they judge."""

import json

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.contestants import Plan, find_installed, measuring
from benchmarks.contestants.measuring import FitMemory, Outcome, measure
from benchmarks.data.sets import CATEGORICAL
from benchmarks.data.split_set import SplitSet
from benchmarks.gradient import __main__ as gradient
from benchmarks.gradient.accuracy import count_wins, find_lead
from benchmarks.gradient.profile import EngineClock, find_parts, profile_fit
from benchmarks.gradient.speed import Race
from mpboost import _native
from tests.support.benchmarks import read_table

pytestmark = pytest.mark.slow

needs_lightgbm = pytest.mark.skipif(not find_installed(["LightGBM"]), reason="LightGBM is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with sets of the same form as real ones, as far as tables of those forms are learned from."""
    rng = np.random.default_rng(0)
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path))
    monkeypatch.setattr("benchmarks.data.files.CHECKSUMS", {})

    X = rng.random((600, 5))
    np.savez(tmp_path / "magic.npz", X=X, y=(X[:, 0] + X[:, 1] > 1).astype(int))
    np.savez(tmp_path / "cpu_act.npz", X=X, y=X[:, 0] + X[:, 1] * X[:, 2])
    np.savez(tmp_path / "covertype.npz", X=X, y=1 + (X[:, 0] > 0.5))

    X = rng.integers(0, 5, (600, 14)).astype(float)
    y = np.isin(X[:, 1], (0, 3)).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    np.savez(tmp_path / "adult.npz", X_train=X[:400], y_train=y[:400], X_test=X[400:], y_test=y[400:])

    X = rng.integers(0, 256, (500, 20), dtype=np.uint8)
    y = (X[:, 0] > 128).astype(np.uint8)
    np.savez(tmp_path / "mnist.npz", X_train=X[:400], y_train=y[:400], X_test=X[400:], y_test=y[400:])
    return tmp_path


def run(folder, kind, *arguments):
    folders = ["--output", str(folder), "--memory", str(folder / "fits")]
    return gradient.main([kind, "--quick", *folders, *arguments])


@pytest.mark.slow
@needs_lightgbm
def test_speed_reports_when_lightgbm_is_reached(folder):
    assert run(folder, "speed", "--only", "magic", "cpu act", "--seeds", "1") == 0
    columns, *rows = read_table(folder / "speed_threads_1.csv")
    assert [row[0] for row in rows] == ["magic", "cpu act"]
    for row in rows:
        cells = dict(zip(columns, row, strict=True))
        # Five trees of LightGBM are soon overtaken.
        assert cells["seeds that reach it"] == "1 of 1"
        assert 1 <= int(cells["at iteration"]) <= int(cells["iterations kept"])
        assert 0 < float(cells["share"]) <= float(cells["share, for good"]) <= float(cells["share of whole fit"])
        assert float(cells["ours at the end"]) >= float(cells["LightGBM"])


@pytest.mark.slow
def test_accuracy_recalls_fits_of_others_and_knows_the_best(folder, capsys, monkeypatch):
    names = ("magic", "cpu act", "adult")
    assert run(folder, "accuracy", "--only", *names) == 0
    columns, *rows = read_table(folder / "accuracy_threads_1.csv")
    contestants = ["ours", *(f"{name} {n_trees}" for name in find_installed(gradient.BOOSTERS) for n_trees in (5, 10))]
    assert columns[2:-1] == contestants
    for row in rows:
        scores = [float(cell.replace("*", "").split(" ± ")[0]) for cell in row[2:-1]]
        assert [cell.startswith("**") for cell in row[2:-1]] == [score == max(scores) for score in scores]
        assert float(row[-1]) == pytest.approx(scores[0] - max(scores[1:]), abs=0.011)
        assert min(scores) > 20
    printed = capsys.readouterr().out
    n_best = sum(float(row[-1]) > 0 for row in rows)
    assert f"strictly best on {n_best} of 3 sets" in printed
    assert "out of patch - test, regression" in printed
    assert [line[0] for line in read_table(folder / "runs_threads_1.csv")[1:]] == list(names)

    lines = (folder / "fits" / "fits.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 * 3 * (len(contestants) - 1)
    monkeypatch.setattr(measuring, "measure", pytest.fail)
    assert run(folder, "accuracy", "--only", *names) == 0
    assert [row[3:-1] for row in read_table(folder / "accuracy_threads_1.csv")[1:]] == [row[3:-1] for row in rows]


@pytest.mark.slow
def test_prediction_counts_rows(folder):
    assert run(folder, "prediction") == 0
    rows = read_table(folder / "prediction.csv")[1:]
    assert {row[0] for row in rows} == {"narrow, 1000 x 30", "wide, 200 x 20"}
    for row in rows:
        n_rows, milliseconds, per_second = int(row[0].split()[1]), float(row[3]), float(row[4].replace(",", ""))
        assert per_second == pytest.approx(1000 * n_rows / milliseconds, rel=0.2)
        assert 1 < float(row[2]) <= 31


@pytest.mark.slow
def test_profile_finds_parts_and_their_limits(folder):
    assert run(folder, "profile") == 0
    parts = {row[0]: float(row[2].rstrip("%")) for row in read_table(folder / "profile.csv")[1:]}
    assert {"GradientGrower.grow_round", "rest: Python and numpy"} <= parts.keys()
    assert sum(parts.values()) == pytest.approx(100, abs=1)
    limits = read_table(folder / "limits.csv")[1:]
    assert len(limits) == 2
    for part, microseconds, _, least, times, *_ in limits:
        assert part in parts
        assert float(times) == pytest.approx(float(microseconds) / float(least), rel=0.1)


def test_gradient_says_what_to_do_without_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path))
    assert gradient.main(["all"]) == 2
    assert "MPBOOST_DATA" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", gradient.BOOSTERS)
def test_boosters_take_categories(name):
    if not find_installed([name]):
        pytest.skip(f"{name} is not installed")
    rng = np.random.default_rng(0)
    # Codes whose order says nothing: as numbers, one stump could not tell them apart.
    X = rng.random((400, 14))
    X[:, CATEGORICAL] = rng.integers(0, 6, (400, len(CATEGORICAL)))
    y = np.where(np.isin(X[:, 1], (0, 2, 4)), 7, 5)
    X[:40, 3] = np.nan
    split_set = SplitSet("adult", X[:300], y[:300], X[300:], y[300:], CATEGORICAL)
    stump = {
        "LightGBM": {"max_depth": 1, "min_data_per_group": 1, "cat_smooth": 0},
        "XGBoost": {"max_depth": 1, "max_cat_to_onehot": 1},
        "CatBoost": {"depth": 1},
        "HistGradientBoosting": {"max_depth": 1},
    }[name]
    outcome = measure(name, split_set, Plan(n_trees=1), **stump, learning_rate=1.0)
    assert outcome.test_score == 100
    assert outcome.seconds > 0


def test_memory_tells_plans_and_split_sets_apart(tmp_path, monkeypatch):
    fitted = []
    monkeypatch.setattr(measuring, "measure", lambda *arguments: fitted.append(arguments) or Outcome(len(fitted), 0.5))
    X, y = np.zeros((4, 1)), np.arange(4)
    split_sets = [SplitSet("magic", X[:n], y[:n], X, y) for n in (3, 4)]
    plans = [Plan(), Plan(n_trees=500), Plan(seed=1), Plan(n_threads=2)]
    for _ in range(2):
        memory = FitMemory(tmp_path)
        outcomes = [
            memory.measure("HistGradientBoosting", split_set, plan) for split_set in split_sets for plan in plans
        ]
        assert [outcome.test_score for outcome in outcomes] == list(range(1, 9))
    assert len(fitted) == 8
    lines = (tmp_path / "fits.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["set"] for line in lines} == {"magic"}


@pytest.mark.parametrize(
    ("scores", "first", "lasting"),
    [
        ([70, 80, 79, 85, 80], 2, 4),
        ([80, 81], 1, 1),
        ([70, 81, 75], 2, np.inf),
        ([70, 75], np.inf, np.inf),
    ],
    ids=["for a while, then for good", "at once", "not in the end", "never"],
)
def test_race_finds_crossings(scores, first, lasting):
    race = Race(80.0, 2.0, scores, times=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], seconds=6.0)
    assert (race.n_first, race.n_lasting) == (first, lasting)
    assert (race.share(first), race.share(lasting)) == (first / 2, lasting / 2)


def test_lead_is_over_common_seeds():
    def outcomes(*scores):
        return [Outcome(score, 1.0) for score in scores]

    fits = {"ours": outcomes(90.0, 80.0), "slow 100": outcomes(88.0), "fast 100": outcomes(84.0, 82.0)}
    assert find_lead(fits) == pytest.approx(2.0)


def test_count_wins_names_sets_that_lag():
    said = count_wins({"a": 0.1, "b": 0.0, "c": -0.3, "d": -0.31})
    assert "strictly best on 1 of 4 sets (asked: 2): MISSED" in said
    assert "of the best on 3 (asked: all): MISSED: d -0.31" in said
    assert "met" not in said
    assert count_wins({"a": 0.1, "b": -0.1}).count("met") == 2


def test_engine_clock_leaves_the_engine_as_it_was():
    before = _native.sum_leaves, _native.GradientGrower.grow
    X = np.random.default_rng(0).random((200, 3))
    _, clock = profile_fit(SplitSet("made up", X, X[:, 0] > 0.5, X, X[:, 0] > 0.5))
    assert (_native.sum_leaves, _native.GradientGrower.grow) == before
    assert isinstance(clock, EngineClock)
    assert 0 < sum(clock.spent.values()) < clock.seconds
    assert sum(find_parts(clock).values()) == pytest.approx(clock.seconds)
    assert clock.workload.n_features == 3
