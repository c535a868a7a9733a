import sys

import pytest

from mpboost.dask import workers
from mpboost.dask.workers import (
    Worker,
    check_room,
    check_versions,
    find_client,
    find_holders,
    find_roomiest,
    list_workers,
)


class OddClient:
    """A client of a cluster whose workers have other versions."""

    def __init__(self, **versions):
        self._answer = workers.find_versions() | versions

    def run(self, function, on_error):
        return {"tcp://10.0.0.1:80": workers.find_versions(), "tcp://10.0.0.2:80": self._answer}


def test_workers_of_the_cluster_are_listed(client):
    found = list_workers(client)
    assert [worker.n_threads for worker in found] == [1, 1]
    assert found[0].memory_limit == 2 * 2**30


def test_versions_of_the_cluster_are_ours(client):
    check_versions(client)


@pytest.mark.parametrize("name", ["mpboost", "Python", "numpy"])
def test_other_versions_are_refused_by_name(name):
    with pytest.raises(RuntimeError, match=rf"Worker tcp://10.0.0.2:80 has {name} 0\.0, but the client has "):
        check_versions(OddClient(**{name: "0.0"}))


def test_worker_without_mpboost_is_refused():
    client = OddClient()
    client._answer = ModuleNotFoundError("No module named 'mpboost'")
    with pytest.raises(RuntimeError, match=r"Worker tcp://10.0.0.2:80 cannot import mpboost \(No module"):
        check_versions(client)


def test_worker_that_is_lost_meanwhile_is_not_refused():
    client = OddClient()
    client._answer = OSError("Timed out during handshake while connecting")
    check_versions(client)


def test_roomiest_worker_has_the_most_memory_or_no_limit():
    small, large, free = Worker("a", "here", 1, 10), Worker("b", "here", 1, 20), Worker("c", "here", 1, None)
    assert find_roomiest([small, large]) is large
    assert find_roomiest([large, free]) is free


def test_worker_that_is_too_small_is_refused_by_name():
    check_room(100, Worker("a", "here", 1, None), "The codes")
    check_room(100, Worker("a", "here", 1, 130), "The codes")
    with pytest.raises(MemoryError, match=r"The codes need about .* GiB of memory, but worker tcp://a may use only"):
        check_room(2**31, Worker("tcp://a", "here", 1, 2**30), "The codes")


def test_client_must_be_one():
    with pytest.raises(TypeError, match=r"client must be a distributed.Client, not str"):
        find_client("tcp://10.0.0.1:80")


def test_client_without_cluster_is_refused(monkeypatch):
    def refuse():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.get_client", refuse)
    with pytest.raises(ValueError, match="There is no Dask client: make one first"):
        find_client(None)


def test_cluster_without_workers_is_refused():
    from distributed import Client, LocalCluster

    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
        pytest.raises(ValueError, match="The Dask cluster has no workers"),
    ):
        list_workers(client)
    with pytest.raises(ValueError, match="The Dask client is closed: connect a new one"):
        find_client(client)


def test_one_thread_is_counted_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert workers.count_threads_here() == 1


def test_holders_of_copies_are_chosen_in_turns():
    class Client:
        def has_what(self):
            return {"a": ("x", "y", "z"), "b": ("z", "y", "x", "only")}

    assert find_holders(Client(), ["x", "y", "z", "only", "nowhere"]) == ["a", "b", "a", "b", None]
