import numpy as np
import pytest

from mpboost.dask.coding import code_batch
from tests.support.dask_tables import CUTS, code_batches, cut, plan_batches
from tests.support.datasets import ESTIMATORS, QUICK, REGRESSORS, make_mixed, make_numbers, save_bytes


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_collected_rows_give_the_model_of_a_fit_in_memory(estimator, cuts):
    X, y = make_mixed()
    y = make_numbers()[1] if estimator in REGRESSORS else y
    weights = np.random.default_rng(1).integers(0, 3, 200).astype(np.float64)
    batches = cut(X, y, weights, cuts)
    collected = code_batches(batches, plan_batches(batches))
    assert save_bytes(estimator(**QUICK).fit(collected)) == save_bytes(estimator(**QUICK).fit(X, y, weights))


def test_code_refuses_rows_that_changed():
    X, y = make_numbers()
    first, second = cut(X, y, None, [100])
    plan = plan_batches([first, second])
    with pytest.raises(ValueError, match=r"Partition 1: the rows are not those that were read before"):
        code_batch(second._replace(X=second.X + 1), plan, 1)


def test_code_leaves_the_plan_as_it_is():
    X, y = make_mixed()
    batches = cut(X, y, None, [50])
    plan = plan_batches(batches)
    kinds = dict(plan.reader.kinds)
    code_batch(batches[1], plan, 1)
    assert plan.reader.kinds == kinds


def test_keep_present_drops_rows_of_weight_0():
    X, y = make_numbers()
    weights = np.tile([0.0, 1.0], 100)
    (batch,) = cut(X, y, weights, [])
    part = code_batch(batch, plan_batches([batch]), 0)
    kept = part.keep_present()
    np.testing.assert_array_equal(kept.codes, part.codes[:, 1::2])
    np.testing.assert_array_equal(kept.targets, part.targets[1::2])
