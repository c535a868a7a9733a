"""What predict tells in the end: the same however rows are cut into batches, and the score if it is known."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

pytest.importorskip("typer", reason="the command line needs typer")

from mpboost import evaluate, load_model
from mpboost.cli.features import make_model_features
from mpboost.cli.prediction_rows import offer_target
from mpboost.cli.prediction_summary import Tally
from mpboost.table_files.options import Habits, ReadingOptions
from mpboost.table_files.reading import TableReading, read_files
from tests.support.customers import make_customers, write_text

#: Sizes of batches: all rows at once, or some.
BATCHES = (120, 37)


@pytest.fixture
def new(folder):
    """New customers, in a table."""
    table = make_customers(120, seed=7)
    write_text(table, folder / "new.csv")
    return table


def tally_up(model, values, targets, n_rows):
    """Add up predictions, some rows at a time; targets may be None for all of them."""
    tally = Tally(model, len(values))
    for start in range(0, len(values), n_rows):
        rows = slice(start, start + n_rows)
        tally.add(values[rows], None if targets is None else targets[rows])
    return tally


@pytest.mark.parametrize("n_rows", BATCHES)
@pytest.mark.parametrize("target", ["churned", "spend"])
def test_offered_score_is_that_of_the_evaluation(fit, folder, new, target, n_rows):
    fit(target=target)
    model, reading = load_model(folder / "model.mpb"), read_files("new.csv", ReadingOptions())
    X, y = make_model_features(reading, model), np.array(reading.table[target].to_pylist())
    words = tally_up(model, model.predict(X), offer_target(reading, model), n_rows).word_score()
    scores = evaluate(model, X, y).scores
    accuracy, r2 = (getattr(scores.get(name), "value", 0.0) for name in ("accuracy", "r2"))
    score = f"accuracy {100 * accuracy:.1f} %" if target == "churned" else f"R² {r2:.3f}"
    assert words == f"The table has the target {target}: {score}; mpboost evaluate shows more."


@pytest.mark.parametrize("n_rows", BATCHES)
def test_offered_score_of_the_training_table_is_too_good(trained, folder, n_rows):
    model, reading = load_model(folder / "model.mpb"), read_files("customers.csv", ReadingOptions())
    values, y = model.predict(make_model_features(reading, model)), offer_target(reading, model)
    assert ", too good since it is the training table; " in tally_up(model, values, y, n_rows).word_score()
    first = tally_up(model, values[:190], y[:190], n_rows)
    assert ", too good since it is the training table; " not in first.word_score()


@pytest.mark.parametrize("kind", ["absent", "missing", "unknown"])
def test_score_is_not_offered_without_all_targets(trained, folder, new, kind):
    model = load_model(folder / "model.mpb")
    place = new.column_names.index("churned")
    table = new.drop_columns(["churned"])
    if kind != "absent":
        labels = [None if kind == "missing" else "perhaps", *new["churned"].to_pylist()[1:]]
        table = new.set_column(place, "churned", [labels])
    reading = TableReading(table, "new.csv", "", [], {}, Habits(), table)
    assert offer_target(reading, model) is None


@pytest.mark.parametrize("without", [0, 1, 2], ids=["the first", "the second", "the last"])
def test_score_is_not_offered_if_a_batch_has_no_targets(trained, folder, new, without):
    model, labels = load_model(folder / "model.mpb"), np.array(new["churned"].to_pylist())
    tally = Tally(model, 120)
    for k, rows in enumerate((slice(0, 40), slice(40, 80), slice(80, 120))):
        tally.add(labels[rows], None if k == without else labels[rows])
    assert tally.word_score() is None
    assert sum(tally.counts.values()) == tally.n_rows == 120


@pytest.mark.parametrize("n_rows", BATCHES)
def test_counts_are_those_of_all_rows(trained, folder, new, n_rows):
    model, labels = load_model(folder / "model.mpb"), np.array(new["churned"].to_pylist())
    classes, counts = tally_up(model, labels, None, n_rows).count_classes()
    assert (classes, counts.tolist()) == tuple(each.tolist() for each in np.unique(labels, return_counts=True))


@pytest.mark.parametrize("n_rows", BATCHES)
def test_quartiles_and_score_are_those_of_all_rows(fit, folder, new, n_rows):
    fit(target="spend")
    rng = np.random.default_rng(0)
    y = 1e6 + rng.normal(size=120)
    values = y + rng.normal(size=120)
    tally = tally_up(load_model(folder / "model.mpb"), values, y, n_rows)
    assert f"R² {r2_score(y, values):.3f};" in tally.word_score()
    np.testing.assert_array_equal(tally.compute_quartiles(), np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
