"""Minipatches whose rows are in several shards: each is brought together in the shard that trains its learner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Mask, Positions
from mpboost._shards import Shards
from mpboost.sampling.draws import Minipatch

Trained = TypeVar("Trained")

#: Columns are padded to a multiple of so many rows.
BLOCK_ROWS = 128


@dataclass(frozen=True, eq=False)
class PatchRows:
    """Some rows of a minipatch: their codes, and what a learner is asked about them.

    Attributes
    ----------
    codes : uint8 array of shape (n_features, n_rows)
        The codes of the features of the minipatch.
    asked : list of arrays with an entry for each row
        Labels, or slopes.
    """

    codes: NDArray[np.uint8]
    asked: list[NDArray[Any]]

    def to_columns(self, n_bins: Positions, has_missing: Mask) -> _native.BinnedColumns:
        """Make columns of the codes, given the number of bins of each feature, and whether it has missing values."""
        n_features, n_rows = self.codes.shape
        padded = np.zeros((n_features, -(-n_rows // BLOCK_ROWS) * BLOCK_ROWS), dtype=np.uint8)
        padded[:, :n_rows] = self.codes
        return _native.BinnedColumns.view(padded, n_rows, n_bins, has_missing, is_checked=False)


def take_patch_rows(
    columns: _native.BinnedColumns, features: Positions, here: Positions, asked: list[NDArray[Any]]
) -> PatchRows:
    """Take the codes of some features and rows of this shard."""
    # Column by column: numpy takes three times as long for rows and columns at once.
    codes = columns.codes
    return PatchRows(np.stack([codes[feature].take(here) for feature in features]), asked)


def _join_rows(parts: Sequence[PatchRows]) -> PatchRows:
    asked = [np.concatenate(arrays) for arrays in zip(*(part.asked for part in parts), strict=True)]
    return PatchRows(np.concatenate([part.codes for part in parts], axis=1), asked)


def train_in_shards(
    shards: Shards,
    minipatches: Sequence[Minipatch[Any]],
    take: Callable[[Minipatch[Any]], PatchRows],
    train: Callable[[int, PatchRows], Trained],
) -> list[Trained]:
    """Train a learner on each minipatch, each in one of the shards; all shards get all learners.

    ``take`` returns the rows of a minipatch that are in this shard; ``train`` trains on the minipatch at a place of
    the round, given all of its rows. It returns what can be sent to other shards.
    """

    def deal(parts: Sequence[list[PatchRows]]) -> list[dict[int, PatchRows]]:
        patches = dict(enumerate(map(_join_rows, zip(*parts, strict=True))))
        return [{k: patches[k] for k in patches if k % shards.size == rank} for rank in range(shards.size)]

    mine = shards.deal(lambda: [*map(take, minipatches)], deal) or {}

    def join(parts: Sequence[dict[int, Trained]]) -> list[Trained]:
        trained = {place: learner for part in parts for place, learner in part.items()}
        return [trained[place] for place in range(len(minipatches))]

    return shards.exchange(lambda: {place: train(place, patch) for place, patch in mine.items()}, join)
