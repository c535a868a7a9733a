"""A fit on a cluster: survey and code the partitions, choose a placement, and hand the rows over."""

import copy
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sklearn.base import is_regressor
from sklearn.utils import check_random_state

from mpboost.boosting.progress import ProgressBar
from mpboost.dask.coding import code_batch
from mpboost.dask.driver import ShardSource, run_sharded
from mpboost.dask.gathering import collect_data, join_batches
from mpboost.dask.partitions import Partitions, read_partitions
from mpboost.dask.pinning import call_on
from mpboost.dask.placement import Placement, Size, choose_placement
from mpboost.dask.sharding import FirstShard, Piece, cut_part, cut_rows, drop_codes, list_pieces, make_shard
from mpboost.dask.surveying import Counts, Plan, count_partition_rows, plan_validation, survey_partitions
from mpboost.dask.waiting import Shared
from mpboost.dask.worker_fits import fit_rows, fit_shard_here, fit_table
from mpboost.dask.workers import (
    Worker,
    check_room,
    check_versions,
    count_threads_beside,
    find_holders,
    find_roomiest,
    list_workers,
    rank_room,
)
from mpboost.estimators.sharded import check_can_be_sharded


@dataclass(frozen=True)
class Fitted:
    """What a fit on a cluster gives.

    Attributes
    ----------
    estimator : estimator
        The fitted local estimator; ``add_row_attributes`` may have to complete it.
    placement : "one" or "sharded"
        Where it was trained.
    chunks : tuple of int
        The numbers of rows of the partitions.
    warnings : list
        Texts and categories of warnings that the fit raised on a worker.
    """

    estimator: Any
    placement: Placement
    chunks: tuple[int, ...]
    warnings: list[tuple[str, type[Warning]]]


@dataclass(frozen=True)
class TrainingPartitions:
    """The partitions of a fit.

    Attributes
    ----------
    train : Partitions
        The training rows.
    validation : Partitions or None
        The validation rows.
    """

    train: Partitions
    validation: Partitions | None

    @property
    def have_weights(self) -> tuple[bool, bool]:
        """Whether training rows and validation rows have weights."""
        return self.train.has_weights, self.validation is not None and self.validation.has_weights


