"""Draws features from q, and updates q by their importances, or by a rule of the user."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.rules import FeatureUpdate, PatchFeatures, update_probabilities


class FeatureSampler:
    """Draws the features of minipatches from q, mixed with a share of the uniform distribution, and updates q.

    Parameters
    ----------
    n_features, n_drawn : int
        Number of features in all and in a minipatch.
    momentum : float
        How far q moves towards the importances of a learner.
    exploration : float
        Share of the uniform distribution in draws.
    adaptive : bool
        Whether q is updated.
    seed : int
        Determines the draw, together with the iteration.
    remembers : bool, default=False
        Whether q moves towards the mean of all importances of a feature so far instead of the last one. This is for
        importances that are measured on unseen rows and may be negative: those of a useless feature cancel out.
    """

    def __init__(
        self,
        n_features: int,
        n_drawn: int,
        *,
        momentum: float,
        exploration: float,
        adaptive: bool,
        seed: int,
        remembers: bool = False,
    ):
        self.probabilities = np.full(n_features, 1.0 / n_features)
        self.n_drawn = n_drawn
        self._momentum = momentum
        self._exploration = exploration
        self._adaptive = adaptive
        self._seed = seed
        self._log_weights = _native.log_of(self.probabilities)
        self._remembers = remembers
        self._importance_sums = np.zeros(n_features)
        self._counts = np.zeros(n_features, dtype=np.int64)

    def sample(self, iterations: range, threads: _native.Threads) -> list[NDArray[np.int64]]:
        """Draw the features of the minipatches of a round: without replacement, in ascending order."""
        return _native.race(self._log_weights, self.n_drawn, self._seed, iterations, _native.Purpose.FEATURES, threads)

    def update(self, features: NDArray[np.int64], importances: NDArray[np.float64]) -> None:
        """Move q of the features of a minipatch towards their importances; the sum of q over them stays the same.

        Importances that are all zero do not change q.
        """
        if not self._adaptive:
            return
        moved = self.probabilities, self._log_weights, features, importances
        if self._remembers:
            seen = self._importance_sums, self._counts
            _native.move_to_means(*moved, *seen, self._momentum, self._exploration)
        else:
            _native.move_probabilities(*moved, self._momentum, self._exploration)


class RuledFeatureSampler(FeatureSampler):
    """Draws features from q, which a rule of the user updates.

    Parameters
    ----------
    rule : FeatureUpdate
        The user's object.
    options
        See FeatureSampler.
    """

    def __init__(self, rule: FeatureUpdate, *sizes: int, **options: Any):
        super().__init__(*sizes, **options)
        self._rule = rule
        self._n_learners = 0

    def update(self, features: NDArray[np.int64], importances: NDArray[np.float64]) -> None:
        """Let the rule move q of the features of a minipatch, unless importances are all zero."""
        self._n_learners += 1
        if not self._adaptive or not importances.any():
            return
        self._importance_sums[features] += importances
        self._counts[features] += 1
        counts, n_features = self._counts[features], len(self.probabilities)
        means, before = self._importance_sums[features] / counts, self.probabilities[features]
        seen = features.copy(), before, importances.copy(), means, counts
        after = update_probabilities(self._rule, PatchFeatures(self._n_learners, n_features, *seen))
        self.probabilities[features] = after
        mixed = (1.0 - self._exploration) * after + self._exploration / n_features
        self._log_weights[features] = _native.log_of(mixed)


def to_shares(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set negative importances to 0, and scale the others so that they sum to 1, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> to_shares(np.array([3.0, -1.0, 1.0]))
    array([0.75, 0.  , 0.25])
    """
    importances = np.maximum(importances, 0.0)
    total = importances.sum()
    return importances / total if total > 0 else importances


def balance(credits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale credits, which may be negative, so that their absolute values sum to 1: all learners count the same."""
    total = np.add.reduce(np.abs(credits))
    return credits / total if total > 0 else credits
