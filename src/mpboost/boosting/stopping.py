"""When to stop: rules that watch a score and remember the best iteration."""

import math
import sys
from collections import deque
from typing import Protocol


class StoppingRule(Protocol):
    """What the loop asks of a rule.

    Attributes
    ----------
    reason : str
        Why the rule halts, in words for the user.
    """

    reason: str

    @property
    def best_iteration(self) -> int | None:
        """The iteration, counted from 1, that the model is cut to if the run ends now; None for the last one."""

    def halts(self, iteration: int, score: float) -> bool:
        """Take the score of the next iteration; tell whether the run ends with it."""


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
        """Take the score of the next iteration; tell whether the run ends with it."""
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

    What is watched is the mean of the last scores: single ones jump about, and the best of hundreds is a matter of
    luck. Of votes it is a fifth of so many, and the first half of so many iterations cannot have the best one: with few
    votes per row even the mean is unsteady, and where rows are drawn by difficulty it may start high and sink while the
    model still gets better. A loss is steady, and noise may be learned from the first trees on.

    Parameters
    ----------
    n_iter_no_change : int
        Patience.
    score : str
        What is watched, in words.
    window, burn_in : int, default=None
        How many scores are averaged, and how many iterations cannot be the best one; None for what votes need.
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
        """Take the score of the next iteration; tell whether the run ends with it."""
        self._last_scores.append(score)
        mean = math.fsum(self._last_scores) / len(self._last_scores)
        if iteration <= self._first_candidate or mean > self._best_score:
            self._best_score = mean
            self._best = iteration
        return iteration - self._best >= self._patience

    @property
    def best_iteration(self) -> int | None:
        """The iteration that the model is cut to if the run ends now."""
        return self._best


class NoStopping:
    """Run all iterations and keep them all."""

    def __init__(self) -> None:
        self.best_iteration: int | None = None
        self.reason = ""

    def halts(self, iteration: int, score: float) -> bool:
        """Never halt."""
        return False


def make_stopping(kind: str | None, n_samples: int, patch_size: int, n_iter_no_change: int, score: str) -> StoppingRule:
    """Make the rule that the parameter ``stopping`` names; ``score`` is what it watches, in words."""
    if kind == "paper":
        return PaperStopping(n_samples, patch_size, score)
    if kind == "patience":
        return PatienceStopping(n_iter_no_change, score)
    return NoStopping()
