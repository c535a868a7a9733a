"""Stopping rules: they watch a score and remember the best iteration."""

import math
import sys
from collections import deque
from typing import Protocol

#: Scores that are even lower count as this one: their sums would overflow.
LEAST_SCORE = -1e300


class StoppingRule(Protocol):
    """What the loop needs from a stopping rule.

    Attributes
    ----------
    reason : str
        Why the rule halts, as text for the user.
    """

    reason: str

    @property
    def best_iteration(self) -> int | None:
        """The best iteration so far, counted from 1; None for the last one. The model keeps the learners up to it."""

    def halts(self, iteration: int, score: float) -> bool:
        """Take the score of an iteration; tell whether the run ends after it."""


class PaperStopping:
    """Algorithm 2 of the paper.

    Keeps the ``ceil(log N)`` best scores so far and halts when more than ``log N`` iterations in a row fail to exceed
    the worst of them by the factor ``1 + log(n) / N``. Logarithms are natural.
    """

    def __init__(self, n_samples: int, patch_size: int, score: str = "out-of-patch score"):
        self._growth = 1.0 + math.log(patch_size) / n_samples
        self._patience = math.log(n_samples)
        self._top_scores = [0.0] * math.ceil(self._patience)
        self._n_stalled = 0
        self.best_iteration: int | None = 1
        self.reason = f"the {score} stopped growing (Algorithm 2)"

    def halts(self, iteration: int, score: float) -> bool:
        """Take the score of an iteration; tell whether the run ends after it."""
        top = self._top_scores
        # 1. Detect the best iteration.
        if score > max(top):
            self.best_iteration = iteration
        # 2. Check the stopping criteria.
        if self._n_stalled > self._patience:
            return True
        # 3. Check the progress.
        self._n_stalled = self._n_stalled + 1 if score < self._growth * min(top) else 0
        # 4. Update the list.
        if score > min(top):
            top[top.index(min(top))] = score
        return False


class PatienceStopping:
    """Halt when the score has not exceeded its best for a number of iterations.

    The rule watches the mean of the last scores: single scores vary, and the best of hundreds is best by chance. For
    votes the mean is over ``n_iter_no_change // 5`` scores, and the first ``n_iter_no_change // 2`` iterations cannot
    be the best: with few votes per row even the mean varies, and if rows are drawn by difficulty it may start high and
    fall while the model still improves. A loss varies little, and the first trees can already overfit.

    Parameters
    ----------
    n_iter_no_change : int
        Iterations without improvement before the rule halts.
    score : str
        Name of the score, for the reason.
    window, burn_in : int, default=None
        Number of scores to average, and of first iterations that cannot be the best; None for the values for votes.
    """

    def __init__(
        self,
        n_iter_no_change: int,
        score: str = "out-of-patch score",
        *,
        window: int | None = None,
        burn_in: int | None = None,
    ):
        self._patience = n_iter_no_change
        self._first_candidate = max(1, n_iter_no_change // 2 if burn_in is None else burn_in)
        window = max(1, n_iter_no_change // 5) if window is None else window
        self._last_scores: deque[float] = deque(maxlen=min(window, sys.maxsize))
        self._best_score = -math.inf
        self._best = 1
        self.reason = f"no better {score} for {n_iter_no_change} iterations"

    def halts(self, iteration: int, score: float) -> bool:
        """Take the score of an iteration; tell whether the run ends after it."""
        self._last_scores.append(max(score, LEAST_SCORE))
        mean = math.fsum(self._last_scores) / len(self._last_scores)
        if iteration <= self._first_candidate or mean > self._best_score:
            self._best_score = mean
            self._best = iteration
        return iteration - self._best >= self._patience

    @property
    def best_iteration(self) -> int | None:
        """The best iteration so far."""
        return self._best


class NoStopping:
    """Run and keep all iterations."""

    def __init__(self) -> None:
        self.best_iteration: int | None = None
        self.reason = ""

    def halts(self, iteration: int, score: float) -> bool:
        """Never halt."""
        return False


def make_stopping(kind: str | None, n_samples: int, patch_size: int, n_iter_no_change: int, score: str) -> StoppingRule:
    """Make the rule for the parameter ``stopping``; ``score`` is the name of what it watches."""
    if kind == "paper":
        return PaperStopping(n_samples, patch_size, score)
    if kind == "patience":
        return PatienceStopping(n_iter_no_change, score)
    return NoStopping()
