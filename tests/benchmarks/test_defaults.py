"""The measurements behind docs/defaults.md run, and judge what they say that they judge."""

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.data.sets import SETS, hold_out, split
from benchmarks.data.split_set import SplitSet
from benchmarks.defaults import __main__ as defaults
from benchmarks.defaults import choices
from benchmarks.defaults.features import Consensus, rank
from benchmarks.defaults.table import GOALS, Goal, find_others
from benchmarks.defaults.trials import take_roots
from tests.support.benchmarks import needs, read_table, run_benchmark

pytestmark = pytest.mark.slow


@pytest.fixture
def numbered():
    """A split data set whose rows are known by their only value."""
    X = np.arange(200.0)[:, None]
    return SplitSet("numbers", X[:150], X[:150, 0], X[150:], X[150:, 0])


@pytest.mark.slow
@needs("jasmine.npz")
@needs("cpu_act.npz")
def test_table_quick_judges_ours_beside_the_forest(tmp_path, capsys):
    assert defaults.main(["table", "--quick", "--only", "jasmine", "cpu act", "--output", str(tmp_path)]) == 0
    columns, row = read_table(tmp_path / "table.csv")
    cells = dict(zip(columns, row, strict=True))
    ours, forest, lead = (float(cells[name].split(" ± ")[0]) for name in ("ours", "forest", "ours - forest"))
    assert lead == pytest.approx(ours - forest, abs=0.011)
    assert (cells["goal"] == "met") == (lead >= -0.3)
    runs = read_table(tmp_path / "runs.csv")[1:]
    assert [run[0] for run in runs] == ["jasmine", "cpu act"]
    printed = capsys.readouterr().out
    assert "small sets" in printed
    assert "out of patch - test" in printed


@pytest.mark.slow
@needs("adult.npz")
def test_table_quick_takes_categories_and_missing_values(tmp_path):
    assert defaults.main(["table", "--quick", "--only", "adult", "--output", str(tmp_path)]) == 0
    row = read_table(tmp_path / "table.csv")[1]
    assert all(70 < float(cell.split(" ± ")[0]) < 95 for cell in row[2 : 3 + len(find_others())])


@pytest.mark.slow
@needs("spambase.npz")
def test_noise_quick_compares_at_each_level(tmp_path, capsys):
    assert defaults.main(["noise", "--quick", "--only", "spambase", "--output", str(tmp_path)]) == 0
    rows = read_table(tmp_path / "noise.csv")[1:]
    assert [row[:3] for row in rows] == [["spambase", level, "2"] for level in ("0%", "5%", "10%", "20%")]
    leads = [float(row[5]) for row in rows]
    assert f"at worst {min(leads):+.2f}" in capsys.readouterr().out


@pytest.mark.slow
@needs("madelon.npz")
def test_features_quick_ranks_by_both_importances(tmp_path, capsys):
    assert defaults.main(["features", "--quick", "--output", str(tmp_path)]) == 0
    rows = read_table(tmp_path / "features.csv")[1:]
    assert [row[:2] for row in rows] == [[kind, seed] for kind in ("out_of_patch", "impurity") for seed in "01"]
    for row in rows:
        within, worst = int(row[4]), int(row[5])
        assert (within == 20) == (worst <= 30)
    is_met = all(int(row[5]) <= 30 for row in rows[:2])
    assert f"our default: {'met' if is_met else 'MISSED'}" in capsys.readouterr().out


@pytest.mark.benchmark
@pytest.mark.slow
@needs("spambase.npz")
def test_choices_quick_varies_one_parameter_in_other_processes(tmp_path):
    finished = run_benchmark(
        "defaults.choices", "--only", "max_samples", "stopping", "--sets", "spambase", "--output", str(tmp_path)
    )
    assert finished.returncode == 0, finished.stderr
    for parameter in ("max_samples", "stopping"):
        columns, *rows = read_table(tmp_path / "choices" / f"{parameter}.csv")
        assert columns[1:] == [f"{choices.CHOICES[parameter].default} (default)", *choices.CHOICES[parameter].values]
        assert [row[0] for row in rows] == ["spambase", "mean", "seconds"]
        assert rows[0][1:] == rows[1][1:]
        assert 80 < float(rows[0][1]) < 100


@pytest.mark.parametrize("arguments", [["table"], ["noise"], ["features"]], ids=lambda arguments: arguments[0])
def test_defaults_say_what_to_do_without_data(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path))
    assert defaults.main(arguments) == 2
    assert "MPBOOST_DATA" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("goal", "ours", "verdict"),
    [
        (Goal(90.0), 90.0, "met"),
        (Goal(90.0), 89.5, "MISSED by 0.50"),
        (Goal(-0.3, is_over_forest=True), 79.75, "met"),
        (Goal(10.0, is_over_forest=True), 89.0, "MISSED by 1.00"),
        (Goal(), 1.0, ""),
    ],
    ids=["reached", "missed", "behind but near", "ahead but short", "nothing asked"],
)
def test_goal_judges(goal, ours, verdict):
    assert goal.judge(ours, forest=80.0) == verdict


def test_contests_are_about_known_sets():
    assert set(GOALS) == set(SETS)
    assert set(choices.NAMES) <= set(SETS)


def test_split_takes_four_fifths_at_random():
    X = np.arange(100.0)[:, None]
    split_sets = [split("magic", {"X": X, "y": X[:, 0]}, seed) for seed in range(2)]
    for split_set in split_sets:
        assert len(split_set.y_train) == 80
        assert np.union1d(split_set.y_train, split_set.y_test).size == 100
        np.testing.assert_array_equal(split_set.X_train[:, 0], split_set.y_train)
    assert not np.array_equal(*(split_set.y_train for split_set in split_sets))


def test_hold_out_never_takes_a_test_row(numbered):
    inner = hold_out(numbered, seed=0, n_rows=100)
    assert (len(inner.y_train), len(inner.y_test)) == (100, 30)
    rows = np.concatenate([inner.X_train[:, 0], inner.X_test[:, 0]])
    assert np.unique(rows).size == 130
    assert rows.max() < 150
    np.testing.assert_array_equal(inner.X_test[:, 0], inner.y_test)


def test_take_roots_stays_within_half_of_the_rows(numbered):
    assert take_roots(4, numbered) == {"max_samples": 48}
    assert take_roots(32, numbered) == {"max_samples": 75}


def test_consensus_averages_over_the_fits_that_had_a_feature():
    consensus = Consensus(np.array([[1.0, np.nan, 2.0], [3.0, 4.0, np.nan]]))
    np.testing.assert_allclose(consensus.mean, [2.0, 4.0, 2.0])
    np.testing.assert_allclose(consensus.error, [np.sqrt(2.0) / 2, 0.0, 0.0])


def test_rank_begins_with_the_largest():
    assert rank(np.array([0.1, 0.5, 0.4])).tolist() == [3, 1, 2]
