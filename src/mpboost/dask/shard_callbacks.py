"""Callbacks of the boosting loops of shards: all shards stop together, and shard 0 keeps the client informed."""

import time

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason
from mpboost.dask.desk import Desk, Verdict, apply_verdict
from mpboost.dask.reports import Moment
from mpboost.dask.transport import Hub, Spoke


class StopTogether(Callback):
    """Callback of every shard that stops the loop when all shards were asked to stop.

    Parameters
    ----------
    shards : Hub or Spoke
        What the shard sees of all shards.
    """

    limits_trials = True

    def __init__(self, shards: Hub | Spoke):
        self._shards = shards

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Stop if asked to: all shards know it after the same exchange, hence after the same iteration."""
        if self._shards.is_stopping:
            apply_verdict(run, (self._shards.stop_words, ""))
        return None


class Inform(Callback):
    """Callback of shard 0 that tells the client how far the run is, and watches the clock.

    Parameters
    ----------
    hub : Hub
        What shard 0 sees of all shards.
    desk : Desk
        Where it talks to the client.
    """

    limits_trials = True

    def __init__(self, hub: Hub, desk: Desk):
        self._hub, self._desk = hub, desk
        self._run: BoostingRun | None = None

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Tell that the first iteration begins."""
        if self._run is None:  # not a trial inside the run
            self._run = run
            self._desk.report(run, Moment.BEGIN)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Tell how far the run is; ask all shards to stop if time is over."""
        if run is self._run:
            self._desk.report(run, Moment.ITERATION)
        if self._desk.deadline is not None and time.monotonic() >= self._desk.deadline:
            self._hub.ask_to_stop(StopReason.TIME_LIMIT.name)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Tell how the run ended."""
        if run is self._run:
            self._desk.report(run, Moment.END)


class Consult(Callback):
    """Callback of every shard that lets the callbacks at the client decide, which all shards wait for.

    Parameters
    ----------
    shards : Hub or Spoke
        What the shard sees of all shards.
    desk : Desk or None
        Where shard 0 talks to the client; None in other shards.
    """

    def __init__(self, shards: Hub | Spoke, desk: Desk | None):
        self._shards, self._desk = shards, desk

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Let callbacks see the run before its first iteration."""
        self._consult(run, Moment.BEGIN)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Let callbacks see the run, and stop it."""
        self._consult(run, Moment.ITERATION)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Let callbacks see the run at its end, unless it failed."""
        if run.stop_reason is not None:
            self._consult(run, Moment.END)

    def _consult(self, run: BoostingRun, moment: Moment) -> None:
        def ask() -> Verdict:
            return None if self._desk is None else self._desk.consult(run, moment)

        apply_verdict(run, self._shards.exchange(ask, lambda verdicts: verdicts[0]))
