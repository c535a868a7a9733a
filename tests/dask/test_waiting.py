import time

import pytest

from mpboost.dask import waiting
from mpboost.dask.waiting import compute, compute_shared, gather

dask = pytest.importorskip("dask", reason="mpboost[dask] is not installed")


def raise_error():
    raise ValueError("Partition 3: no")


def test_compute_returns_values_in_order(client):
    assert compute(client, [dask.delayed(pow)(2, power) for power in range(4)]) == [1, 2, 4, 8]


def test_shared_value_is_here_and_there(client):
    shared = compute_shared(client, dask.delayed(pow)(2, 3))
    assert shared.value == 8
    assert client.submit(lambda value: value + 1, shared.future).result(timeout=10) == 9


def test_compute_raises_what_a_task_raised(client):
    with pytest.raises(ValueError, match="Partition 3: no"):
        compute(client, [dask.delayed(pow)(2, 3), dask.delayed(raise_error)()])


def test_wait_for_what_was_cancelled_ends(client):
    future = client.submit(time.sleep, 20, pure=False)
    client.cancel([future])
    with pytest.raises(RuntimeError, match="gave up what the fit had asked it to compute"):
        gather(client, [future])


def test_wait_for_a_cluster_without_workers_ends(monkeypatch):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(waiting, "MAX_ABSENCE", 0.2)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        pytest.raises(RuntimeError, match="has had no worker, or no scheduler, for 0 seconds"),
    ):
        compute(client, [dask.delayed(pow)(2, 3)])
