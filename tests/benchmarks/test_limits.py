"""The simulations of docs/limits.md run, and the page says what their files say."""

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")
pytest.importorskip("matplotlib", reason="they draw with matplotlib")

from benchmarks.common.folders import RESULTS
from benchmarks.common.pages import fill, list_tables
from benchmarks.common.results import read_rows
from benchmarks.inference import limits
from benchmarks.inference.limits_pictures import PICTURES

FOLDER = RESULTS / "inference"
needs_results = pytest.mark.skipif(not FOLDER.exists(), reason="the results of benchmarks are not here")


@needs_results
def test_page_has_the_tables_and_pictures_of_the_results():
    text, tables = limits.PAGE.read_text(encoding="utf-8"), limits.make_tables(FOLDER)
    assert sorted(list_tables(text, limits.COMMAND)) == sorted(tables)
    assert fill(text, limits.COMMAND, tables) == text
    for stem in PICTURES:
        assert f"images/limits/{stem}.png" in text
        assert (limits.IMAGES / f"{stem}.png").exists()


@pytest.mark.benchmark
@pytest.mark.slow
def test_limits_quick_measures_and_draws(tmp_path):
    assert limits.main(["--quick", "--output", str(tmp_path)]) == 0
    assert all(read_rows(tmp_path / f"limits_{name}.csv") for name in limits.STUDIES)
    drift = read_rows(tmp_path / "limits_drift.csv")
    assert [(row["shift"], row["model"]) for row in drift[:2]] == [("0", "votes"), ("0", "gradient")]
    held = [float(row["interval held"]) for row in drift if row["model"] == "votes"]
    assert abs(held[0] - 90) < 4
    assert held[-1] < 75  # a drift breaks intervals
    assert sorted(path.stem for path in (tmp_path / "images").iterdir()) == sorted(PICTURES)


@pytest.mark.slow
def test_picture_is_drawn_as_soon_as_its_studies_are_there(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(limits, "draw_pictures", drawn.append)
    assert limits.main(["--quick", "--only", "drift", "--output", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["limits_drift.csv"]
    assert drawn == [tmp_path]


def test_labels_are_wrong_where_it_is_said():
    X, y, is_wrong = limits.make_labels(2000, np.random.default_rng(0), 0.2)
    truth = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] > 0
    np.testing.assert_array_equal(y == truth, ~is_wrong)
    assert abs(is_wrong.mean() - 0.2) < 0.03


def test_auc_leaves_out_rows_without_a_value():
    is_wrong, values = np.array([True, False, False, True]), np.array([0.9, 0.1, 0.2, np.nan])
    assert limits.find_auc(is_wrong, values) == 1.0
    assert np.isnan(limits.find_auc(np.zeros(4, dtype=bool), values))
