"""Shards of a fit as Ray actors, whose messages to each other are calls of ``deliver``."""

import math
import os
import platform
from collections.abc import Sequence
from typing import Any

from mpboost.dask.transport import Frames, Hub, Spoke, freeze
from mpboost.dask.worker_fits import fit_shard_here
from mpboost.ray.blocks import get
from mpboost.ray.imports import import_ray


class LostShardError(RuntimeError):
    """The process of a shard is lost, and the fit with it."""


class ActorLine:
    """A line to another shard: each message is a call of its actor. Ray drops calls of actors that are gone.

    Calls may overtake each other. Without replay that does no harm: parts and results have numbers, and a shard
    expects nothing before it is welcomed.
    """

    def __init__(self, actor: Any, rank: int):
        self._actor, self._rank = actor, rank

    def send(self, header: dict[str, Any], frames: Frames = ()) -> None:
        """Call the other shard, without waiting for it."""
        self._actor.deliver.remote(self._rank, header, freeze(frames))

    def close(self) -> None:
        """Do nothing: an actor has no connection."""


class ShardActor:
    """One shard, in a process of its own.

    Parameters
    ----------
    rank : int
        The number of the shard.
    ranges : sequence of (int, int)
        The first row of each shard, and the row after its last.
    """

    def __init__(self, rank: int, ranges: Sequence[tuple[int, int]]):
        # Ray tells the driver of actors that are lost: shards need not listen for signs of life.
        self._spoke = Spoke(rank, ranges, max_silence=math.inf) if rank else None
        self._hub = None if rank else Hub(ranges, max_silence=math.inf)
        self._lines: dict[int, ActorLine] = {}

    def describe(self) -> str:
        """Say in which process this shard is."""
        return f"process {os.getpid()} on {platform.node()}"

    def deliver(self, sender: int, header: dict[str, Any], frames: Frames) -> None:
        """Take a message of another shard."""
        if self._spoke is not None:
            self._spoke.receive(header, frames)
        elif self._hub is not None:
            self._hub.receive(sender, self._lines[sender], header, frames)

    def run(self, actors: list[Any], estimator: Any, make: Any, plan: Any, pieces: list[list[Any]]) -> bytes | None:
        """Make the data of this shard and train on it; return fitted estimator and warnings, pickled, in shard 0."""
        import cloudpickle

        data = make(plan, *(get(refs) for refs in pieces))
        if self._spoke is not None:
            self._spoke.connect(ActorLine(actors[0], self._spoke.rank))
            fit_shard_here(estimator, data, self._spoke, [])
            return None
        assert self._hub is not None
        self._lines = {rank: ActorLine(actor, 0) for rank, actor in enumerate(actors) if rank}
        for rank, line in self._lines.items():
            self._hub.connect(rank, line, f"shard {rank}")
        # Not as it is: arrays that Ray passes on cannot be written to.
        return bytes(cloudpickle.dumps(fit_shard_here(estimator, data, self._hub, [], puts_rows_off=False)))


def start_actors(ranges: Sequence[tuple[int, int]], n_cpus: int, group: Any) -> list[Any]:
    """Start an actor for each shard, in the bundles of a placement group."""
    ray = import_ray()
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    actor = ray.remote(ShardActor)
    return [
        actor.options(
            num_cpus=n_cpus,
            max_concurrency=3,  # one thread runs the shard, others take messages
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, rank),
        ).remote(rank, ranges)
        for rank in range(len(ranges))
    ]


def follow_actors(actors: list[Any], runs: list[Any]) -> bytes:
    """Wait for shard 0, and return its result; raise an error if a shard fails or is lost."""
    ray = import_ray()
    names = get([actor.describe.remote() for actor in actors])
    waiting = list(runs)
    while runs[0] in waiting:
        done, waiting = ray.wait(waiting, num_returns=1)
        for ref in done:
            rank = runs.index(ref)
            try:
                result = get(ref)
            except ray.exceptions.RayError as error:
                raise LostShardError(
                    f"Shard {rank} of {len(runs)} is lost with its {names[rank]}; perhaps it had too little memory. "
                    "Ray's logs may tell why. Fit again, with more shards if memory was short."
                ) from error
    return bytes(result)
