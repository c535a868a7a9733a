"""With two classes the loop for many classes is the loop for two: same draws, same splits, same votes."""

import numpy as np
import pytest

from mpboost import MPBoostClassifier
from tests.support.helpers import SMALL, describe_model, make_integers
from tests.support.native.naive_tree import read_splits
from tests.support.oracle import WEIGHTINGS
from tests.support.runs import Recorder, boost_for, make_data, make_run

RUNS = {
    **{weighting: {"weighting": weighting} for weighting in WEIGHTINGS},
    "learning rate 0.1, missing values": {"learning_rate": 0.1, "missing": 0.2},
    "patches of 3 rows": {"patch": (3, 2)},
    "small trees": {"max_depth": 2, "min_samples_leaf": 3},
    "uniform observations": {"adaptive": (False, True)},
    "ties to the first class": {"rare": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())
@pytest.mark.parametrize("way", ["margin", "m2", "mh"])
def test_boost_of_two_classes_is_the_binary_algorithm(way, options):
    options = dict(options)
    X, signs = make_data(options.pop("missing", 0.0))
    signs *= -options.pop("rare", -1)
    binary, many = Recorder(), Recorder()
    one = boost_for(make_run(X, signs, **options), 100, binary)
    other = boost_for(make_run(X, (signs > 0).astype(np.uint16), way=way, **options), 100, many)
    for t, (two, k) in enumerate(zip(binary.records, many.records, strict=True), start=1):
        assert two.R.tolist() == k.R.tolist()
        assert two.C.tolist() == k.C.tolist()
        np.testing.assert_array_equal(read_splits(two.learner.model), read_splits(k.learner.model))
        np.testing.assert_array_equal(two.learner.model.leaf_values > 0, k.learner.model.leaf_values > 0)
        np.testing.assert_array_equal(k.F, np.column_stack([t - two.F, t + two.F]) // 2)
        np.testing.assert_array_equal(k.G[:, 1].astype(int) - k.G[:, 0], two.G)
        np.testing.assert_allclose(k.p, two.p, rtol=1e-12)
        np.testing.assert_allclose(k.q, two.q, rtol=1e-6)  # trees for two classes score in single precision
        assert (k.oop, k.train) == (two.oop, two.train)
    one_task, other_task = one.parts.task, other.parts.task
    np.testing.assert_array_equal(
        other_task.count_oop_votes(other_task.state, 100), one_task.count_oop_votes(one_task.state, 100)
    )
    assert other_task.ranks.tolist() == one_task.ranks.tolist()


def test_classifier_of_two_classes_does_not_depend_on_the_way_for_many():
    X, y = make_integers()
    models = [MPBoostClassifier(**SMALL, multiclass=way).fit(X, y) for way in ("margin", "m2", "mh", "oc")]
    for model in models[1:]:
        assert describe_model(model) == describe_model(models[0])
