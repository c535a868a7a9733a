"""Shards of a fit as threads of this process: what a cluster does, without one."""

import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mpboost._shards import Shards

T = TypeVar("T")

#: Seconds that a shard waits for the others.
MAX_WAIT = 120.0


def run_in_threads(
    ranges: list[tuple[int, int]], function: Callable[[Shards], T], max_wait: float = MAX_WAIT
) -> list[T]:
    """Call a function in each shard, each in a thread of its own, and return what they return.

    ``ranges`` are the first row and the row after the last of each shard; empty shards are allowed. What a shard raises
    is raised here, and the others end: at their next exchange, or as soon as ``max_wait`` is over. Parts and results
    are pickled, as on a cluster, so that shards share no memory.
    """
    hub = _Hub(len(ranges), max_wait)
    results: list[Any] = [None] * len(ranges)

    def run(shard: ThreadShard) -> None:
        try:
            result = function(shard)
            shard.meet("the end of its function", b"", lambda parts: parts)
            results[shard.rank] = result
        except BaseException as error:
            hub.fail(error)

    shards = [ThreadShard(hub, rank, rows, ranges[-1][1]) for rank, rows in enumerate(ranges)]
    threads = [threading.Thread(target=run, args=(shard,), daemon=True) for shard in shards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if hub.error is not None:
        raise hub.error
    return results


class ThreadShard:
    """What one thread sees of all shards."""

    def __init__(self, hub: "_Hub", rank: int, rows: tuple[int, int], n_rows: int):
        self.rank, self.size = rank, hub.size
        self.first_row, self.end_row = rows
        self.n_rows = n_rows
        self._hub = hub

    def exchange(self, make_part: Callable[[], Any], join: Callable[[Sequence[Any]], Any]) -> Any:
        """Join what the shards contribute; all get the result."""

        def join_pickled(parts: list[bytes]) -> list[bytes]:
            return [pickle.dumps(join([pickle.loads(part) for part in parts]))] * self.size

        return pickle.loads(self.meet("exchange", pickle.dumps(make_part()), join_pickled))

    def deal(
        self, make_part: Callable[[], Any], join: Callable[[Sequence[Any]], Sequence[Any]], *, keeps: bool = False
    ) -> Any:
        """Join what the shards contribute; each gets the result at its rank."""

        def join_pickled(parts: list[bytes]) -> list[bytes]:
            results = join([pickle.loads(part) for part in parts])
            if len(results) != self.size:
                raise ValueError(f"join returned {len(results)} results for {self.size} shards.")
            own.append(results[0])  # never sent
            return [b"", *(pickle.dumps(result, protocol=5) for result in results[1:])]

        own: list[Any] = []
        dealt = self.meet("deal", pickle.dumps(make_part()), join_pickled)
        return pickle.loads(dealt) if self.rank else own[0]

    def meet(self, call: str, part: bytes, join: Callable[[list[bytes]], list[bytes]]) -> bytes:
        """Wait for all shards, then let shard 0 join their parts; return the result at this rank."""
        return self._hub.meet(self.rank, call, part, join)


class _Hub:
    """Where threads meet. After an error none waits any more."""

    def __init__(self, size: int, max_wait: float):
        self.size, self.error = size, None
        self._max_wait = max_wait
        self._barrier = threading.Barrier(size)
        self._lock = threading.Lock()
        self._calls, self._parts = [""] * size, [b""] * size
        self._results: list[bytes] = []

    error: BaseException | None

    def meet(self, rank: int, call: str, part: bytes, join: Callable[[list[bytes]], list[bytes]]) -> bytes:
        self._calls[rank], self._parts[rank] = call, part
        self._wait(rank)
        if rank == 0:
            if len(set(self._calls)) > 1:
                raise AssertionError(f"the shards do not make the same calls: {', '.join(self._calls)}.")
            self._results = join(self._parts)
        self._wait(rank)
        return self._results[rank]

    def fail(self, error: BaseException) -> None:
        """Keep the first error, which all the others follow from."""
        with self._lock:
            if self.error is None:
                self.error = error
        self._barrier.abort()

    def _wait(self, rank: int) -> None:
        try:
            self._barrier.wait(self._max_wait)
        except threading.BrokenBarrierError:
            raise TimeoutError(f"shard {rank} waited for another one, which failed or took too long.") from None
