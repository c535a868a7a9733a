"""How the sums of a row become predictions: votes and how they are calibrated, means, or raw predictions and a link."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats, Positions
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.kinds import Signs, Values
from mpboost.outputs.votes import break_ties, count_votes


@dataclass(frozen=True)
class TwoClassVotes:
    """Votes for the second of two classes, a whole number: what it means is looked up.

    Attributes
    ----------
    winners : int64 array of shape (n_trees + 1,)
        The code of the class that wins with 0, 1, 2, ... votes for the second class.
    probabilities : float64 array of shape (n_trees + 1, 2)
        The calibrated probabilities of both classes.
    decisions : float64 array of shape (n_trees + 1,)
        The decision function.
    """

    winners: Positions
    probabilities: Floats
    decisions: Floats


@dataclass(frozen=True)
class ManyClassVotes:
    """Votes for each class.

    The class with the most votes wins; at a tie, the one that comes first in ``order`` wins, and gets a quarter of a
    vote from each side: it a quarter more, the others a quarter less. The probability of a class with v votes is
    proportional to ``(2 v + 1) ** slope``, with the slope of the winner.

    Attributes
    ----------
    order : int64 array of shape (n_classes,)
        Codes of the classes; the first one wins ties.
    slopes : float64 array of shape (n_classes,)
        The slope for rows that each class wins.
    learning_rate : float
        What a vote counts in the decision function.
    """

    order: Positions
    slopes: Floats
    learning_rate: float


@dataclass(frozen=True)
class MeanValue:
    """The mean over trees: the sum divided by their number."""

    n_trees: int


@dataclass(frozen=True)
class LogOdds:
    """Log odds of the second of two classes, less the baseline; the second class is predicted from 0 on."""

    baseline: float


@dataclass(frozen=True)
class ClassScores:
    """Raw predictions of each class, less the baseline: softmax gives probabilities; the first of the largest wins."""

    baseline: Floats


@dataclass(frozen=True)
class RawValue:
    """A raw prediction, less the baseline; the prediction, or its logarithm if ``is_log``, cut at -700 and 700."""

    baseline: float
    is_log: bool


Ending = TwoClassVotes | ManyClassVotes | MeanValue | LogOdds | ClassScores | RawValue


def choose_ending(model: Any, n_trees: int) -> Ending:
    """Choose how the sums of a fitted model become predictions."""
    classes: NDArray[Any] | None = getattr(model, "classes_", None)
    if hasattr(model, "baseline_"):
        if classes is None:
            return RawValue(float(model.baseline_[0]), model._loss in ("poisson", "gamma"))
        return LogOdds(float(model.baseline_[0])) if len(classes) == 2 else ClassScores(np.array(model.baseline_))
    if isinstance(model._outputs, Values):
        return MeanValue(n_trees)
    if type(model._outputs) is Signs:
        return _tabulate(model._calibration, model._ranks, n_trees, model.learning_rate_)
    order = np.argsort(-model._ranks.astype(np.int64))
    return ManyClassVotes(order, model._calibration.slopes, float(model.learning_rate_))


def _tabulate(
    calibration: VoteCalibration, ranks: NDArray[np.uint16], n_trees: int, learning_rate: float
) -> TwoClassVotes:
    """Compute the winner and the probabilities for each number of votes that the second class can have."""
    totals = np.arange(-n_trees, n_trees + 1, 2, dtype=np.int32)
    broken, winners = break_ties(count_votes(totals, n_trees), ranks)
    decisions = learning_rate * (broken[:, 1] - broken[:, 0])
    return TwoClassVotes(winners.astype(np.int64), calibration.predict(broken, winners), decisions)
