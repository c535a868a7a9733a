"""The client's talk with the workers, in threads of its own: a worker that hangs must not hold up the client."""

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpboost.dask.shard_task import TOPIC, end_fit, tell

if TYPE_CHECKING:
    from distributed import Client

#: Seconds between two beats, if there is nothing else to tell.
BEAT = 2.0
#: Seconds between two tries to tell a worker something.
RETRY = 0.5
#: Seconds between two looks at the list of workers.
LOOK = 1.0
#: Seconds that a worker has to accept a connection from the client, before the scheduler is asked to fetch a result.
REACH_LIMIT = 1.0

Inbox = queue.SimpleQueue[dict[str, Any]]

#: Where messages of shards go, by fit.
_INBOXES: dict[str, Inbox] = {}


def open_inbox(client: "Client", fit_id: str) -> Inbox:
    """Make a queue for the messages of the shards of a fit."""
    inbox: Inbox = queue.SimpleQueue()
    _INBOXES[fit_id] = inbox
    client.subscribe_topic(TOPIC, _sort)
    return inbox


def close_inbox(fit_id: str) -> None:
    """Ignore further messages."""
    _INBOXES.pop(fit_id, None)


def _sort(event: tuple[float, dict[str, Any]]) -> None:
    message = event[1]
    inbox = _INBOXES.get(message["fit_id"])
    if inbox is not None:
        inbox.put(message)


class HubMail:
    """Messages from the client to shard 0, one after the other; beats when there are none.

    What shard 0 answers goes to the inbox, as a message of the kind "answer".

    Parameters
    ----------
    client : distributed.Client
        The client.
    fit_id, token, address : str
        The fit, its hub, and the worker that the hub lives on.
    inbox : queue
        Where answers go.
    watch : WorkerWatch
        The list of workers: a worker that is gone gets no beats.
    """

    def __init__(self, client: "Client", fit_id: str, token: str, address: str, inbox: Inbox, watch: "WorkerWatch"):
        self.token, self.address = token, address
        #: Since when an answer is due; None if none is.
        self.waiting_since: float | None = None
        self._client, self._fit_id, self._inbox, self._watch = client, fit_id, inbox, watch
        self._outgoing: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._is_closed = False
        threading.Thread(target=self._deliver, name="mpboost-mail", daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message and return at once."""
        self._outgoing.put(message)

    def close(self) -> None:
        """Send nothing more than what was passed to ``send`` before, and that only once."""
        self._is_closed = True
        self._outgoing.put(None)

    def _deliver(self) -> None:
        while True:
            try:
                message = self._outgoing.get(timeout=BEAT)
            except queue.Empty:
                if self.address not in self._watch.addresses:
                    continue
                message = {"kind": "beat"}
            if message is None:
                return
            try:
                # Until it is answered: the connection of the scheduler to a worker may break and be made anew.
                while not self._tell(message) and message["kind"] != "beat" and not self._is_closed:
                    time.sleep(RETRY)
            except Exception:  # of whatever kind: the scheduler or the client is closing
                return
            if self._fit_id not in _INBOXES:
                return

    def _tell(self, message: dict[str, Any]) -> bool:
        """Tell shard 0 something; return whether it has answered."""
        self.waiting_since = time.monotonic()
        answers = self._client.run(tell, self.token, message, workers=[self.address], on_error="ignore")
        answer = answers.get(self.address) if answers else None
        if answer is None:
            return False
        self.waiting_since = None
        self._inbox.put({"kind": "answer", "token": self.token, "to": message, **answer})
        return True


class WorkerWatch:
    """A thread that keeps a list of the workers of the cluster.

    Parameters
    ----------
    client : distributed.Client
        The client.
    """

    def __init__(self, client: "Client"):
        #: The addresses of all workers.
        self.addresses: frozenset[str] = frozenset(client.nthreads())
        #: When there last was a worker.
        self.last_seen = time.monotonic()
        self._client, self._ended = client, threading.Event()
        threading.Thread(target=self._look, name="mpboost-workers", daemon=True).start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(LOOK):
            try:
                self.addresses = frozenset(self._client.nthreads())
            except Exception:  # of whatever kind: the scheduler or the client is closing, which the driver notices
                return
            if self.addresses:
                self.last_seen = time.monotonic()


def end_everywhere(client: "Client", fit_id: str, max_wait: float) -> None:
    """End what still runs of a fit on any worker; wait no longer than given for those that do not answer."""

    def end() -> None:
        try:
            client.run(end_fit, fit_id, on_error="ignore")
        except Exception:  # of whatever kind: the scheduler or the client is gone, and the fit with it
            return

    thread = threading.Thread(target=end, name="mpboost-end", daemon=True)
    thread.start()
    thread.join(max_wait)


def bring(client: "Client", future: Any, address: str) -> Any:
    """Bring a result from a worker: directly if the worker can be reached from here, else by way of the scheduler."""
    return client.gather(future, direct=client.sync(_can_reach, client, address))


async def _can_reach(client: "Client", address: str) -> bool:
    try:
        comm = await client.rpc.connect(address, timeout=REACH_LIMIT)
    except OSError:
        return False
    client.rpc.reuse(address, comm)
    return True


def fetch(get: Callable[[], Any], inbox: Inbox) -> None:
    """Get something that may take long in another thread; the inbox receives it, or the error."""

    def run() -> None:
        try:
            inbox.put({"kind": "fetched", "value": get()})
        except BaseException as error:
            inbox.put({"kind": "fetched", "error": error})

    threading.Thread(target=run, name="mpboost-fetch", daemon=True).start()
