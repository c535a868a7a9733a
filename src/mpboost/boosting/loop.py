"""The boosting loop: Algorithm 1 of the paper."""

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack

from mpboost import _native
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.interrupts import Interrupts
from mpboost.boosting.run import BoostingRun, Parts, Question
from mpboost.boosting.stop_reasons import StopReason
from mpboost.learners.contract import Model, Output
from mpboost.sampling.draws import Minipatch


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
    """Do one iteration. An interrupt takes effect before the run is changed, or waits until the end.

    The first iteration of a round draws its K minipatches, from the same distributions, and trains a learner on each,
    side by side; each iteration takes in one of them. With K = 1 this is Algorithm 1 to the letter.
    """
    task, p, q = parts.task, parts.observation_sampler, parts.feature_sampler
    with interrupts.allowed():
        if not run.round:
            # 1. Sample minipatches.
            iterations = range(run.iteration + 1, run.iteration + 1 + run.round_size)
            questions = task.pose(iterations, threads)
            draws, features = p.sample(iterations, questions, threads), q.sample(iterations, threads)
            minipatches = [*map(Minipatch, iterations, draws, features, questions)]
            # 2. Train weak learners on the minipatches.
            run.round = deque(zip(minipatches, parts.learner.train(minipatches, threads), strict=True))
        minipatch, finish = run.round[0]
        t, R, C, h = minipatch.iteration, minipatch.draw.rows, minipatch.features, finish(threads)
    # 3. Update outputs. The same pass over the rows computes the weights that p is made of, and the scores.
    run.round.popleft()
    task.update(h.outputs, R, threads)
    # 4. Update probability distributions.
    q.update(C, h.importances)
    # 5. Out-of-patch score.
    run.record(t, R, C, h, threads)
