"""The boosting loop: Algorithm 1 of the paper."""

from collections.abc import Sequence
from contextlib import ExitStack

from mpboost import _native
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.interrupts import Interrupts
from mpboost.boosting.run import BoostingRun, Parts, Question
from mpboost.boosting.stop_reasons import StopReason
from mpboost.learners.contract import Model, Output


def boost(run: BoostingRun, callbacks: Sequence[Callback], interrupts: Interrupts, threads: _native.Threads) -> None:
    """Run iterations until the stopping rule, a callback, an interrupt or ``n_estimators`` ends the run."""
    with ExitStack() as endings:
        for callback in reversed(callbacks):
            endings.callback(callback.on_fit_end, run)
        with interrupts.caught():
            with interrupts.allowed():
                for callback in callbacks:
                    callback.on_fit_begin(run)
            limits = [callback for callback in callbacks if callback.limits_trials]
            while run.stop_reason is None:
                if run.trial is not None and run.trial.is_due(run):
                    with interrupts.allowed():
                        better = run.trial.choose(run, lambda other: _boost_inside(other, limits, threads))
                    run.adopt(better)
                iterate(run, run.parts, interrupts, threads)
                with interrupts.allowed():
                    for callback in callbacks:
                        if callback.on_iteration_end(run):
                            run.stop(StopReason.CALLBACK, type(callback).__name__)


def _boost_inside(run: BoostingRun, callbacks: Sequence[Callback], threads: _native.Threads) -> None:
    """Boost a run inside the loop of another one, which an interrupt then stops."""
    with Interrupts(run) as interrupts:
        boost(run, callbacks, interrupts, threads)


def iterate(
    run: BoostingRun, parts: Parts[Question, Model, Output], interrupts: Interrupts, threads: _native.Threads
) -> None:
    """Do one iteration. An interrupt takes effect before the run is changed, or waits until the end."""
    task, p, q, t = parts.task, parts.observation_sampler, parts.feature_sampler, run.iteration + 1
    with interrupts.allowed():
        # 1. Sample a minipatch.
        question = task.pose(t, threads)
        draw = p.sample(t, question, threads)
        R, C = draw.rows, q.sample(t, threads)
        # 2. Train a weak learner on the minipatch.
        h = parts.learner.train(t, draw, C, question, threads)
    # 3. Update outputs. The same pass over the rows computes the weights that p is made of, and the scores.
    task.update(h.outputs, R, threads)
    # 4. Update probability distributions.
    q.update(C, h.importances)
    # 5. Out-of-patch score.
    run.record(t, R, C, h, threads)
