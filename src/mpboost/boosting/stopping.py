"""Stopping rules: they watch a score and remember the best iteration."""

import math
import sys
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from mpboost import _native

#: Scores that are even lower count as this one: their sums would overflow.
LEAST_SCORE = -1e300

#: Gains that do not prolong a fit: as shares of a score and of a loss, and of a loss in the engine's units, too.
#: docs/defaults.md has the measurements.
SCORE_TOLERANCE, LOSS_TOLERANCE, MIN_LOSS_TOLERANCE = 1e-4, 2e-3, 1e-4


@dataclass(frozen=True)
class Watched:
    """What a fit stops by: its name, and how it is shown.

    Attributes
    ----------
    name : str
        For example "out-of-patch score" or "validation loss".
    is_loss : bool
        Whether it is a loss; the run records minus the loss, so that greater is always better.
    unit : float
        Factor that converts a loss to the users' units.
    """

    name: str
    is_loss: bool = False
    unit: float = 1.0

    def format(self, quality: float) -> str:
        """Make a text of a number that the run recorded."""
        number = -self.unit * quality if self.is_loss else quality
        return f"{number:.4f}" if abs(number) < 1e4 else f"{number:.5g}"


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

    def halts(self, iteration: int, score: float, *, is_perfect: bool = False) -> bool:
        """Take the score of an iteration, and whether it cannot be better; tell whether the run ends after it."""


class PaperStopping:
    """Algorithm 2 of the paper.

    Keeps the ``ceil(log N)`` best scores so far and halts when more than ``log N`` iterations in a row fail to exceed
    the worst of them by the factor ``1 + log(n) / N``. Logarithms are natural.
    """

    def __init__(self, n_samples: int, patch_size: int, score: str = "out-of-patch score"):
        self._growth = 1.0 + _native.log_of(float(patch_size)) / n_samples
        self._patience = _native.log_of(float(n_samples))
        self._top_scores = [0.0] * math.ceil(self._patience)
        self._n_stalled = 0
        self.best_iteration: int | None = 1
        self.reason = f"the {score} stopped growing (Algorithm 2)"

    def halts(self, iteration: int, score: float, *, is_perfect: bool = False) -> bool:
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
    """Halt when the score has not exceeded its best noticeably for a number of iterations, or cannot do so any more.

    The rule watches the mean of the last scores: single scores vary, and the best of hundreds is best by chance. For
    votes the mean is over ``n_iter_no_change // 5`` iterations, and the first ``n_iter_no_change // 2`` iterations
    cannot be the best: with few votes per row even the mean varies, and if rows are drawn by difficulty it may start
    high and fall while the model still improves. A loss varies little, and the first trees can already overfit.

    Only gains above a tolerance prolong the fit; the model is still cut to the best iteration. A score that is perfect,
    or does not change at all, for some iterations ends the fit, too.

    Parameters
    ----------
    n_iter_no_change : int
        Iterations without a noticeable gain before the rule halts.
    score : str
        Name of the score, for the reason.
    window, burn_in : int, default=None
        Number of scores to average, and of first iterations that cannot be the best; None for the values for votes.
    relative_tolerance, tolerance : float
        A gain is noticeable if it is larger than this share of the score, and than this number.
    settled_after : float
        Iterations with a perfect score, or with the same one, after which the rule halts.
    """

    def __init__(
        self,
        n_iter_no_change: int,
        score: str = "out-of-patch score",
        *,
        window: int | None = None,
        burn_in: int | None = None,
        relative_tolerance: float = 0.0,
        tolerance: float = 0.0,
        settled_after: float = math.inf,
    ):
        self._patience = n_iter_no_change
        self._settled_after = settled_after
        self._first_candidate = max(1, n_iter_no_change // 2 if burn_in is None else burn_in)
        window = max(1, n_iter_no_change // 5) if window is None else window
        self._last_scores: deque[float] = deque(maxlen=min(window, sys.maxsize))
        self._tolerances = relative_tolerance, tolerance
        self._best_score = self._reference = -math.inf
        self._best = self._last_gain = 1
        self._last_change = 0
        self._score = score
        self.reason = f"no better {score} for {n_iter_no_change} iterations"

    def halts(self, iteration: int, score: float, *, is_perfect: bool = False) -> bool:
        """Take the score of an iteration; tell whether the run ends after it."""
        score = max(score, LEAST_SCORE)
        if not is_perfect and not (self._last_scores and score == self._last_scores[-1]):
            self._last_change = iteration
        self._last_scores.append(score)
        mean = math.fsum(self._last_scores) / len(self._last_scores)
        is_first = iteration <= self._first_candidate
        if is_first or mean > self._best_score:
            self._best_score, self._best = mean, iteration
        if is_first or mean > self._reference + self._compute_tolerance():
            self._reference, self._last_gain = mean, iteration
        if iteration - self._last_change >= self._settled_after:
            self.reason = f"a perfect {self._score}" if is_perfect else f"the {self._score} no longer changes"
            return True
        return iteration - self._last_gain >= self._patience

    def _compute_tolerance(self) -> float:
        share, least = self._tolerances
        return max(share * abs(self._reference), least) if math.isfinite(self._reference) else 0.0

    @property
    def best_iteration(self) -> int | None:
        """The best iteration so far."""
        return self._best


class NoStopping:
    """Run and keep all iterations."""

    def __init__(self) -> None:
        self.best_iteration: int | None = None
        self.reason = ""

    def halts(self, iteration: int, score: float, *, is_perfect: bool = False) -> bool:
        """Never halt."""
        return False


def make_stopping(
    kind: str | None, n_samples: int, patch_size: int, n_iter_no_change: int, score: str, every: int = 1
) -> StoppingRule:
    """Make the rule of votes for the parameter ``stopping``; it watches a score, computed every so many iterations.

    A score other than accuracy, which is computed every few iterations, cannot have its best twice as long: where rows
    are drawn by difficulty, out-of-patch ranks get worse for a while as the model improves.
    """
    if kind == "paper":
        return PaperStopping(n_samples, patch_size, score)
    if kind == "patience":
        return PatienceStopping(
            n_iter_no_change,
            score,
            window=max(1, n_iter_no_change // 5 // every),
            burn_in=n_iter_no_change // 2 if every == 1 else n_iter_no_change,
            relative_tolerance=SCORE_TOLERANCE,
            settled_after=max(1, n_iter_no_change // 2),
        )
    return NoStopping()
