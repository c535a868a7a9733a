"""Waits for what the cluster computes; never without an end."""

import time
from typing import Any, Generic, NamedTuple, TypeVar

from mpboost.dask.imports import import_distributed

Value = TypeVar("Value")

#: Seconds between two looks at the cluster.
LOOK_SECONDS = 2.0

#: Seconds to wait for a cluster that has lost all of its workers, or its scheduler.
MAX_ABSENCE = 30.0


def compute(client: Any, delayed: list[Any], **options: Any) -> list[Any]:
    """Compute delayed objects on the cluster and return their values.

    Parameters
    ----------
    client : distributed.Client
        A client that is connected to the cluster.
    delayed : list of Delayed
        What to compute.
    **options
        Passed on to ``client.compute``.
    """
    return gather(client, client.compute(delayed, **options))


class Shared(NamedTuple, Generic[Value]):
    """A value that is here as well as on the cluster.

    Attributes
    ----------
    value : object
        The value.
    future : Future
        The same on the cluster, which computes it again if it is lost.
    """

    value: Value
    future: Any


def compute_shared(client: Any, delayed: Any) -> Shared[Any]:
    """Compute a delayed object on the cluster; leave its value there, too."""
    future = client.compute(delayed)
    return Shared(gather(client, [future])[0], future)


def gather(client: Any, futures: list[Any]) -> list[Any]:
    """Wait for futures and return their values.

    Raises
    ------
    RuntimeError
        If there is no worker, or no scheduler, for ``MAX_ABSENCE`` seconds.
    Exception
        What a task raised.
    """
    distributed = import_distributed()
    seen = time.monotonic()
    while True:
        try:
            distributed.wait(futures, timeout=LOOK_SECONDS)
            return client.gather(futures)
        except TimeoutError:
            pass
        except distributed.CancelledError as error:
            raise RuntimeError(
                "The Dask cluster gave up what the fit had asked it to compute: its scheduler was lost or restarted, "
                "or data that was scattered is gone. Fit again."
            ) from error
        if client.status == "closed":
            raise RuntimeError("The Dask client was closed, or lost its scheduler, during the fit: connect it again.")
        if count_workers(client):
            seen = time.monotonic()
        elif time.monotonic() - seen > MAX_ABSENCE:
            raise RuntimeError(
                f"The Dask cluster has had no worker, or no scheduler, for {MAX_ABSENCE:.0f} seconds: start workers "
                "and fit again."
            )


def count_workers(client: Any) -> int:
    """Count the workers; 0 also if the scheduler does not answer."""
    if client.status != "running":
        return 0
    try:
        return len(client.scheduler_info(n_workers=-1)["workers"])
    except (OSError, KeyError):
        return 0
