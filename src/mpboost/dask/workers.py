"""The workers of a cluster: which there are, what they run, and how much memory they have."""

import platform
from collections import Counter
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from mpboost.dask.imports import import_distributed

#: The share of its memory that a worker may use: Dask lets one rest that uses more.
MAX_USE = 0.8


class Worker(NamedTuple):
    """A worker.

    Attributes
    ----------
    address : str
        Its address.
    host : str
        The machine that it runs on.
    n_threads : int
        Its number of threads.
    memory_limit : int or None
        The memory that it may use, in bytes; None if it has no limit.
    """

    address: str
    host: str
    n_threads: int
    memory_limit: int | None


def find_client(client: Any) -> Any:
    """Return the client to use: the one that is given, or the one that was made last."""
    distributed = import_distributed()
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client: make one first, for example client = distributed.Client(), or pass client=."
            ) from error
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, not {type(client).__name__}.")
    if client.asynchronous:
        raise ValueError(
            "The client is asynchronous, but fit waits for the model: use a Client without asynchronous=True."
        )
    if client.status != "running":
        raise ValueError(f"The Dask client is {client.status}: connect a new one to the cluster.")
    return client


def find_open_client(client: Any) -> Any:
    """Return the client to predict with, if there is one that is connected; else None, and Dask computes here."""
    try:
        return find_client(client)
    except (ValueError, ImportError):
        return None


def list_workers(client: Any) -> list[Worker]:
    """List the workers; raise a ValueError if there are none."""
    info = client.scheduler_info(n_workers=-1)["workers"]
    if not info:
        raise ValueError(
            "The Dask cluster has no workers: start some, and wait for them by client.wait_for_workers(1)."
        )
    return [
        Worker(address, each["host"], each["nthreads"], each["memory_limit"] or None) for address, each in info.items()
    ]


def count_threads_beside(worker: Worker, workers: list[Worker]) -> int:
    """Count the threads of all workers on the machine of a worker: what they may use while nobody else computes.

    Examples
    --------
    >>> one, two, far = Worker("a:1", "a", 1, None), Worker("a:2", "a", 2, None), Worker("b:1", "b", 4, None)
    >>> count_threads_beside(one, [one, two, far])
    3
    """
    return sum(each.n_threads for each in workers if each.host == worker.host)


def find_holders(client: Any, keys: list[Any]) -> list[str | None]:
    """Find the worker that has each of some keys in its memory; None for those that are still to be computed.

    Of several workers that have a key, it is the one that was chosen for the fewest keys so far.
    """
    holders: dict[Any, list[str]] = {}
    for address, held in sorted(client.has_what().items()):
        for key in held:
            holders.setdefault(key, []).append(address)
    chosen: list[str | None] = []
    n_chosen: Counter[str] = Counter()
    for key in keys:
        holder = min(holders.get(key, ()), key=n_chosen.__getitem__, default=None)
        chosen.append(holder)
        if holder is not None:
            n_chosen[holder] += 1
    return chosen


def check_versions(client: Any) -> None:
    """Raise a RuntimeError if a worker has another mpboost, Python or numpy than the client."""
    ours = find_versions()
    for address, theirs in client.run(find_versions, on_error="return").items():
        if isinstance(theirs, OSError):  # the worker was lost meanwhile
            continue
        if isinstance(theirs, BaseException):
            raise RuntimeError(f"Worker {address} cannot import mpboost ({theirs}): install it there.")
        for name, expected in ours.items():
            if theirs[name] != expected:
                raise RuntimeError(
                    f"Worker {address} has {name} {theirs[name]}, but the client has {expected}: install the same "
                    "version, so that all compute the same."
                )


def find_versions() -> dict[str, str]:
    """Return the versions that matter to what is computed here."""
    return {
        "mpboost": version("mpboost"),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
    }


def find_roomiest(workers: list[Worker]) -> Worker:
    """Return the worker with the most memory; of several, the first."""
    return max(workers, key=rank_room)


def rank_room(worker: Worker) -> float:
    """Return the memory of a worker, to compare it with others."""
    return np.inf if worker.memory_limit is None else worker.memory_limit


def count_threads_here() -> int:
    """Count the threads of the Dask worker that this runs on; 1 elsewhere."""
    try:
        return int(import_distributed().get_worker().state.nthreads)
    except (ImportError, ValueError):
        return 1


def check_room(needed: int, worker: Worker, what: str) -> None:
    """Raise a MemoryError if a worker has less memory than it needs."""
    if worker.memory_limit is not None and needed > MAX_USE * worker.memory_limit:
        raise MemoryError(
            f"{what} need about {needed / 2**30:.2g} GiB of memory, but worker {worker.address} may use only "
            f"{worker.memory_limit / 2**30:.2g} GiB: use workers with more memory, or more of them with "
            "placement='sharded'."
        )
