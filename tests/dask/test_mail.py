import numpy as np
import pytest

from mpboost.dask import mail
from mpboost.dask.mail import HubMail, bring, close_inbox, open_inbox

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


class DeafWorker:
    """A client whose only worker hears nothing but every third message."""

    def __init__(self):
        self.addresses, self.told = {"tcp://a"}, []

    def subscribe_topic(self, topic, handler):
        pass

    def run(self, function, token, message, *, workers, on_error):
        self.told.append(message["kind"])
        return {"tcp://a": {"question": None}} if len(self.told) % 3 == 0 else {}


def test_message_is_sent_again_until_it_is_answered(monkeypatch):
    monkeypatch.setattr(mail, "RETRY", 0.001)
    client = DeafWorker()
    inbox = open_inbox(client, "a fit")
    try:
        hub = HubMail(client, "a fit", "a token", "tcp://a", inbox, watch=client)
        for kind in ("start", "stop"):
            hub.send({"kind": kind})
            assert inbox.get(timeout=60)["to"] == {"kind": kind}
        hub.close()
    finally:
        close_inbox("a fit")
    assert client.told == ["start"] * 3 + ["stop"] * 3
