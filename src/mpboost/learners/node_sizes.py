"""``min_samples_split``: the smallest nodes that trees split, given or learned from unseen rows."""

import math
from typing import Literal

import numpy as np

from mpboost._arrays import Floats

#: Sizes are told apart by powers of two, up to the largest minipatch.
N_SIZES = 32
#: Nodes of a size are not split if it is clear that their splits keep less than this share of what they promise.
MIN_KEPT_SHARE = 0.03
#: Number of standard deviations that make it clear.
N_DEVIATIONS = 2.0
#: Share of the evidence that is left after another tree: what is not measured again becomes unclear in time.
MEMORY = 0.995
#: Trees that split all nodes: as many as a trial of larger minipatches has, which needs small nodes to see their gain.
N_WARM_UP = 40
#: A learned limit is at most the rows of the minipatch divided by this.
MIN_PARTS = 8


class NodeSizes:
    """Learns how many rows a node must have to be split.

    A split promises a gain on unseen rows. If labels are clean, splits of small nodes keep much of the promise, and
    trees should grow until leaves are pure. If labels are noisy, splits of small nodes keep nothing: they only make
    trees large. So gains are added up by the size of nodes, in powers of two, over all trees of a run. Of the sizes
    below the first one whose splits are clearly useful, nodes up to the largest clearly useless one are not split,
    until what is known of them is so old that it is no longer clear.

    Parameters
    ----------
    min_samples_split : int or "auto"
        A fixed limit, or "auto" to learn it.
    min_samples_leaf : int
        Minimum number of rows in a leaf: nodes of less than twice as many are never split.
    """

    def __init__(self, min_samples_split: int | Literal["auto"], min_samples_leaf: int):
        self._given = None if min_samples_split == "auto" else min_samples_split
        self._first = min((2 * min_samples_leaf).bit_length() - 1, N_SIZES - 1)
        self._smallest = 0
        self._gains = np.zeros((N_SIZES, 3))
        self._pending: dict[int, Floats] = {}

    def learn(self, iteration: int) -> None:
        """Learn from the trees of all earlier iterations, before those of a round are grown.

        Gains of its first iteration, or of later ones, are forgotten: the round was interrupted, and is now repeated.
        """
        if self._given is not None:
            return
        for earlier in sorted(self._pending):
            if earlier < iteration:
                self._gains = MEMORY * self._gains + self._pending[earlier]
        self._pending.clear()
        if iteration <= N_WARM_UP:
            return
        self._smallest = self._first
        for size, (promised, kept, squares) in enumerate(self._gains[self._first :].tolist(), self._first):
            least, error = MIN_KEPT_SHARE * promised, N_DEVIATIONS * math.sqrt(squares)
            if kept - error > least:
                return
            if kept + error < least:
                self._smallest = size + 1

    def limit(self, n_rows: int) -> int:
        """Return the least number of rows of nodes to split in a tree that is grown on ``n_rows`` rows."""
        return max(2, min(2**self._smallest, n_rows // MIN_PARTS)) if self._given is None else self._given

    def add(self, iteration: int, gains: Floats) -> None:
        """Take the gains of a tree's splits, by the size of nodes: rows of (promised, kept, squares)."""
        if self._given is None:
            self._pending[iteration] = gains
