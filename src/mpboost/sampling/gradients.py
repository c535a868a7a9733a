"""Draws rows by the size of their gradients, for gradient boosting."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from mpboost import _native
from mpboost._arrays import Floats, Singles
from mpboost._shards import Shards
from mpboost.sampling.draws import Draw, group_by_basis
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
        """Draw rows for the models whose turn it is in a round, with weights: those of all models in one pass."""
        groups = group_by_basis(questions, lambda question: question.gradients)
        lines = [self._lay(questions[places[0]], [iterations[place] for place in places], threads) for places in groups]
        first_row = 0 if self._shards is None else self._shards.first_row
        size = self._exploration, self.n_drawn, self._seed
        drawn = _native.draw_by_gradient(lines, 0.0, *size, threads, first_row)
        draws: dict[int, Draw] = {}
        for places, of_line in zip(groups, drawn, strict=True):
            for place, (rows, weights) in zip(places, of_line, strict=True):
                draws[place] = Draw(rows + first_row if first_row else rows, rows[:0], weights)
        return [draws[place] for place in range(len(questions))]

    def _lay(
        self, question: Slopes, iterations: list[int], threads: _native.Threads
    ) -> tuple[Singles, Singles, Singles | None, list[int], Floats | None]:
        """Return what draws of a model take: its rows, when it has its turns, and the chunks of all shards."""
        rows = question.gradients, question.hessians, question.weights
        if self._shards is None or self._shards.size == 1:
            return *rows, iterations, None
        measure = partial(_native.measure_chunks, *rows, 0.0, self._exploration, threads)
        return *rows, iterations, self._shards.exchange(measure, np.concatenate)
