"""How many labels ``suggest_rows`` saves: what is counted, and that the page shows what was measured."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the benchmarks draw with matplotlib")
pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.common.folders import RESULTS
from benchmarks.common.pages import fill, list_tables
from benchmarks.common.results import read_rows
from benchmarks.quality import active_learning
from benchmarks.quality.active_learning import (
    BATCHES,
    CLASSES,
    COMMAND,
    NAMES,
    PAGE,
    PICTURE,
    WAYS,
    Curve,
    Result,
    Task,
    count_needed,
    draw,
    list_means,
    make_tables,
    summarise,
    tabulate,
)
from tests.support.benchmarks import needs

FOLDER = RESULTS / "quality"


@pytest.mark.parametrize(
    ("target", "needed"),
    [(0.5, 20), (0.6, 20), (0.7, 25), (0.8, 30), (0.85, 50), (0.9, 60), (0.95, np.inf)],
)
def test_count_needed_is_where_the_curve_first_reaches_the_target(target, needed):
    curve = Curve(np.array([20, 30, 40, 60, 80]), np.array([0.6, 0.8, 0.8, 0.9, 0.7]))
    assert count_needed(curve, target) == pytest.approx(needed)


def make_result(random, uncertainty, ours):
    """Make curves that reach 95 % of 1 at these numbers of labels."""
    needed = dict(zip(WAYS, (random, uncertainty, ours), strict=True))
    return Result(100, 1.0, {way: Curve(np.array([20, n]), np.array([0.0, 0.95])) for way, n in needed.items()})


def test_summarise_compares_medians():
    results = [make_result(200, 100, 50), make_result(100, 100, 120), make_result(300, 50, 60)]
    cells = summarise(Task("magic", "a fifth", 0, 60), results)
    assert cells == ["magic", "a fifth", "100", "3", "1.000", "200", "100", "60", "50%", "70%", "2"]


def test_list_means_has_the_numbers_of_labels_that_all_curves_have():
    long, short = (Curve(np.arange(n), np.linspace(0, 1, n)) for n in (5, 3))
    lines = list_means([dict.fromkeys(WAYS, long), dict.fromkeys(WAYS, short)])
    assert lines == [[str(k), *[f"{3 * k / 8:.4f}"] * 3] for k in range(3)]


def test_table_has_the_median_of_the_sets_with_classes():
    saved = dict(zip(NAMES, (10, 40, 20, 30, 90, 90), strict=True))
    row = {"final": "0.9", "random": "9", "uncertainty": "8", "ours": "7", "seeds": "10", "wins": "6"}
    rows = [row | {"set": name, "uncertainty saved": "-5%", "ours saved": f"{saved[name]}%"} for name in NAMES]
    *_, first, _, last = tabulate(rows).splitlines()
    assert first == "| cpu act | 0.9 | 9 | 8 (+5 %) | 7 (-90 %, 6 of 10) |"
    assert last == "| median of the four sets of classes |  |  | +5 % | -25 % |"


@pytest.mark.benchmark
@pytest.mark.slow
@needs("spambase.npz")
@needs("cpu_act.npz")
def test_active_learning_quick_measures_classes_and_numbers(tmp_path, capsys):
    assert active_learning.main(["--quick", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "active_learning.csv")
    assert [(row["set"], row["batches"]) for row in rows] == [
        (name, batches) for name in ("spambase", "cpu act") for batches in BATCHES
    ]
    assert all(20 <= float(row[way]) < int(row["pool"]) for row in rows for way in WAYS)
    curves = read_rows(tmp_path / "active_learning_curves.csv")
    first = [row for row in curves if row["labels"] == "20"]
    assert len(first) == 4
    assert all(row["random"] == row["uncertainty"] == row["ours"] for row in first)


def test_active_learning_says_what_to_do_without_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPBOOST_DATA", str(tmp_path))
    assert active_learning.main(["--quick"]) == 2
    assert "MPBOOST_DATA" in capsys.readouterr().err


# What is published


def test_page_has_the_tables_of_the_results():
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text, COMMAND, make_tables(FOLDER)) == text
    assert list_tables(text, COMMAND) == list(BATCHES)


def test_results_save_a_third_of_the_labels_on_the_median_set_of_classes():
    rows = [row for row in read_rows(FOLDER / "active_learning.csv") if row["batches"] == "a fifth"]
    saved = [int(row["ours saved"].rstrip("%")) for row in rows if row["set"] in CLASSES]
    assert len(saved) == 4
    assert np.median(saved) >= 30


def test_picture_shows_all_sets():
    figure = draw(read_rows(FOLDER / "active_learning_curves.csv"))
    assert [ax.get_title().removesuffix(", R²") for ax in figure.axes] == NAMES
    assert all(len(ax.lines) == len(WAYS) for ax in figure.axes)
    assert PICTURE.with_suffix(".png").exists()
