"""What runs on a worker in a fit: an estimator is trained on all rows, or does what one shard does."""

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mpboost._shards import Shards
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.dask.workers import count_threads_here
from mpboost.datasets.batches import Batch
from mpboost.datasets.coded_rows import CodedRows
from mpboost.estimators.sharded import Shard, fit_shard

#: Kinds of warnings that users see without asking.
FOR_USERS = (UserWarning, RuntimeWarning, FutureWarning)


class Pause(Callback):
    """Callback that makes an exchange after each iteration: the client's wish to stop comes along with it.

    A fit of all rows in one place has no other exchanges.
    """

    limits_trials = True

    def __init__(self, shards: Shards):
        self._shards = shards

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Exchange nothing."""
        self._shards.exchange(lambda: None, lambda parts: None)
        return None


def fit_rows(
    estimator: Any, data: tuple[CodedRows, CodedRows | None], shards: Shards, callbacks: Sequence[Callback]
) -> Any:
    """Train on rows in bins; runs on a worker."""
    return _fit(estimator, shards, callbacks, data[0], X_val=data[1])


def fit_table(estimator: Any, data: tuple[Batch, Batch | None], shards: Shards, callbacks: Sequence[Callback]) -> Any:
    """Train on rows as they are; runs on a worker."""
    train, validation = data
    names = "X_val", "y_val", "sample_weight_val"
    options = {} if validation is None else dict(zip(names, validation[1:], strict=True))
    return _fit(estimator, shards, callbacks, *train[1:], **options)


def _fit(estimator: Any, shards: Shards, callbacks: Sequence[Callback], *data: Any, **options: Any) -> Any:
    """Train as on one machine; return the model, without callbacks of this worker, and what was warned of."""
    with _caught_warnings() as warned:
        fitted = _use_threads(estimator, [Pause(shards), *callbacks]).fit(*data, **options)
    return fitted.set_params(callbacks=None), warned


@contextmanager
def _caught_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Collect the texts and categories of warnings: only the client can show them to users."""
    warned: list[tuple[str, type[Warning]]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield warned
    warned += [(str(each.message), each.category) for each in caught if issubclass(each.category, FOR_USERS)]


def _use_threads(estimator: Any, callbacks: Sequence[Callback]) -> Any:
    """Let an estimator use the threads of this worker, unless it says otherwise."""
    n_jobs = count_threads_here() if estimator.n_jobs is None else estimator.n_jobs
    return copy.copy(estimator).set_params(n_jobs=n_jobs, callbacks=list(callbacks))


def fit_shard_here(
    estimator: Any, data: Shard, shards: Shards, callbacks: Sequence[Callback], *, puts_rows_off: bool = True
) -> Any:
    """Do what one shard does; runs on a worker. What is about single rows is less before it is computed."""
    with _caught_warnings() as warned:
        fitted = fit_shard(_use_threads(estimator, ()), data, shards, callbacks, puts_rows_off=puts_rows_off)
    return None if fitted is None else (fitted, warned)
