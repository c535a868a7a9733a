"""The client's side of a fit on shards: it starts them, follows them, replaces lost ones, and fetches the model."""

import logging
import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from mpboost._shards import Shards
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.stop_reasons import StopReason
from mpboost.dask.audience import Audience
from mpboost.dask.control_c import ControlC
from mpboost.dask.mail import HubMail, WorkerWatch, bring, close_inbox, end_everywhere, fetch, open_inbox
from mpboost.dask.pinning import call_on
from mpboost.dask.shard_task import Assignment, run_shard
from mpboost.dask.transport import MAX_SILENCE, ShardsEndedError, SilentShardError

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")

logger = logging.getLogger("mpboost.dask")

#: Seconds between two looks at what may have happened.
TICK = 0.05
#: Seconds that Dask has to start a shard anew whose worker is gone.
MOVE_AFTER = 3.0
#: How often a shard may move before the fit makes progress again.
MAX_MOVES = 5
#: Seconds that an empty cluster may take to get a worker again.
NO_WORKERS_LIMIT = 30.0
#: Seconds that shards wait for the replacement of a lost one; ten times what it took to make them, if that is more.
RECOVERY_LIMIT = 600.0
#: Seconds that a callback may wait for an attribute of the run.
LOOK_LIMIT = 30.0
#: How often fetching the result may fail: it is made anew if its worker is lost.
MAX_FETCHES = 5
#: Seconds that workers have to answer when they are told that the fit is over.
END_LIMIT = 2.0

#: What a shard runs: (its data, what it sees of all shards, callbacks) -> the result in shard 0, None elsewhere.
Fit = Callable[[Any, Shards, Sequence[Callback]], Result | None]


@dataclass(frozen=True)
class ShardSource:
    """What the data of one shard are made from.

    Dask computes the pieces, where it likes, and then ``make(*pieces)`` on the worker that the shard lives on. If that
    worker is lost, what was lost with it is computed again on another one: what was read from files is read again, what
    was scattered may be gone.

    Attributes
    ----------
    first_row, end_row : int
        The rows of the shard, counted over all shards. Shards follow each other without gaps, from row 0.
    make : callable
        Makes the data of the shard, say a ``Shard`` record, from the computed pieces. It must be picklable.
    pieces : sequence
        Dask futures, delayed objects, or plain values. Those that only the shard needs should be delayed objects, not
        futures that someone holds: then Dask frees the memory of the pieces when the shard is made.
    worker : str or None
        Address of the worker that the shard should live on, if it is there; None to spread shards over all workers.
    """

    first_row: int
    end_row: int
    make: Callable[..., Any]
    pieces: Sequence[Any] = ()
    worker: str | None = None


def run_sharded(
    client: "Client",
    sources: Sequence[ShardSource],
    fit: Fit[Result],
    *,
    callbacks: Sequence[Callback] = (),
    watchers: Sequence[Callback] = (),
    time_limit: float | None = None,
) -> Result:
    """Run a fit on shards, and return what shard 0 returns.

    Parameters
    ----------
    client : distributed.Client
        A client that is connected to the cluster.
    sources : sequence of ShardSource
        What the shards are made from, in the order of their rows; at least one.
    fit : callable
        Called in each shard as ``fit(data, shards, callbacks)``, where ``data`` is what ``ShardSource.make`` returned;
        say ``functools.partial(fit_shard, estimator)``. It must be picklable, return the result in shard 0 and None
        elsewhere, and pass the callbacks to the boosting loop after all others: they make all shards stop together.
    callbacks : sequence of Callback
        Callbacks of the user, which run here, in the client, after each iteration. Shards wait for their verdict.
    watchers : sequence of Callback
        Callbacks that only watch, such as a progress bar. They run here, too, but no more than ten times a second, and
        shards do not wait for them.
    time_limit : float or None
        Seconds from now after which the fit stops, with the model so far.

    Returns
    -------
    result
        What ``fit`` returned in shard 0. After an interrupt (Ctrl-C) it is the model so far; the ``stop_reason`` of the
        run tells.

    Raises
    ------
    ShardError
        If a shard is lost and its source is gone, too, or the cluster is. The message names worker and iteration.
    Exception
        What ``fit`` or ``ShardSource.make`` raised in a shard, with its traceback.
    KeyboardInterrupt
        If the fit is interrupted before its first iteration is done, or a second time.
    """
    if getattr(client, "asynchronous", False):
        raise TypeError("The client is asynchronous: pass one that is not, made by Client(...) outside of coroutines.")
    ranges = tuple((source.first_row, source.end_row) for source in sources)
    if not ranges or ranges[0][0] != 0 or any(end != first for (_, end), (first, _) in pairwise(ranges)):
        raise ValueError("Shards must follow each other without gaps, from row 0.")
    with ControlC() as control_c:
        return _Driver(client, sources, fit, callbacks, watchers, time_limit, control_c).run()


