"""Callbacks of a fit on shards, which run at the client."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, cast

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason
from mpboost.dask.desk import Verdict
from mpboost.dask.reports import Moment, Report, RunView


class Audience:
    """The callbacks of a fit that runs elsewhere, and the view of it that they get.

    Parameters
    ----------
    callbacks : sequence of Callback
        Callbacks that are asked after each iteration, which the fit waits for.
    watchers : sequence of Callback
        Callbacks that are called whenever there is a report.
    n_samples : int
        Number of training rows.
    look : callable
        Fetches an attribute of the run by its name, while the run waits for the callbacks.
    """

    def __init__(
        self,
        callbacks: Sequence[Callback],
        watchers: Sequence[Callback],
        n_samples: int,
        look: Callable[[str], Any],
    ):
        self._callbacks, self._watchers = list(callbacks), list(watchers)
        self._view = RunView(n_samples, look)
        # Callbacks are written for a BoostingRun, of which they get the attributes that make sense here.
        self._run = cast(BoostingRun, self._view)
        self._begun: list[Callback] = []
        self._decided: tuple[Moment, int] | None = None
        self._verdict: Verdict = None

    @property
    def decides(self) -> bool:
        """Whether there are callbacks that the fit must wait for."""
        return bool(self._callbacks)

    @property
    def iteration(self) -> int:
        """Number of iterations that are known to be done."""
        return self._view.iteration

    def hear(self, packed: bytes) -> None:
        """Take a report that nobody waits for; an older one comes from a shard 0 that catches up."""
        report = self._unpack(packed)
        if report.facts["iteration"] < self.iteration:
            return
        self._view.update(report)
        self._begin(self._watchers)
        for watcher in self._watchers:
            watcher.on_iteration_end(self._run)

    def decide(self, packed: bytes) -> Verdict:
        """Take a report and let the callbacks decide. They are not asked twice, if shard 0 was lost and asks again."""
        report = self._unpack(packed)
        if (report.moment, report.facts["iteration"]) == self._decided:
            return self._verdict
        self._view.update(report)
        try:
            self._ask(report.moment)
            self._verdict = self._view.wish
        except KeyboardInterrupt:
            if self.iteration == 0:
                raise
            self._verdict = (StopReason.INTERRUPTED.name, "")
        self._decided = report.moment, self.iteration
        return self._verdict

    def end(self) -> None:
        """Let those callbacks end that were not told yet; the last first, as in a fit on one machine."""
        while self._begun:
            self._begun.pop().on_fit_end(self._run)

    def _ask(self, moment: Moment) -> None:
        if moment is Moment.BEGIN:
            self._begin(self._callbacks)
        elif moment is Moment.ITERATION:
            for callback in self._callbacks:
                if callback.on_iteration_end(self._run):
                    self._view.stop(StopReason.CALLBACK, type(callback).__name__)
        else:
            self.end()

    def _begin(self, callbacks: list[Callback]) -> None:
        for callback in callbacks:
            if callback not in self._begun:
                self._begun.append(callback)
                callback.on_fit_begin(self._run)

    @staticmethod
    def _unpack(packed: bytes) -> Report:
        return cast(Report, pickle.loads(packed))
