"""A cluster for all tests of mpboost.dask: two worker processes of one thread each, on this machine."""

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two workers."""
    distributed = pytest.importorskip("distributed", reason="mpboost[dask] is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1", memory_limit="2GiB"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def client(cluster):
    """A client of the cluster."""
    from distributed import Client

    with Client(cluster) as client:
        yield client
