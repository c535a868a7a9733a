"""Lines between shards: connections between Dask workers that stay open.

A shard connects to the worker of shard 0 as workers connect to each other: same addresses, ports and certificates.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import suppress
from typing import Any

from mpboost.dask.record import Frames, Record
from mpboost.dask.transport import LARGE_BUFFER, TICK, Hub, LineLostError, Spoke

#: The operations that are added to a worker with shard 0, and to one that keeps a record.
SHARD_OPERATION = "mpboost-shard"
RECORD_OPERATION = "mpboost-record"
#: Beats of a line in the time after which a silent process counts as lost.
N_BEATS = 6
#: Seconds that a shard tries to reach the worker of shard 0.
CONNECT_LIMIT = 10.0
#: Seconds that fetching a record may take.
FETCH_LIMIT = 300.0
#: Seconds that a record is kept after its shard has lost shard 0.
RECORD_LIFETIME = 1200.0

#: Hubs in this process, by token, and records, by fit.
_HUBS: dict[str, Hub] = {}
_RECORDS: dict[str, Record] = {}


class CommLine:
    """A line over a connection of Dask, whose event loop does the reading and writing.

    Parameters
    ----------
    comm : distributed.comm.Comm
        The connection. It belongs to the running event loop.
    max_silence : float
        Seconds after which the other side takes a silent process for lost.
    """

    def __init__(self, comm: Any, max_silence: float):
        # Large messages must not be prepared in another thread: later ones would overtake them.
        comm.allow_offload = False
        self._comm, self._pause = comm, max_silence / N_BEATS
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, header: dict[str, Any], frames: Frames = ()) -> None:
        """Send a message and return at once."""
        self._call_soon(lambda: self._start(self._write(header, frames)))

    def close(self) -> None:
        """Close the line."""
        self._call_soon(self._comm.abort)

    async def listen(self, receive: Callable[[dict[str, Any], Frames], None]) -> None:
        """Pass messages on until the line breaks."""
        beating = self._start(self._beat())
        try:
            while True:
                message = await self._comm.read()
                frames = message.pop("frames")
                receive(message, frames)
        except (OSError, asyncio.CancelledError):
            return
        finally:
            beating.cancel()
            self._comm.abort()

    def _call_soon(self, function: Callable[[], Any]) -> None:
        with suppress(RuntimeError):  # the event loop is closed: this worker ends
            self._loop.call_soon_threadsafe(function)

    def _start(self, coroutine: Any) -> asyncio.Task[None]:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)  # the loop itself would not keep it alive
        task.add_done_callback(self._tasks.discard)
        return task

    async def _write(self, header: dict[str, Any], frames: Frames) -> None:
        from distributed.protocol import to_serialize

        wrapped = [to_serialize(memoryview(frame)) if len(frame) >= LARGE_BUFFER else frame for frame in frames]
        try:
            await self._comm.write({**header, "frames": wrapped})
        except OSError:
            self._comm.abort()  # whoever listens is told

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            await self._write({"kind": "beat"}, ())


def open_hub(worker: Any, token: str, hub: Hub) -> None:
    """Let other shards connect to shard 0, which runs on this worker, by a token."""
    _HUBS[token] = hub
    worker.handlers[SHARD_OPERATION] = _serve_shard


def close_hub(token: str) -> None:
    """Let no shard connect any more."""
    _HUBS.pop(token, None)


def connect_spoke(worker: Any, address: str, token: str, spoke: Spoke) -> None:
    """Connect a shard on this worker to shard 0 on another one, or on the same."""
    connected = asyncio.run_coroutine_threadsafe(_open_line(worker, address, token, spoke), worker.loop.asyncio_loop)
    try:
        while not wait([connected], TICK).done:
            spoke.check()
        connected.result()
    except OSError as error:
        raise LineLostError(f"the worker of shard 0, {address}, cannot be reached: {error}") from error
    finally:
        connected.cancel()


async def _open_line(worker: Any, address: str, token: str, spoke: Spoke) -> None:
    from distributed.comm import connect

    comm = await connect(address, timeout=CONNECT_LIMIT, **worker.connection_args)
    await comm.write({"op": SHARD_OPERATION, "token": token, "rank": spoke.rank, "name": describe_worker(worker)})
    line = CommLine(comm, spoke.max_silence)
    spoke.connect(line)

    async def listen() -> None:
        await line.listen(spoke.receive)
        spoke.fail(LineLostError("the connection to shard 0 broke."))

    line._start(listen())


async def _serve_shard(comm: Any, token: str, rank: int, name: str) -> Any:
    from distributed.core import Status

    hub = _HUBS.get(token)
    if hub is None:
        await comm.write({"kind": "end", "words": "The fit is over.", "frames": []})
    else:
        line = CommLine(comm, hub.max_silence)
        hub.connect(rank, line, name)
        try:
            await line.listen(lambda header, frames: hub.receive(rank, line, header, frames))
        finally:
            hub.disconnect(rank, line)
    return Status.dont_reply


def keep_record(worker: Any, fit_id: str) -> Record:
    """Make a record that can be fetched from this worker, until it is dropped."""
    _RECORDS[fit_id] = record = Record()
    worker.handlers[RECORD_OPERATION] = _serve_record
    return record


def drop_record(fit_id: str, record: Record | None = None) -> None:
    """Drop the record of a fit, if there is one; or only if it is the given one."""
    if record is None or _RECORDS.get(fit_id) is record:
        _RECORDS.pop(fit_id, None)


def drop_record_later(worker: Any, fit_id: str, record: Record) -> None:
    """Keep the record of a fit for a while, in case that someone needs it."""
    worker.loop.add_callback(worker.loop.call_later, RECORD_LIFETIME, drop_record, fit_id, record)


def count_kept() -> dict[str, int]:
    """Count the hubs and records in this process."""
    return {"hubs": len(_HUBS), "records": len(_RECORDS)}


def fetch_record(worker: Any, address: str, fit_id: str) -> Record:
    """Fetch the record of a fit from another worker; an empty one if it is gone."""
    fetched = asyncio.run_coroutine_threadsafe(_fetch_record(worker, address, fit_id), worker.loop.asyncio_loop)
    try:
        return fetched.result(FETCH_LIMIT)
    except (OSError, TimeoutError):
        fetched.cancel()
        return Record()


async def _fetch_record(worker: Any, address: str, fit_id: str) -> Record:
    from distributed.comm import connect

    comm = await connect(address, timeout=CONNECT_LIMIT, **worker.connection_args)
    try:
        await comm.write({"op": RECORD_OPERATION, "fit_id": fit_id})
        record = await comm.read()
        return record if isinstance(record, Record) else Record()  # a worker that never kept one answers otherwise
    finally:
        comm.abort()


async def _serve_record(fit_id: str) -> Any:
    from distributed.protocol import to_serialize

    return to_serialize(Record(_RECORDS.get(fit_id, ())))


def describe_worker(worker: Any) -> str:
    """Name a worker for messages."""
    return f"{worker.address}" if worker.name in (None, worker.address) else f"{worker.address} ({worker.name})"