class _Driver:
    """The state of a fit, as the client knows it."""

    def __init__(
        self,
        client: "Client",
        sources: Sequence[ShardSource],
        fit: Fit[Any],
        callbacks: Sequence[Callback],
        watchers: Sequence[Callback],
        time_limit: float | None,
        control_c: ControlC,
    ):
        self._client, self._fit, self._control_c = client, fit, control_c
        self._ranges = tuple((source.first_row, source.end_row) for source in sources)
        self._audience = Audience(callbacks, watchers, self._ranges[-1][1], self._look)
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._fit_id = uuid.uuid4().hex
        self._inbox = open_inbox(client, self._fit_id)
        self._watch = WorkerWatch(client)
        self._sources = sources
        self._homes = self._choose_homes()
        self._data: list[Any] = []
        self._hub: Any = None
        self._attempt = ""
        self._spokes: dict[int, Any] = {}
        self._mail: HubMail | None = None
        self._hub_name = ""
        self._names: dict[int, str] = {}
        self._keeper = ""
        self._n_calls, self._last_progress = -1, time.monotonic()
        self._given_up_at: dict[int, int] = {}
        self._gone_since: dict[int, float] = {}
        #: How often a shard moved, by its rank and the number of calls that were done then.
        self._n_moves: Counter[tuple[int, int]] = Counter()
        self._is_fetching, self._n_failed_fetches = False, 0
        self._started = time.monotonic()

    def run(self) -> Any:
        """Start the shards and follow them until shard 0 has returned."""
        try:
            self._start()
            while True:
                if self._control_c.is_pressed:
                    self._interrupt()
                try:
                    message = self._inbox.get(timeout=TICK)
                except queue.Empty:
                    message = {"kind": "nothing"}
                if message["kind"] == "fetched":
                    if "error" not in message:
                        self._audience.end()
                        return message["value"]
                    self._note_failed_fetch(message["error"])
                else:
                    self._handle(message)
                self._check_cluster()
                self._check_homes()
                self._check_data()
                self._check_hub()
                self._check_spokes()
        except BaseException as error:
            try:
                self._audience.end()
            except Exception as another:
                error.add_note(f"A callback failed at the end of the fit, too: {another!r}")
            raise
        finally:
            self._end()

    # Starting

    def _choose_homes(self) -> list[str]:
        """Choose a worker for each shard: neighbours side by side, the same number everywhere."""
        workers = sorted(self._watch.addresses)
        if not workers:
            raise ShardError("The cluster has no workers: start some, or wait for them with client.wait_for_workers().")
        size = len(self._sources)
        return [source.worker or workers[i * len(workers) // size] for i, source in enumerate(self._sources)]

    def _start(self) -> None:
        # All at once: what several shards are made from is computed once.
        self._data = self._client.compute([self._describe_data(rank) for rank in range(len(self._sources))])
        self._submit_hub()

    def _describe_data(self, rank: int) -> Any:
        """Describe how the data of a shard are made, for Dask to compute."""
        source = self._sources[rank]
        return call_on(self._homes[rank], source.make, *source.pieces)

    def _submit(self, assignment: Assignment) -> Any:
        return self._client.submit(
            run_shard,
            self._data[assignment.rank],
            assignment,
            self._fit,
            key=f"mpboost-shard-{assignment.rank}-{uuid.uuid4().hex}",
            workers=[self._homes[assignment.rank]],
            allow_other_workers=True,
        )

    def _submit_hub(self) -> None:
        if self._hub is not None:
            self._hub.release()  # by name: its callback keeps it alive
        self._attempt = uuid.uuid4().hex
        self._hub = self._submit(
            Assignment(self._fit_id, self._ranges, self._audience.decides, MAX_SILENCE, attempt=self._attempt)
        )
        self._hub.add_done_callback(lambda _: self._inbox.put({"kind": "nothing"}))  # look at it at once

    def _submit_spoke(self, rank: int) -> None:
        assert self._mail is not None
        hub, keeps_record = (self._mail.address, self._mail.token), rank == self._choose_keeper()
        self._spokes[rank] = self._submit(
            Assignment(self._fit_id, self._ranges, self._audience.decides, MAX_SILENCE, rank, *hub, keeps_record)
        )

    def _choose_keeper(self) -> int:
        """Choose the shard that keeps the record: one that does not live with shard 0."""
        assert self._mail is not None
        others = (rank for rank in range(1, len(self._ranges)) if self._homes[rank] != self._mail.address)
        return next(others, 0)

    # Following

    def _handle(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "hub":
            self._meet_hub(message)
            return
        if self._mail is None or message.get("token") != self._mail.token:
            return  # nothing, or of a hub that was lost
        if kind == "open":
            self._last_progress = time.monotonic()
            self._spokes = {}
            for rank in range(1, len(self._ranges)):
                self._submit_spoke(rank)
        elif kind == "shard":
            self._last_progress = time.monotonic()
            logger.info("Shard %d begins on %s, %s.", message["rank"], message["name"], self._describe_time())
            self._names[message["rank"]] = message["name"]
            self._homes[message["rank"]] = message["address"]
            if message["rank"] == self._choose_keeper():
                self._keeper = message["address"]
        elif kind == "report":
            self._audience.hear(message["report"])
        elif kind == "question":
            self._decide(message)
        elif kind == "answer":
            self._take_answer(message)

    def _meet_hub(self, message: dict[str, Any]) -> None:
        place = message["token"], message["address"]
        mail = HubMail(self._client, self._fit_id, *place, self._inbox, self._watch)
        if message["attempt"] != self._attempt:  # it was given up before it began: nobody would fetch its result
            mail.send({"kind": "end"})
            mail.close()
            return
        if self._mail is not None:
            self._mail.close()
        self._hub_name = message["name"]
        logger.info("Shard 0 begins on %s, %s.", self._hub_name, self._describe_time())
        self._homes[0] = message["address"]
        self._mail = mail
        self._spokes = {}
        time_left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        record_at = self._keeper if self._keeper in self._watch.addresses else ""
        self._mail.send({"kind": "start", "time_left": time_left, "record_at": record_at})
        self._last_progress = time.monotonic()

    def _decide(self, question: dict[str, Any]) -> None:
        assert self._mail is not None
        with self._control_c.raised():
            verdict = self._audience.decide(question["report"])
        self._mail.send({"kind": "verdict", "number": question["number"], "verdict": verdict})

    def _take_answer(self, answer: dict[str, Any]) -> None:
        if answer.get("n_calls", -1) > self._n_calls:
            self._n_calls, self._last_progress = answer["n_calls"], time.monotonic()
        if "missing" in answer:
            self._check_patience(answer["missing"])
            for rank, future in self._spokes.items():
                # It lost the connection to a hub that is alive, as this answer shows.
                if future.status == "finished" and any(rank == missing for missing, _ in answer["missing"]):
                    self._submit_spoke(rank)
        question = answer["question"]
        if question is not None:
            self._decide(question)  # once more: the question, or the verdict, may have been lost

    def _look(self, name: str) -> Any:
        """Fetch an attribute of the run, which waits for the client."""
        assert self._mail is not None
        self._mail.send({"kind": "look", "name": name})
        later = []
        deadline = time.monotonic() + LOOK_LIMIT
        try:
            while time.monotonic() < deadline:
                try:
                    message = self._inbox.get(timeout=TICK)
                except queue.Empty:
                    continue
                if (
                    message["kind"] == "answer"
                    and message["to"].get("kind") == "look"
                    and message["answer"] is not None
                ):
                    return message["answer"]
                later.append(message)
        finally:
            for message in later:
                self._inbox.put(message)
        raise ShardError(f"Shard 0 on {self._hub_name} does not tell the {name.replace('_', ' ')} of the run.")

    def _interrupt(self) -> None:
        if self._audience.iteration == 0 or self._mail is None:
            raise KeyboardInterrupt
        self._control_c.is_pressed = False
        self._mail.send({"kind": "stop", "words": StopReason.INTERRUPTED.name})

    # Faults

    def _check_cluster(self) -> None:
        if self._client.status != "running":
            raise ShardError(f"The client lost the connection to the scheduler, {self._describe_time()}.")
        if time.monotonic() - self._watch.last_seen > NO_WORKERS_LIMIT:
            raise ShardError(f"The cluster has no workers any more, {self._describe_time()}.")

    def _check_homes(self) -> None:
        """Move shards whose worker is gone, if Dask has not: it does not if there was no worker at all for a while."""
        workers, now = self._watch.addresses, time.monotonic()
        for rank, home in enumerate(self._homes):
            if home in workers:
                self._gone_since.pop(rank, None)
            elif workers and now - self._gone_since.setdefault(rank, now) > MOVE_AFTER:
                self._n_moves[rank, self._n_calls] += 1
                if self._n_moves[rank, self._n_calls] > MAX_MOVES:
                    raise self._make_last_loss(rank, "making the data of", home)
                self._homes[rank] = min(sorted(workers), key=self._homes.count)
                logger.info("Shard %d moves from %s to %s.", rank, home, self._homes[rank])
                self._move(rank)

    def _move(self, rank: int) -> None:
        if self._data[rank].status != "finished":
            self._data[rank] = self._client.compute(self._describe_data(rank))
        if rank == 0:
            self._submit_hub()
        elif rank in self._spokes:
            self._submit_spoke(rank)

    def _check_data(self) -> None:
        for rank, future in enumerate(self._data):
            if future.status == "cancelled":
                self._check_cluster()  # a lost scheduler cancels futures, too
                raise ShardError(
                    f"The worker {self._name(rank)} with shard {rank} was lost, {self._describe_time()}, and what the "
                    "shard was made from is lost, too. Keep data in files that all workers can read, in place of "
                    "scattering it; then a lost shard can be made anew."
                )
            if future.status == "error":
                self._raise(rank, future, "making the data of")

    def _note_failed_fetch(self, error: BaseException) -> None:
        """Let the result of shard 0 be fetched again: it may have been lost before it arrived, and be made anew."""
        self._is_fetching = False
        self._n_failed_fetches += 1
        if self._n_failed_fetches > MAX_FETCHES:
            raise ShardError(f"The fitted model could not be brought here from {self._name(0)}: {error!r}.") from error

    def _check_hub(self) -> None:
        if self._hub.status == "finished":
            if not self._is_fetching:
                self._is_fetching = True
                fetch(partial(bring, self._client, self._hub, self._homes[0]), self._inbox)
            return
        if self._hub.status == "cancelled":
            self._check_cluster()
            raise ShardError(f"Shard 0 on {self._name(0)} was cancelled, {self._describe_time()}.")
        if self._hub.status == "error":
            self._raise(0, self._hub, "running")
            self._submit_hub()
        mail = self._mail
        if mail is not None and mail.waiting_since is not None and mail.address in self._watch.addresses:
            silence = time.monotonic() - mail.waiting_since
            if silence > MAX_SILENCE:
                raise ShardError(
                    f"The worker {self._hub_name} with shard 0 does not answer: no sign of life for {silence:.0f} "
                    f"seconds, {self._describe_time()}."
                )

    def _check_spokes(self) -> None:
        for rank, future in list(self._spokes.items()):
            if future.status == "error":
                self._raise(rank, future, "running")
                self._submit_spoke(rank)
            elif future.status == "cancelled":
                self._check_cluster()  # a lost scheduler cancels futures, too
                raise ShardError(f"Shard {rank} on {self._name(rank)} was cancelled, {self._describe_time()}.")

    def _check_patience(self, missing: list[tuple[int, str]]) -> None:
        made_in = self._last_progress - self._started
        if missing and time.monotonic() - self._last_progress > max(RECOVERY_LIMIT, 10 * made_in):
            names = ", ".join(f"shard {rank}" + (f" (last on {name})" if name else "") for rank, name in missing)
            raise ShardError(f"Nobody has replaced {names}, {self._describe_time()}.")

    def _raise(self, rank: int, future: Any, doing: str) -> None:
        """Raise the error of a task, unless its workers were lost and the fit has gone on since they last were."""
        from distributed.scheduler import KilledWorker

        error = future.exception()
        if isinstance(error, SilentShardError):
            raise ShardError(f"{error} It was lost {self._describe_time()}.")
        if not isinstance(error, KilledWorker | ShardsEndedError):
            error.add_note(f"This happened on the worker {self._name(rank)}, {doing} shard {rank} of the fit.")
            raise error.with_traceback(future.traceback())
        last, self._given_up_at[rank] = self._given_up_at.get(rank, -1), self._n_calls
        if doing == "running" and last < self._n_calls:
            return
        worker = error.last_worker.address if isinstance(error, KilledWorker) else self._name(rank)
        raise self._make_last_loss(rank, doing, worker) from error

    def _make_last_loss(self, rank: int, doing: str, worker: str) -> "ShardError":
        return ShardError(
            f"Workers were lost again and again, {doing} shard {rank}, {self._describe_time()}; the last one was "
            f"{worker}. They may have too little memory: use more or larger workers."
        )

    def _name(self, rank: int) -> str:
        if rank == 0 and self._hub_name:
            return self._hub_name
        return self._names.get(rank, self._homes[rank])

    def _describe_time(self) -> str:
        iteration = self._audience.iteration
        return f"after iteration {iteration}" if iteration else "before the first iteration was done"

    # Ending

    def _end(self) -> None:
        close_inbox(self._fit_id)
        self._watch.close()
        if self._mail is not None:
            self._mail.close()
        # Futures first: then Dask does not start anything again. Tracebacks may keep them alive, so they are released.
        for future in [*self._data, *self._spokes.values(), self._hub]:
            if future is not None:
                future.release()
        self._data, self._hub, self._spokes = [], None, {}
        if self._client.status == "running":
            end_everywhere(self._client, self._fit_id, END_LIMIT)


class ShardError(RuntimeError):
    """A fit on shards cannot go on: a worker, the scheduler, or what a shard was made from is gone."""
