"""The first pass: what is learned only from late batches, and columns of very many categories."""

import numpy as np
import pandas as pd
import pytest

from mpboost import BinnedDataset, MPBoostClassifier
from mpboost.datasets import survey
from tests.support.datasets import QUICK, build_cut, describe_dataset, make_mixed, save_bytes

X, Y = make_mixed()


def test_classes_and_categories_of_the_last_batch_count():
    table, labels = X.copy(), Y.astype(object)
    table.loc[199, "colour"], labels[198:] = "amber", "perhaps"
    dataset = build_cut(table, labels, places=(198, 199))
    assert dataset.y.tolist() == labels.tolist()
    assert "amber" in dataset.known.features["categories_"][3]
    model = MPBoostClassifier(**QUICK)
    assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(table, labels))


def test_rare_categories_share_a_code_as_in_memory():
    names = [f"city {k * k % 331}" for k in range(len(X))]
    dataset = build_cut(X.assign(colour=names), Y, max_bins=20)
    assert dataset.known.features["has_other_category_"].tolist().count(True) == 1
    model = MPBoostClassifier(**QUICK, max_bins=20)
    assert save_bytes(model.fit(dataset)) == save_bytes(model.fit(X.assign(colour=names), Y))


@pytest.fixture
def few_counted(monkeypatch):
    monkeypatch.setattr(survey, "MAX_COUNTED", 60)


@pytest.mark.usefixtures("few_counted")
def test_frequent_categories_are_kept_among_very_many():
    numbers = np.where(np.arange(400) % 2 == 0, np.arange(400) % 8, np.arange(400) + 1000)
    table = pd.DataFrame({"id": [f"n{number}" for number in numbers], "x": np.arange(400.0)})
    with pytest.warns(
        UserWarning, match=r"Column 'id' has more than 60 categories: rare ones are forgotten .*columns="
    ) as caught:
        dataset = build_cut(table, np.arange(400) % 2, places=(100, 200, 300), max_bins=10)
    assert len(caught) == 1, "one warning for a column"
    categories, has_other = (dataset.known.features[name][0] for name in ("categories_", "has_other_category_"))
    assert {"n0", "n2", "n4", "n6"} <= set(categories)
    assert has_other
    codes = dataset.table.columns.codes[0]
    assert set(codes[1::2]) <= set(range(10))
    assert [categories[code] for code in codes[:8:2]] == ["n0", "n2", "n4", "n6"]
    assert MPBoostClassifier(**QUICK).fit(dataset).score(dataset) > 0.9


@pytest.mark.usefixtures("few_counted")
def test_categories_that_were_forgotten_have_the_code_of_others():
    """A category that was forgotten and not seen again may be no missing value."""
    table = pd.DataFrame({"id": [f"n{k:03}" for k in range(61)] + ["a"] * 39})
    with pytest.warns(UserWarning, match="more than 60 categories"):
        dataset = build_cut(table, np.arange(100) % 2, places=(61,), max_bins=255)
    assert dataset.known.features["has_other_category_"].tolist() == [True]
    assert (dataset.table.columns.codes[0] != 255).all()


def test_all_weights_of_zero_are_refused():
    with pytest.raises(ValueError, match="All rows have weight 0"):
        build_cut(X, Y, np.zeros(len(X)))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "heavy"])
def test_odd_weights_are_refused_by_batch(weight):
    weights = np.ones(len(X), dtype=object)
    weights[80] = weight
    with pytest.raises(ValueError, match="Batch 3: "):
        build_cut(X, Y, weights)


def test_sampled_rows_are_forgotten_on_the_way(monkeypatch):
    """Of many batches, no more rows are kept than needed."""
    expected = describe_dataset(BinnedDataset.from_arrays(X, Y))
    monkeypatch.setattr(survey, "MAX_SAMPLED", 30)
    assert describe_dataset(build_cut(X, Y, places=range(10, 200, 10))) == expected
