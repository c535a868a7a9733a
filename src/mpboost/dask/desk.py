"""Where shard 0 and the client talk to each other: reports one way; beats, wishes and verdicts the other."""

import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason
from mpboost.dask.reports import Moment, make_report
from mpboost.dask.transport import Hub, ShardsEndedError

#: Seconds that a client which seems to be gone gets to prove the contrary: this process may have been stopped itself.
GRACE = 3.0
#: Seconds between two reports that nobody waits for.
REPORT_INTERVAL = 0.1
#: Seconds between two looks at what may have gone wrong, while shard 0 waits for the client.
TICK = 0.5

#: What the client decided after an iteration: the name of a ``StopReason`` and a detail; None to go on.
Verdict = tuple[str, str] | None


class Desk:
    """Shard 0's side of the talk with the client.

    Parameters
    ----------
    fit_id : str
        The name of the fit.
    send : callable
        Sends a message, a dict of plain values, to the client.
    max_silence : float
        Seconds without a word of the client after which the fit ends.
    """

    def __init__(self, fit_id: str, send: Callable[[dict[str, Any]], None], max_silence: float):
        self.fit_id = fit_id
        self.hub: Hub | None = None
        self.deadline: float | None = None
        self._send, self._max_silence = send, max_silence
        self._changed = threading.Condition()
        self._last_heard = time.monotonic()
        self._doubted: float | None = None
        self._last_report = 0.0
        self._orders: dict[str, Any] | None = None
        self._error: BaseException | None = None
        self._run: BoostingRun | None = None
        self._question: dict[str, Any] | None = None
        self._n_questions = self._n_told = 0
        self._verdict: Verdict = None

    # What the client calls, from the event loop of the worker.

    def hear(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a message of the client, and tell how things are."""
        with self._changed:
            self._last_heard, self._doubted = time.monotonic(), None
            kind = message["kind"]
            answer: Any = None
            if kind == "start":
                self._orders = message
            elif kind == "end":
                self._error = self._error or ShardsEndedError("Another task has become shard 0.")
            elif kind == "stop" and self.hub is not None:
                self.hub.ask_to_stop(message["words"])
            elif kind == "verdict" and message["number"] == self._n_questions:
                self._verdict, self._question = message["verdict"], None
            elif kind == "look" and self._run is not None:
                answer = getattr(self._run, message["name"])
            self._changed.notify_all()
            known = {} if self.hub is None else {"n_calls": len(self.hub.record), "missing": self.hub.list_missing()}
            return {"answer": answer, "question": self._question, **known}

    def fail(self, error: BaseException) -> None:
        """Let shard 0 raise an error if it waits for the client."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    # What shard 0 calls.

    def check(self) -> None:
        """Raise an error if the client has not been heard for too long."""
        if self._error is not None:
            raise self._error
        now = time.monotonic()
        if now - self._last_heard < self._max_silence:
            return
        if self._doubted is None:
            self._doubted = now
        elif now - self._doubted > GRACE:
            raise ShardsEndedError("The client is gone.")

    def wait_for_orders(self) -> dict[str, Any]:
        """Wait for what the client says to a hub that has just been announced."""
        with self._changed:
            self._wait_for(lambda: self._orders is not None)
            assert self._orders is not None
            return self._orders

    def report(self, run: BoostingRun, moment: Moment) -> None:
        """Tell the client how far the run is; after iterations at most every tenth of a second."""
        if moment is not Moment.ITERATION or time.monotonic() >= self._last_report + REPORT_INTERVAL:
            self._send({"kind": "report", "report": self._pack(run, moment)})

    def consult(self, run: BoostingRun, moment: Moment) -> Verdict:
        """Tell the client how far the run is, and wait for its verdict."""
        with self._changed:
            self._n_questions += 1
            self._question = {"kind": "question", "number": self._n_questions, "report": self._pack(run, moment)}
            self._run = run
            self._send(self._question)
            self._wait_for(lambda: self._question is None)
            self._run = None
            return self._verdict

    def _wait_for(self, is_there: Callable[[], bool]) -> None:
        while not is_there():
            self.check()
            self._changed.wait(TICK)

    def _pack(self, run: BoostingRun, moment: Moment) -> bytes:
        report = make_report(run, moment, self._n_told)
        self._n_told, self._last_report = run.iteration, time.monotonic()
        return pickle.dumps(report)


def apply_verdict(run: BoostingRun, verdict: Verdict) -> None:
    """Stop a run if the client decided so."""
    if verdict is None:
        return
    name, detail = verdict
    if StopReason[name] is StopReason.INTERRUPTED:
        run.interrupt()
    else:
        run.stop(StopReason[name], detail)
