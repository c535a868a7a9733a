"""A fit on Ray: survey and code the blocks, cut the rows into shards, and train on them."""

import copy
import pickle
import warnings
from typing import Any, TypeVar

from mpboost.dask.sharding import FirstShard, cut_part, cut_rows, drop_codes, list_pieces, make_shard
from mpboost.datasets.batches import Choice
from mpboost.estimators.sharded import check_can_be_sharded
from mpboost.ray.blocks import CodedBlocks, code_blocks, list_blocks, wait_for_all
from mpboost.ray.imports import import_ray
from mpboost.ray.shard_actors import follow_actors, start_actors

Estimator = TypeVar("Estimator")

ADVICE = "train on one machine by estimator.fit, say on a BinnedDataset of Parquet files"


def fit_on_ray(
    estimator: Estimator, X: Any, y: str, sample_weight: str | None = None, *, n_shards: int | None = None
) -> Estimator:
    """Train an estimator on the rows of a Ray dataset, which stay on the cluster.

    The model is that of ``estimator.fit`` with the same rows in the same order, bit for bit, for any blocks and any
    number of shards. If a shard is lost, so is the fit.

    Parameters
    ----------
    estimator : estimator
        One of mpboost's. It is not changed. ``n_jobs`` is the number of threads of each shard, which asks Ray for as
        many CPUs (None: 1).
    X : ray.data.Dataset, or list of ObjectRef
        The rows; references are to data frames of pandas, one for each block.
    y, sample_weight : str
        Names of the columns of X with targets and weights.
    n_shards : int or None
        In how many places to train, each an actor of Ray. None for one on each node. There are fewer if some would
        have less than 16 384 rows.

    Returns
    -------
    estimator
        A fitted copy of the estimator.

    Examples
    --------
    >>> from mpboost import MPGradientBoostingClassifier
    >>> from mpboost.ray import fit_on_ray
    >>> table = ray.data.read_parquet("customers")  # doctest: +SKIP
    >>> model = fit_on_ray(MPGradientBoostingClassifier(random_state=0), table, "churned")  # doctest: +SKIP
    """
    ray = import_ray()
    n_cpus = _check(estimator)
    blocks = list_blocks(X)
    choice = Choice(y, sample_weight)
    params = estimator.get_params(deep=False)  # type: ignore[attr-defined]
    n_shards = _check_room(n_shards, n_cpus)
    coded = code_blocks(
        blocks, choice, categorical_features=params["categorical_features"], max_bins=params["max_bins"]
    )
    ranges = cut_rows(sum(coded.counts), n_shards)
    pieces = [_list_pieces(coded, begin, end) for begin, end in ranges]
    wait_for_all([ref for lists in pieces for refs in lists for ref in refs])  # shards take the processors
    # All or none: two fits at once must not wait for each other's processors.
    group = ray.util.placement_group([{"CPU": n_cpus}] * len(ranges), strategy="SPREAD")
    try:
        ray.get(group.ready())
        actors = start_actors(ranges, n_cpus, group)
        here = copy.copy(estimator).set_params(n_jobs=n_cpus)  # type: ignore[attr-defined]
        first = FirstShard(here, sample_weight is not None, False)
        runs = [
            actor.run.remote(actors, here, make_shard if rank else first, coded.plan, pieces[rank])
            for rank, actor in enumerate(actors)
        ]
        fitted, warned = pickle.loads(follow_actors(actors, runs))
    finally:
        ray.util.remove_placement_group(group)  # ends the actors, too
    for text, category in warned:
        warnings.warn(text, category, stacklevel=2)
    return fitted.set_params(**{name: params[name] for name in ("n_jobs", "random_state", "callbacks")})


def _check(estimator: Any) -> int:
    """Refuse what does not work on Ray; return the number of processors of each shard."""
    check_can_be_sharded(estimator, ADVICE)
    for name in ("callbacks", "time_limit", "verbose"):
        if getattr(estimator, name):
            raise ValueError(f"{name}={getattr(estimator, name)!r} does not work on Ray: leave it out.")
    n_jobs = 1 if estimator.n_jobs is None else estimator.n_jobs
    if n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs} does not work on Ray: say how many threads each shard may use.")
    return int(n_jobs)


def _check_room(n_shards: int | None, n_cpus: int) -> int:
    """Choose the number of shards; raise a ValueError if the cluster could never run them."""
    nodes = [node["Resources"].get("CPU", 0) for node in import_ray().nodes() if node["Alive"]]
    n_shards = sum(n_here >= n_cpus for n_here in nodes) if n_shards is None else n_shards
    if n_shards < 1 or n_shards > sum(n_here // n_cpus for n_here in nodes):
        raise ValueError(
            f"{n_shards} shards of {n_cpus} threads each cannot run on this cluster, whose nodes have "
            f"{', '.join(f'{n_here:g}' for n_here in nodes)} processors: choose another n_shards, or another n_jobs."
        )
    return n_shards


def _list_pieces(coded: CodedBlocks, begin: int, end: int) -> list[list[Any]]:
    """List what a shard is made from: codes of its rows and, in shard 0, targets and weights of all rows."""
    remote = import_ray().remote
    codes = [
        remote(cut_part).remote(coded.parts[piece.partition], piece.begin, piece.end)
        for piece in list_pieces(coded.counts, begin, end)
    ]
    return [codes] if begin else [codes, [remote(drop_codes).remote(part) for part in coded.parts]]
