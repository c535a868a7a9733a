import warnings

import pytest

from mpboost import Callback, MPBoostClassifier
from mpboost._shards import WholeTable
from mpboost.dask.worker_fits import fit_rows
from tests.support.dask_tables import code_batches, cut, plan_batches
from tests.support.datasets import QUICK, make_mixed, save_bytes


class StopAndWarn(Callback):
    def on_iteration_end(self, run):
        if run.iteration == 2:
            warnings.warn("for users", UserWarning, stacklevel=1)
            warnings.warn("for developers", DeprecationWarning, stacklevel=1)
        return run.iteration == 3


@pytest.fixture
def rows():
    X, y = make_mixed()
    batches = cut(X, y, None, [70])
    return code_batches(batches, plan_batches(batches))


def test_fit_returns_the_model_without_callbacks_of_the_worker_and_what_users_are_warned_of(rows):
    model, warned = fit_rows(MPBoostClassifier(**QUICK), (rows, None), WholeTable(200), [StopAndWarn()])
    assert model.n_iter_ == 3
    assert model.callbacks is None
    assert warned == [("for users", UserWarning)]


class CountingTable(WholeTable):
    n_exchanges = 0

    def exchange(self, make_part, join):
        self.n_exchanges += 1
        return super().exchange(make_part, join)


def test_fit_exchanges_after_each_iteration(rows):
    shards = CountingTable(200)
    model, _ = fit_rows(MPBoostClassifier(**QUICK), (rows, None), shards, [])
    assert shards.n_exchanges == model.n_iter_ == 8
    X, y = make_mixed()
    assert save_bytes(model.set_params(n_jobs=None)) == save_bytes(MPBoostClassifier(**QUICK).fit(X, y))
