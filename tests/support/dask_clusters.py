"""Clusters of Dask for tests: their processes are forked from one that has imported all, so that they start at once."""

from contextlib import contextmanager

FORKED = {"distributed.worker.multiprocessing-method": "forkserver"}
#: What the processes of workers need.
MODULES = ["distributed", "pandas", "pyarrow.parquet", "dask.array", "dask.dataframe", "mpboost.dask", "sklearn.tree"]


def get_process_context():
    """Get the context that starts processes of a cluster; it must be called with the settings ``FORKED``."""
    from distributed.utils import get_mp_context

    context = get_mp_context()
    context.set_forkserver_preload(MODULES)  # in place of what distributed chose, if no process was started yet
    return context


@contextmanager
def start_cluster(n_workers, **options):
    """Start a cluster of workers of one thread each, in processes of this machine."""
    import dask
    from distributed import LocalCluster

    with dask.config.set(FORKED):
        get_process_context()
        with LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", **options
        ) as cluster:
            yield cluster
