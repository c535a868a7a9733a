"""A cluster for all tests of mpboost.dask: two worker processes of one thread each, on this machine."""

import pytest

from tests.support.dask_clusters import start_cluster


@pytest.fixture(scope="session")
def cluster():
    """Two workers."""
    pytest.importorskip("distributed", reason="mpboost[dask] is not installed")
    with start_cluster(2, memory_limit="2GiB") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def client(cluster):
    """A client of the cluster."""
    from distributed import Client

    with Client(cluster) as client:
        yield client
