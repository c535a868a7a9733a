"""A cluster of processes on this machine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def start_cluster(n_workers: int, **options: Any) -> Iterator[Any]:
    """Start workers of one thread; give a client. Workers that are killed are started again."""
    import dask
    from distributed import Client, LocalCluster

    # By default a local cluster gives up workers whose address has changed.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            host="127.0.0.1",
            silence_logs=logging.CRITICAL,
            **options,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