def read_training_partitions(
    name: str, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
) -> TrainingPartitions:
    """Check what is passed to ``fit``; ``name`` is that of the estimator."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    train = read_partitions(X, y, sample_weight)
    if all(part is None for part in (X_val, y_val, sample_weight_val)):
        return TrainingPartitions(train, None)
    y_val = train.choice.target if y_val is None else y_val
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val must be passed together; sample_weight_val needs both.")
    names = "X_val", "y_val", "sample_weight_val"
    return TrainingPartitions(train, read_partitions(X_val, y_val, sample_weight_val, names))


def fit_on_cluster(client: Any, estimator: Any, data: TrainingPartitions, placement: Placement) -> Fitted:
    """Train a local estimator on a cluster.

    Parameters
    ----------
    client : distributed.Client
        A client that is connected to the cluster.
    estimator : estimator
        Unfitted; it is not changed.
    data : TrainingPartitions
        The rows.
    placement : "auto", "one" or "sharded"
        Where to train.
    """
    started = time.monotonic()
    check_versions(client)
    workers = list_workers(client)
    if placement == "sharded":
        check_can_be_sharded(estimator)
    home = find_roomiest(workers)
    # On one worker: the others on its machine have nothing to do meanwhile.
    n_jobs = count_threads_beside(home, workers) if estimator.n_jobs is None else estimator.n_jobs
    counts = count_partition_rows(client, data.train)
    run = partial(_run, client, estimator, started, tuple(each.n_rows for each in counts))
    if getattr(estimator, "estimator", None) is not None:
        return run([_make_raw_source(data, home)], fit_table, "one", n_jobs)
    # Before Dask makes copies for the survey and for the plan of validation rows.
    holders = find_holders(client, data.train.keys)
    validation_holders = [] if data.validation is None else find_holders(client, data.validation.keys)
    plan = survey_partitions(
        client,
        data.train,
        counts,
        categorical_features=estimator.categorical_features,
        max_bins=estimator.max_bins,
        n_jobs=n_jobs,
    )
    size = _measure(estimator, plan.value, counts)
    chosen = choose_placement(placement, size, workers, estimator)
    parts, validation = _code(data.train, plan, holders), []
    if data.validation is not None:
        other = plan_validation(client, data.validation, plan.future)
        validation = [other.future, _code(data.validation, other, validation_holders)]
    if chosen == "one":
        check_room(size.n_bytes_at_peak, home, f"{size.n_rows} rows of {size.n_features} features")
        make = partial(collect_data, *data.have_weights)
        source = ShardSource(0, size.n_rows, make, [plan.future, parts, *validation], home.address)
        return run([source], fit_rows, "one", n_jobs)
    counted = [each.n_present for each in counts]
    first = FirstShard(_strip(estimator), *data.have_weights)
    sources = _make_sources(first, plan, counted, parts, validation, workers, holders)
    for source in sources:
        _check_shard(size, source, next(each for each in workers if each.address == source.worker))
    return run(sources, fit_shard_here, "sharded", estimator.n_jobs)


def _make_sources(
    first: FirstShard,
    plan: Shared[Plan],
    counts: list[int],
    parts: list[Any],
    validation: list[Any],
    workers: list[Worker],
    holders: list[str | None],
) -> list[ShardSource]:
    """Say what each shard is made from.

    The first shards are on the workers with the most memory; of equal ones, each is where most of its rows are.
    """
    ranges = cut_rows(sum(counts), len(workers))
    of_shards = [list_pieces(counts, begin, end) for begin, end in ranges]
    heads = [call_on(holder, drop_codes, part) for part, holder in zip(parts, holders, strict=True)]
    sources = []
    for (begin, end), pieces, worker in zip(ranges, of_shards, assign(of_shards, workers, holders), strict=True):
        codes = [
            call_on(holders[piece.partition], cut_part, parts[piece.partition], piece.begin, piece.end)
            for piece in pieces
        ]
        made_from = [plan.future, codes] if begin else [plan.future, codes, heads, *validation]
        sources.append(ShardSource(begin, end, make_shard if begin else first, made_from, worker.address))
    return sources


def assign(of_shards: list[list[Piece]], workers: list[Worker], holders: list[str | None]) -> list[Worker]:
    """Assign a worker to each shard, given the pieces of shards and the workers that hold partitions.

    Examples
    --------
    >>> workers = [Worker("a", "", 1, 10), Worker("b", "", 1, 10), Worker("c", "", 1, 20)]
    >>> of_shards = [[Piece(0, 0, 5)], [Piece(0, 5, 9), Piece(1, 0, 2)], [Piece(1, 2, 9)]]
    >>> [worker.address for worker in assign(of_shards, workers, ["b", "a"])]
    ['c', 'b', 'a']
    """
    left, assigned = list(workers), []
    for pieces in of_shards:
        n_held = Counter({worker.address: 0 for worker in left})
        for piece in pieces:
            n_held[holders[piece.partition] or ""] += piece.end - piece.begin
        assigned.append(max(left, key=lambda worker: (rank_room(worker), n_held[worker.address])))
        left.remove(assigned[-1])
    return assigned


def _check_shard(size: Size, source: ShardSource, worker: Worker) -> None:
    """Raise a MemoryError if a worker has too little memory for its shard."""
    here = replace(size, n_rows=source.end_row - source.first_row)
    all_rows = 0 if source.first_row else size.n_bytes_of_state  # they are described in shard 0
    what = f"Rows {source.first_row} to {source.end_row - 1} of {size.n_features} features"
    check_room(here.n_bytes_at_peak + all_rows, worker, what)


def _make_raw_source(data: TrainingPartitions, worker: Worker) -> ShardSource:
    """Let one worker have all rows as they are, for weak learners that need values."""
    pieces = [data.train.batches] if data.validation is None else [data.train.batches, data.validation.batches]
    return ShardSource(0, 1, join_batches, pieces, worker.address)


def _measure(estimator: Any, plan: Plan, counts: list[Counts]) -> Size:
    values = None if plan.targets is None else plan.targets.values
    n_outputs = 1 if values is None or is_regressor(estimator) or len(values) == 2 else len(values)
    return Size(sum(each.n_present for each in counts), plan.known.features["n_features_in_"], n_outputs)


def _code(partitions: Partitions, plan: Shared[Plan], holders: list[str | None]) -> list[Any]:
    """Code partitions; those that are in the memory of a worker there, since codes are smaller than values."""
    pairs = zip(partitions.batches, holders, strict=True)
    return [call_on(holder, code_batch, batch, plan.future, number) for number, (batch, holder) in enumerate(pairs)]


def _strip(estimator: Any) -> Any:
    """Copy an estimator without what the client takes care of; a fit that begins again has the same seed."""
    seed = estimator.random_state
    seed = check_random_state(None).randint(2**31) if seed is None else seed
    return copy.copy(estimator).set_params(callbacks=None, verbose=0, time_limit=None, random_state=seed)


def _run(
    client: Any,
    estimator: Any,
    started: float,
    chunks: tuple[int, ...],
    sources: list[ShardSource],
    fit: Any,
    placement: Placement,
    n_jobs: int | None,
) -> Fitted:
    """Let the driver run a fit, which began at the time ``started``."""
    limit = estimator.time_limit
    fitted, warned = run_sharded(
        client,
        sources,
        partial(fit, _strip(estimator).set_params(n_jobs=n_jobs)),
        callbacks=estimator.callbacks or (),
        watchers=[ProgressBar()] if estimator.verbose else (),
        time_limit=None if limit is None else max(0.0, limit - (time.monotonic() - started)),
    )
    kept = {name: getattr(estimator, name) for name in ("callbacks", "verbose", "time_limit", "n_jobs", "random_state")}
    return Fitted(fitted.set_params(**kept), placement, chunks, warned)
