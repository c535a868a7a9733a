"""The benchmarks run, and the yardstick that they measure against is what it claims to be."""

import importlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mpboost import PAPER, MPBoostClassifier

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.clocks import StepClock
from benchmarks.common.command import add_only, make_parser, parse
from benchmarks.common.folders import RESULTS, TRIALS
from benchmarks.common.measure import measure_growth, median_ratio, take_turns
from benchmarks.common.results import FACTS, ResultTable, read_rows, show_table
from benchmarks.contestants import CONTESTANTS, OURS
from benchmarks.data.flips import flip
from benchmarks.data.made_up import make_table
from benchmarks.defaults import tolerances
from benchmarks.quality import __main__ as quality
from benchmarks.quality import (
    calibration,
    categories,
    conformal,
    intervals,
    label_issues,
    label_noise,
    noise_columns,
    rare_classes,
    tasks,
    tuning,
)
from benchmarks.speed import __main__ as speed
from benchmarks.speed import command_line, contributions, imports, interrupts, metrics, progress_bar, sparse
from benchmarks.speed.literal import fit_literal, update_features, weigh_observations
from benchmarks.speed.sections import judge_linearity
from tests.support.benchmarks import needs, run_benchmark

pytestmark = pytest.mark.slow

needs_linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux for the peak of memory")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 8))
    X, y = X[kept], np.where(y[kept] == 8, 1, -1).astype(np.int8)
    return X[:250], y[:250], X[250:], y[250:]


