"""A fit whose rows are in several shards: what each of them does. The same bits as a fit of all rows in one place."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._shards import PostingShards, Shards
from mpboost._threads import make_threads
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.interrupts import Interrupts, warn_if_interrupted
from mpboost.boosting.loop import boost
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.problem import Examples, Problem
from mpboost.data.tables import Table
from mpboost.data.targets import Targets
from mpboost.estimators import row_attributes
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.estimates import warn_if_useless
from mpboost.estimators.parameters import list_rules
from mpboost.estimators.plans import Plan
from mpboost.estimators.publishing import RowSource
from mpboost.estimators.row_attributes import ROW_SOURCE
from mpboost.estimators.settings import draw_seed
from mpboost.tasks.contract import NOT_ABOUT_ROWS, Task
from mpboost.tasks.rows import spread_task, take_task_rows

#: Losses whose leaves are quantiles, not functions of sums over rows.
LOSSES_OF_QUANTILES = ("absolute_error", "quantile")

#: What shard 0 has of a task for all rows.
OF_ALL_ROWS = ("_running", "_calibrate", "out_of_patch")


@dataclass(frozen=True)
class Shard:
    """The rows of one shard and, in shard 0, what follows from all rows.

    Attributes
    ----------
    table : Table
        The features of the rows of this shard, in bins.
    y, sample_weight : arrays or None
        The targets and the weights of all rows, checked, in shard 0; None in the others. Rows of weight 0 were left
        out before.
    is_present : bool array or None
        In shard 0, which of the users' rows are left; None for all.
    known : dict or None
        In shard 0, what is known of the features; see ``TrainingData``.
    validation : tuple or None
        In shard 0, table, targets and weights of validation rows.
    """

    table: Table
    y: Targets | None = None
    sample_weight: NDArray[np.float64] | None = None
    is_present: NDArray[np.bool_] | None = None
    known: dict[str, Any] | None = None
    validation: tuple[Table, Targets, NDArray[np.float64] | None] | None = None


class _Start(NamedTuple):
    """What a shard starts from: the seed, its part of the task, and what is known of all rows."""

    seed: int
    task: Any
    classes: NDArray[Any] | None
    is_categorical: NDArray[np.bool_] | None
    feature_names: NDArray[Any] | None
    has_validation: bool


def check_can_be_sharded(
    estimator: MinipatchBooster, advice: str = "choose placement='one', which collects the rows of a fit on one worker"
) -> None:
    """Raise a ValueError for what needs all rows in one place; it ends with an advice how to have that."""
    params = estimator.get_params(deep=False)
    loss = params.get("loss")
    if params["warm_start"]:
        raise ValueError("warm_start=True does not work on a cluster: fit anew with more n_estimators.")
    if params.get("estimator") is not None:
        raise ValueError(f"estimator={params['estimator']!r} cannot be trained on rows in several places: {advice}.")
    for name in list_rules(estimator):
        rule = type(params[name]).__name__
        raise ValueError(f"{name}={rule}, a rule of your own, needs all rows in one place: {advice}.")
    if loss in LOSSES_OF_QUANTILES or not isinstance(loss, str | None):
        raise ValueError(f"loss={loss!r} needs all rows in one place: {advice}.")
    if not params.get("leaf_refit", True):
        raise ValueError(f"leaf_refit=False needs all rows in one place: {advice}.")
    class_weight = params.get("class_weight")
    if isinstance(class_weight, Mapping) and not all(class_weight.values()):
        raise ValueError(f"class_weight with a weight of 0 leaves out rows: leave them out before, or {advice}.")


def fit_shard(
    estimator: MinipatchBooster,
    shard: Shard,
    shards: Shards,
    callbacks: Sequence[Callback],
    *,
    puts_rows_off: bool = False,
) -> MinipatchBooster | None:
    """Do what one shard does in a fit; return the fitted estimator in shard 0, and None in the others.

    Parameters
    ----------
    estimator : estimator
        The same in all shards; shard 0 fits it.
    shard : Shard
        The rows of this shard.
    shards : Shards
        How it talks to the others.
    callbacks : sequence of Callback
        Callbacks of this shard. They must stop the run in all shards, or in none.
    puts_rows_off : bool
        Whether the attributes about single rows are left to ``add_row_attributes``, in whatever process needs them.
    """
    check_can_be_sharded(estimator)
    shards = PostingShards(shards)
    threads = make_threads(estimator.n_jobs)
    problem = _pose(estimator, shard) if shards.rank == 0 else None
    start, given = _start(estimator, problem, shards, threads)
    here = _make_problem_here(shard, start, problem)

    def make_task() -> Any:
        task = take_task_rows(start.task, slice(None))
        task.shards = shards
        return task

    run = estimator._assemble(here, Plan(start.seed, make_task), threads)
    run.extend(estimator.n_estimators)
    with Interrupts(run) as interrupts:
        boost(run, callbacks, interrupts, threads)
    run.moments = run.list_moments()
    whole = _join_run(run, shards, given)
    if problem is None or whole is None:
        return None
    fitted = estimator._describe(whole, problem, shard.known or {})
    source = RowSource.of(whole, problem)
    later = source.without_scoring() if source.n_samples <= row_attributes.MAX_ROWS else None
    estimator._publish(fitted | {"_run": None, "target_name_": None, "table_habits_": None, ROW_SOURCE: later})
    warn_if_interrupted(whole)
    warn_if_useless(whole, vars(estimator))
    if not puts_rows_off:
        add_row_attributes(estimator)
    return estimator


def add_row_attributes(estimator: MinipatchBooster) -> None:
    """Compute the attributes about single rows, if they were put off."""
    source = vars(estimator).get(ROW_SOURCE)
    if source is not None:
        estimator._publish(estimator._describe_rows(source) | {ROW_SOURCE: None})


def _pose(estimator: MinipatchBooster, shard: Shard) -> Problem:
    """Encode the targets of all rows."""
    assert shard.y is not None
    assert shard.known is not None
    problem = estimator._pose(TrainingData(shard.table, shard.y, shard.sample_weight, shard.known))
    if shard.validation is not None:
        problem = problem.with_validation(*shard.validation)
    return replace(problem, is_present=shard.is_present)


def _start(
    estimator: MinipatchBooster, problem: Problem | None, shards: Shards, threads: _native.Threads
) -> tuple[_Start, list[NDArray[Any] | None]]:
    """Decide in shard 0 what follows from all rows; give each shard its part of that.

    Shard 0 also gets what it needs at the end: the labels and weights of all rows, as the task has them.
    """
    given: list[NDArray[Any] | None] = []

    def cut(ranges: Sequence[tuple[int, int]]) -> list[Any]:
        assert problem is not None
        whole = estimator._plan(problem, seed, threads).make_task()
        given[:] = whole.list_given_arrays()
        facts = problem.classes, problem.is_categorical, problem.feature_names, problem.has_validation
        starts = [_Start(seed, take_task_rows(whole, slice(first, end)), *facts) for first, end in ranges]
        return [starts[0], *map(_pack, starts[1:])]

    here = shards.first_row, shards.end_row
    seed: int = shards.exchange(lambda: draw_seed(estimator.random_state), lambda seeds: seeds[0])
    dealt = shards.deal(lambda: here, cut, keeps=True)
    if shards.rank:
        return _unpack(dealt), given
    return cut([here])[0] if dealt is None else dealt, given  # None: shard 0 itself catches up


def _pack(start: _Start) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """Pickle what a shard starts from; its arrays are not copied."""
    import cloudpickle  # for functions of the user, such as scoring; Dask and Ray bring it along

    buffers: list[pickle.PickleBuffer] = []
    return cloudpickle.dumps(start, protocol=5, buffer_callback=buffers.append), buffers


def _unpack(packed: Any) -> _Start:
    pickled, buffers = packed
    start: _Start = pickle.loads(pickled, buffers=buffers)
    return start


def _make_problem_here(shard: Shard, start: _Start, problem: Problem | None) -> Problem:
    """Make the problem of the rows of this shard."""
    task: Task[Any, Any] = start.task
    validation = None if problem is None else problem.validation
    return Problem(
        Examples(shard.table, task.labels, task.sample_weights, task.score_weights),
        start.classes,
        None,
        start.is_categorical,
        start.feature_names,
        validation,
        is_validated_elsewhere=start.has_validation and validation is None,
    )


def _join_run(run: BoostingRun, shards: Shards, given: Sequence[NDArray[Any] | None]) -> BoostingRun | None:
    """Bring the best state of all shards together in shard 0; return the run of all rows, and None in the others."""
    task, joined = run.parts.task, list[BoostingRun]()

    def join(states: Sequence[dict[str, NDArray[Any]]]) -> list[None]:
        kept = [vars(task)[name] for name in OF_ALL_ROWS if name in vars(task)]
        best = {
            name: array if name in NOT_ABOUT_ROWS else np.concatenate([state[name] for state in states])
            for name, array in states[0].items()
        }
        joined.append(run.with_all_rows(spread_task(task, given, shards.n_rows, kept), best))
        return [None] * shards.size

    shards.deal(lambda: run.best.task, join)
    return joined[0] if joined else None
