"""Draws rows by the size of their gradients, for gradient boosting."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from mpboost import _native
from mpboost._shards import Shards
from mpboost.sampling.draws import Draw, sample_together
from mpboost.sampling.questions import Slopes


class GradientSampler:
    """Draws the rows of minipatches by the size of their gradients, with weights that keep sums unbiased.

    Parameters
    ----------
    n_drawn : int
        Number of draws for a minipatch; a row that is drawn twice gets a larger weight.
    exploration : float
        Share of the uniform distribution in draws.
    seed : int
        Determines the draw, together with the iteration.
    shards : Shards, default=None
        The parts of the rows, of which this sampler sees one; None if it sees all. Draws have the rows of this one.
    """

    def __init__(self, n_drawn: int, exploration: float, seed: int, shards: Shards | None = None):
        self.n_drawn = n_drawn
        self._shards = shards
        self._exploration = exploration
        self._seed = seed

    def sample(self, iterations: range, questions: Sequence[Slopes], threads: _native.Threads) -> list[Draw]:
        """Draw rows for the models whose turn it is in a round, with weights: those of a model in one pass."""
        sample = partial(self._sample, threads)
        return sample_together(iterations, questions, lambda question: question.gradients, sample)

    def _sample(self, threads: _native.Threads, iterations: list[int], question: Slopes) -> list[Draw]:
        line = question.gradients, question.hessians, question.weights, 0.0, self._exploration
        draws = self.n_drawn, self._seed, iterations, threads
        if self._shards is None or self._shards.size == 1:
            return [Draw(rows, rows[:0], weights) for rows, weights in _native.draw_by_gradient(*line, *draws)]
        chunks = self._shards.exchange(lambda: _native.measure_chunks(*line, threads), np.concatenate)
        first_row = self._shards.first_row
        drawn = _native.draw_by_gradient(*line, *draws, chunks, first_row)
        return [Draw(rows + first_row, rows[:0], weights) for rows, weights in drawn]