@pytest.mark.benchmark
@pytest.mark.slow
@needs("mnist.npz")
def test_speed_quick_prints_all_sections(tmp_path):
    finished = run_benchmark("speed", "--output", str(tmp_path))
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
    names = ["kernels", "literal_loop", "memory", "rows", "steps", "trees"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == names


@pytest.mark.benchmark
@pytest.mark.slow
@needs("mnist.npz")
def test_quality_quick_prints_tables_and_draws_the_ablation(tmp_path):
    finished = run_benchmark("quality", "--output", str(tmp_path))
    assert finished.returncode == 0, finished.stderr
    assert "its own stop" in finished.stdout
    assert "p uniform, q adaptive" in finished.stdout
    assert (tmp_path / "ablation.png").stat().st_size > 10_000


@pytest.mark.slow
@needs("adult.npz")
def test_categories_quick_compares_both_ways(tmp_path, capsys):
    assert categories.main(["--quick", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert [word for word in ("codes", "categories", "difference", "of 2 seeds") if word not in printed] == []


@pytest.mark.benchmark
@pytest.mark.slow
def test_noise_columns_quick_measures_credit_and_harm(tmp_path, monkeypatch):
    kinds = {
        name: add for name, add in noise_columns.NOISE.items() if name[0] not in "135"
    }  # 10, 30, 100, 500 categories
    monkeypatch.setattr(noise_columns, "NOISE", kinds)
    monkeypatch.setattr(noise_columns, "TASKS", ("four classes", "regression"))  # the table of harm has two
    assert noise_columns.main(["--quick", "--only", "credit", "harm", "--output", str(tmp_path)]) == 0
    credit = read_rows(tmp_path / "noise_columns_credit.csv")
    assert [row["column"] for row in credit] == list(kinds)
    harm = read_rows(tmp_path / "noise_columns_harm.csv")
    assert {row["contestant"] for row in harm} == {"MPBoost", "MPGradientBoosting"}


@pytest.mark.slow
@needs("adult.npz")
def test_calibration_quick_has_a_row_for_each_set(tmp_path):
    assert calibration.main(["--quick", "--only", "adult", "--output", str(tmp_path)]) == 0
    (row,) = read_rows(tmp_path / "calibration.csv")
    assert (row["set"], row["rows"]) == ("adult", "500")
    assert float(row["ratio"]) == pytest.approx(float(row["calibrated"]) / float(row["forest"]), abs=0.01)


@pytest.mark.slow
@needs("spambase.npz")
def test_tuning_quick_compares_searches(tmp_path):
    assert tuning.main(["--quick", "--only", "spambase", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "tuning.csv")
    assert [row["contestant"] for row in rows] == ["defaults", "OOPSearch", "GridSearchCV"]
    assert all(row["set"] == "spambase" and 70 < float(row["test accuracy"].rstrip(" %")) < 100 for row in rows)


@pytest.mark.parametrize("benchmark", [calibration, tuning], ids=["calibration", "tuning"])
def test_unknown_set_is_named(benchmark, capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["--only", "no-such"])
    assert "'no-such'" in capsys.readouterr().err


@pytest.mark.benchmark
def test_imports_quick_compares_with_scikit_learn(tmp_path):
    assert imports.main(["--quick", "--output", str(tmp_path)]) == 0
    rows = {row["import"]: row for row in read_rows(tmp_path / "imports.csv")}
    assert list(rows) == list(imports.IMPORTS)
    assert rows[imports.PEER]["processor, ratio to scikit-learn"] == "1.00"
    assert all(float(row["processor s"]) > 0 for row in rows.values())


@pytest.mark.usefixtures("python_handler")
def test_interrupts_quick_interrupts_each_estimator(tmp_path):
    assert interrupts.main(["--quick", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "interrupts.csv")
    assert [row["estimator"] for row in rows] == [estimator.__name__ for estimator in interrupts.ESTIMATORS]
    assert all(0 < float(row["s"]) <= float(row["longest s"]) for row in rows)


@pytest.mark.slow
@needs("dna.npz")
@needs("california_housing.npz")
def test_tasks_quick_prints_a_table_for_each_set(tmp_path, capsys):
    assert tasks.main(["--quick", "--only", "dna", "california housing", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    words = ("dna", "3 classes", "margin", "RandomForest in our time", "california", "linear", "AdaBoost")
    assert [word for word in words if word not in printed] == []


@pytest.mark.slow
@needs("dna.npz")
@needs("spambase.npz")
def test_label_issues_quick_has_a_line_for_each_set(tmp_path):
    assert label_issues.main(["--quick", "--only", "dna", "spambase", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "label_issues.csv")
    assert [row["set"] for row in rows] == ["dna", "spambase"]
    for row in rows:
        assert (row["flipped"], row["rows"]) == ("5%", "600")
        assert float(row["AUC"]) > 0.8
        assert float(row["more"]) == pytest.approx(float(row["AUC"]) - float(row["AUC, folds"]), abs=2e-4)


@pytest.mark.slow
def test_rare_classes_quick_has_a_line_for_each_contestant(tmp_path):
    pytest.importorskip("lightgbm")
    assert rare_classes.main(["--quick", "--only", "made up", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "rare_classes.csv")
    assert len(rows) == 2 * (2 + 2 * len(rare_classes.SCORINGS))
    assert all(float(row["AUC"]) > 0.8 for row in rows)


@pytest.mark.benchmark
@pytest.mark.slow
def test_command_line_quick_measures_commands_and_readers(tmp_path, monkeypatch):
    testing, app = pytest.importorskip("typer.testing"), importlib.import_module("mpboost.cli.app").app
    ran = []

    def run_here(command, place):
        """Run a command in this process: a new one takes seconds to import everything."""
        monkeypatch.chdir(place)
        result = testing.CliRunner().invoke(app, command[1:])
        assert result.exit_code == 0, result.output
        ran.append((Path(command[0]).name, command[1]))
        return float(len(ran))

    monkeypatch.setattr(command_line, "time_command", run_here)
    assert command_line.main(["--quick", "--output", str(tmp_path)]) == 0
    kinds = ["--help", "fit", "info", "predict", "predict", "fit"]
    assert ran == [("mpboost", kind) for kind in kinds]
    rows = read_rows(tmp_path / "command_line.csv")
    assert [float(row["ours"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert len(read_rows(tmp_path / "reading.csv")) == 4


def test_time_command_runs_it_in_its_folder_and_tells_failures(tmp_path):
    script = "import pathlib; pathlib.Path('ran').touch()"
    assert command_line.time_command([sys.executable, "-S", "-c", script], tmp_path) > 0
    assert (tmp_path / "ran").exists()
    with pytest.raises(subprocess.CalledProcessError):
        command_line.time_command([sys.executable, "-S", "-c", "raise SystemExit(1)"], tmp_path)


def test_contributions_quick_measures_ours_and_saturated_trees(tmp_path):
    assert contributions.main(["--quick", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "contributions.csv")
    assert rows[0]["times ours"] == "1.0"
    assert len(rows) >= 2
    assert read_rows(tmp_path / "interactions.csv")[0]["times ours"] == "1.0"
    leaves = [int(row["leaves per tree"]) for row in read_rows(tmp_path / "contributions_saturated.csv")]
    assert leaves[0] < leaves[1]


def test_metrics_quick_compares_with_scikit_learn(tmp_path):
    assert metrics.main(["--quick", "--output", str(tmp_path)]) == 0
    assert [row["metric"] for row in read_rows(tmp_path / "metrics.csv")] == list(metrics.NAMES)
    assert len(read_rows(tmp_path / "scoring.csv")) == 2 * len(metrics.NAMES)


@pytest.mark.slow
@needs("spambase.npz")
def test_tolerances_quick_compares_with_no_tolerance(tmp_path):
    assert tolerances.main(["--quick", "--only", "spambase", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "tolerances.csv")
    assert [row["time"] for row in rows if row["tolerance"] == "0"] == ["1.00", "1.00"]


def test_flip_changes_so_many_labels_and_no_others():
    y = np.arange(1000) % 3
    flipped = flip(np.zeros((1000, 1)), y, 0.1)
    assert flipped.is_flipped.sum() == 100
    np.testing.assert_array_equal(flipped.y != y, flipped.is_flipped)
    assert np.unique(flipped.y).tolist() == [0, 1, 2]


@pytest.mark.benchmark
@pytest.mark.slow
@needs_linux
def test_sparse_quick_measures_both_formats(tmp_path, capsys):
    assert sparse.main(["--quick", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert [word for word in ("csr", "csc", "0.10 % filled", "3x is promised") if word not in printed] == []


@pytest.mark.slow
@needs_linux
def test_progress_quick_prints_the_share_of_the_bar(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")  # for the benchmark changes it
    assert progress_bar.main(["--quick", "--output", str(tmp_path)]) == 0
    assert "% of the time went into the bar" in capsys.readouterr().out


def test_make_sparse_tells_the_label_by_its_first_columns():
    X, y = sparse.make_sparse("csc", 2000, 1000)
    assert X.format == "csc"
    assert 0.0008 < X.nnz / 2e6 <= 0.001
    first, last = (np.asarray(X[:, columns].sum(axis=1)).ravel() for columns in (slice(20), slice(500, None)))
    assert np.corrcoef(first, y)[0, 1] > 0.2
    assert abs(np.corrcoef(last, y)[0, 1]) < 0.1


@pytest.mark.slow
@needs_linux
def test_measure_growth_finds_a_short_peak():
    grown, seconds = measure_growth(lambda: np.ones(8_000_000).sum())
    assert 60e6 < grown < 100e6
    assert seconds > 0
    assert measure_growth(lambda: None)[0] < 10e6


@pytest.mark.parametrize(
    "benchmark",
    [speed, quality, calibration, categories, conformal, intervals, label_issues, label_noise, tuning],
    ids=lambda module: module.__name__,
)
def test_benchmarks_say_what_to_do_without_data(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path))
    assert benchmark.main(["--quick"]) == 2
    assert "MPBOOST_DATA" in capsys.readouterr().err


@pytest.mark.slow
def test_literal_loop_learns_digits(digits):
    X, y, X_test, y_test = digits
    model = fit_literal(X, y, max_samples=50, max_features=8, n_estimators=100)
    assert np.mean(model.predict(X_test) == y_test) > 0.93
    assert model.oop_scores[-1] > 0.93
    assert model.p.sum() == pytest.approx(1)
    assert model.q.sum() == pytest.approx(1)
    assert model.loop_seconds > 0


@pytest.mark.slow
def test_literal_loop_does_what_ours_does(digits):
    """Draws differ, so only the means of a few runs can agree."""
    X, y, X_test, y_test = digits
    sizes = {"max_samples": 50, "max_features": 8, "n_estimators": 60}
    literal, ours = [], []
    for seed in range(8):
        theirs = fit_literal(X, y, **sizes, seed=seed)
        mine = MPBoostClassifier(**{**PAPER, **sizes, "stopping": None}, random_state=seed).fit(X, y)
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


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        ([], RESULTS / "some"),
        (["--jobs", "4"], RESULTS / "some"),
        (["--quick"], TRIALS / "some"),
        (["--only", "a"], TRIALS / "some"),
        (["--quick", "--output", "there"], Path("there")),
    ],
    ids=["whole", "harmless option", "quick", "option", "told"],
)
def test_only_whole_runs_replace_published_results(arguments, folder):
    parser = make_parser("")
    add_only(parser, ["a", "b"])
    parser.add_argument("--jobs", type=int, default=2)
    assert parse(parser, arguments, "some")[1] == folder


def test_result_table_keeps_rows_as_they_come_with_what_they_were_measured_with(tmp_path, capsys):
    table = ResultTable(tmp_path / "new" / "table.csv", ["set", "test %"])
    table.add(["a, b", "90 ± 1"])
    assert capsys.readouterr().out.splitlines() == ["| set | test % |", "| --- | ---: |", "| a, b | 90 ± 1 |"]
    show_table(tmp_path / "all.csv", ["set", "test %"], [["a, b", "90 ± 1"]])
    for path in (tmp_path / "new" / "table.csv", tmp_path / "all.csv"):
        (row,) = read_rows(path)
        assert (row["set"], row["test %"]) == ("a, b", "90 ± 1")
        assert all(row[fact] for fact in FACTS)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_contestant_is_called_by_its_name(name):
    contestant = CONTESTANTS[name]
    assert contestant.is_ours == (name in OURS) == (contestant.package == "mpboost")
    assert name.startswith("PAPER") or contestant.classifier.startswith(("LGBM", "XGB", name))
