import numpy as np
import pytest

from mpboost.dask.mail import bring

pytest.importorskip("distributed", reason="mpboost[dask] is not installed")


@pytest.mark.parametrize("is_near", [True, False], ids=["directly", "by the scheduler"])
def test_result_is_brought_from_a_worker_that_can_be_reached_or_not(client, monkeypatch, is_near):
    ways, gather = [], client.gather

    def note(future, direct):
        ways.append(direct)
        return gather(future, direct=direct)

    monkeypatch.setattr(client, "gather", note)
    address = min(client.nthreads())
    future = client.submit(np.arange, 5, workers=[address], pure=False)
    assert bring(client, future, address if is_near else "tcp://127.0.0.1:1").tolist() == [0, 1, 2, 3, 4]
    assert ways == [is_near]
