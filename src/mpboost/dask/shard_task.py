"""A shard of a fit as a task of a Dask worker, and what the client calls on the workers."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from mpboost.boosting.callbacks import Callback
from mpboost.dask.desk import Desk
from mpboost.dask.lines import (
    close_hub,
    connect_spoke,
    count_kept,
    describe_worker,
    drop_record,
    drop_record_later,
    fetch_record,
    keep_record,
    open_hub,
)
from mpboost.dask.memory_reuse import kept_memory
from mpboost.dask.shard_callbacks import Consult, Inform, StopTogether
from mpboost.dask.switching import short_turns
from mpboost.dask.transport import Hub, LineLostError, ShardsEndedError, Spoke

#: The topic of the messages of shards to clients. One for all fits: a scheduler keeps the last messages of each topic.
TOPIC = "mpboost"

#: What a shard runs: (its data, what it sees of all shards, callbacks) -> the result in shard 0.
Fit = Callable[[Any, Any, Sequence[Callback]], Any]


@dataclass(frozen=True)
class Assignment:
    """What a task must know to be a shard.

    Attributes
    ----------
    fit_id : str
        The name of the fit, which no other has.
    ranges : sequence of (int, int)
        The first row of each shard, and the row after its last.
    has_callbacks : bool
        Whether callbacks at the client decide after each iteration.
    max_silence : float
        Seconds without a sign of life after which a process counts as lost.
    rank : int
        The number of the shard.
    hub_address, hub_token : str
        The worker of shard 0, and by what name the shard finds it there.
    keeps_record : bool
        Whether to keep the results of exchanges, in case that shard 0 is lost.
    attempt : str
        Of shard 0: which of the client's attempts to start it this is.
    """

    fit_id: str
    ranges: tuple[tuple[int, int], ...]
    has_callbacks: bool
    max_silence: float
    rank: int = 0
    hub_address: str = ""
    hub_token: str = ""
    keeps_record: bool = False
    attempt: str = ""


class _Running:
    """What runs in this process: shards by fit, and desks by the token of their shard 0."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.desks: dict[str, Desk] = {}
        self.shards: dict[str, list[Hub | Spoke]] = {}

    @contextmanager
    def holding(self, fit_id: str, shards: Hub | Spoke) -> Iterator[None]:
        """Have a shard in the list as long as it runs."""
        with self.lock:
            self.shards.setdefault(fit_id, []).append(shards)
        try:
            yield
        finally:
            with self.lock:
                self.shards[fit_id].remove(shards)
                if not self.shards[fit_id]:
                    del self.shards[fit_id]


_running = _Running()


def run_shard(data: Any, assignment: Assignment, fit: Fit) -> Any:
    """Run a shard; return the result in shard 0, and in words how it ended elsewhere.

    It runs in a thread of its own, so that the worker can do other work, say compute the data of a shard to come.
    """
    from distributed import get_worker, secede

    worker = get_worker()
    secede()
    run = _run_spoke if assignment.rank else _run_hub
    # A shard that is alone sends no results that others wait for.
    with short_turns() if len(assignment.ranges) > 1 else nullcontext(), kept_memory():
        return run(worker, data, assignment, fit)


def _run_hub(worker: Any, data: Any, assignment: Assignment, fit: Fit) -> Any:
    token = uuid.uuid4().hex

    def send(message: dict[str, Any]) -> None:
        worker.log_event(TOPIC, {"fit_id": assignment.fit_id, "token": token, **message})

    desk = Desk(assignment.fit_id, send, assignment.max_silence)

    def watch() -> None:
        _check_worker(worker)
        desk.check()

    _running.desks[token] = desk
    hub = None
    try:
        place = {"address": worker.address, "name": describe_worker(worker)}
        send({"kind": "hub", "attempt": assignment.attempt, **place})
        orders = desk.wait_for_orders()
        if orders["time_left"] is not None:
            desk.deadline = time.monotonic() + orders["time_left"]
        record = fetch_record(worker, orders["record_at"], assignment.fit_id) if orders["record_at"] else None
        hub = Hub(assignment.ranges, record, watch, assignment.max_silence)
        desk.hub = hub
        open_hub(worker, token, hub)
        send({"kind": "open"})
        consulting = [Consult(hub, desk)] if assignment.has_callbacks else []
        with _running.holding(assignment.fit_id, hub):
            return fit(data, hub, [Inform(hub, desk), StopTogether(hub), *consulting])
    finally:
        close_hub(token)
        if hub is not None:
            hub.close()
        del _running.desks[token]


def _run_spoke(worker: Any, data: Any, assignment: Assignment, fit: Fit) -> str:
    spoke = Spoke(assignment.rank, assignment.ranges, lambda: _check_worker(worker), assignment.max_silence)
    record = keep_record(worker, assignment.fit_id) if assignment.keeps_record else None
    if record is not None:
        spoke.keep(record)
    place = {"rank": assignment.rank, "name": describe_worker(worker), "address": worker.address}
    worker.log_event(TOPIC, {"fit_id": assignment.fit_id, "token": assignment.hub_token, "kind": "shard", **place})
    consulting = [Consult(spoke, None)] if assignment.has_callbacks else []
    outcome = "ended"
    try:
        with _running.holding(assignment.fit_id, spoke):
            connect_spoke(worker, assignment.hub_address, assignment.hub_token, spoke)
            fit(data, spoke, [StopTogether(spoke), *consulting])
        outcome = "done"
    except LineLostError:
        outcome = "lost"
    except ShardsEndedError:
        pass
    finally:
        spoke.close()
        if record is not None and outcome == "ended":
            drop_record(assignment.fit_id, record)
        elif record is not None:  # shard 0 is lost, or may still be
            drop_record_later(worker, assignment.fit_id, record)
    return outcome


def _check_worker(worker: Any) -> None:
    from distributed.core import Status

    if worker.status in (Status.closing, Status.closed, Status.failed):
        raise ShardsEndedError("The worker ends.")


# What the client calls on the workers.


def tell(token: str, message: dict[str, Any]) -> dict[str, Any] | None:
    """Give shard 0, which runs on this worker, a message of the client; None if it does not run here any more."""
    desk = _running.desks.get(token)
    return None if desk is None else desk.hear(message)


def end_fit(fit_id: str) -> None:
    """End what still runs of a fit on this worker."""
    drop_record(fit_id)
    ended = ShardsEndedError("The fit is over.")
    with _running.lock:
        shards = list(_running.shards.get(fit_id, ()))
    for shard in shards:
        shard.fail(ended)
    for desk in list(_running.desks.values()):
        if desk.fit_id == fit_id:
            desk.fail(ended)


def count_running() -> dict[str, int]:
    """Count what this process holds of fits: all of it should be gone when they are over."""
    return {"desks": len(_running.desks), "shards": len(_running.shards), **count_kept()}
