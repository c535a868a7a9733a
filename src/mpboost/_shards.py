"""Shards: consecutive parts of the rows of a fit, in one process or on many machines.

Every shard runs the same loop on its own rows. Whatever follows from all rows (the rows of a minipatch, sums, scores)
is joined from what each shard contributes, in the order of the rows, and all shards get the same result. So they take
the same decisions, and the model has the same bits for any number of shards. A fit on one machine has one shard.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions

Part = TypeVar("Part")
Result = TypeVar("Result")
#: Numbers of rows in arrays, and these arrays.
Taken: TypeAlias = tuple[NDArray[Any], ...]


class Shards(Protocol):
    """What one shard sees of all of them.

    All shards make the same calls in the same order. ``make_part`` is not called by a shard that catches up: one that
    replaces a lost one gets the results of the calls before its time from a record of them.

    Attributes
    ----------
    rank, size : int
        The number of this shard, counted from 0, and the number of shards.
    first_row, end_row : int
        The rows of this shard, counted over all shards. ``first_row`` is a multiple of ``CHUNK_ROWS``.
    n_rows : int
        The number of rows of all shards.
    """

    rank: int
    size: int
    first_row: int
    end_row: int
    n_rows: int

    def exchange(self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Result]) -> Result:
        """Join what the shards contribute, in their order; all get the result. ``join`` is called in shard 0 alone."""

    def deal(
        self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Sequence[Result]], *, keeps: bool = False
    ) -> Result | None:
        """As ``exchange``, but each shard gets the result at its rank.

        A shard that catches up gets None for what was dealt before the last exchange, unless ``keeps`` asks to record
        the results.
        """


class WholeTable:
    """All rows, in this process: the only shard.

    Examples
    --------
    >>> whole = WholeTable(3)
    >>> whole.exchange(lambda: 5, sum)
    5
    """

    rank, size, first_row = 0, 1, 0

    def __init__(self, n_rows: int):
        self.end_row = self.n_rows = n_rows

    def exchange(self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Result]) -> Result:
        """Join what this shard contributes."""
        return join([make_part()])

    def deal(
        self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Sequence[Result]], *, keeps: bool = False
    ) -> Result:
        """Return the result of this shard."""
        return join([make_part()])[0]


class PostingShards:
    """Shards that can also contribute to the next exchange, whatever it is about: that saves an exchange.

    Parameters
    ----------
    shards : Shards
        The shards.
    """

    def __init__(self, shards: Shards):
        self.rank, self.size = shards.rank, shards.size
        self.first_row, self.end_row, self.n_rows = shards.first_row, shards.end_row, shards.n_rows
        self._shards = shards
        self._posted: list[_Post] = []

    def post(self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Result]) -> Callable[[], Result]:
        """Contribute to the next exchange; return a function that gives the result afterwards."""
        post = _Post(make_part, join)
        self._posted.append(post)
        return post.get_result

    def exchange(self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Result]) -> Result:
        """Join what the shards contribute, and what was posted before."""
        if not self._posted:
            return self._shards.exchange(make_part, join)
        posted, self._posted = self._posted, []

        def join_all(parts: Sequence[tuple[Part, list[Any]]]) -> tuple[Result, list[Any]]:
            own, others = zip(*parts, strict=True)
            of_posts = zip(*others, strict=True)
            return join(own), [post.join(parts) for post, parts in zip(posted, of_posts, strict=True)]

        result, results = self._shards.exchange(lambda: (make_part(), [post.make_part() for post in posted]), join_all)
        for post, its_result in zip(posted, results, strict=True):
            post.results.append(its_result)
        return result

    def deal(
        self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Sequence[Result]], *, keeps: bool = False
    ) -> Result | None:
        """Join what the shards contribute; each gets the result at its rank."""
        return self._shards.deal(make_part, join, keeps=keeps)


@dataclass
class _Post:
    """What is contributed to the next exchange, and its result after that."""

    make_part: Callable[[], Any]
    join: Callable[[Sequence[Any]], Any]
    results: list[Any] = field(default_factory=list)

    def get_result(self) -> Any:
        return self.results[0]


def find_rows_here(shards: Shards, rows: Positions) -> Positions:
    """Return those of some rows, in ascending order, that are in this shard, counted from its first row.

    Examples
    --------
    >>> import numpy as np
    >>> find_rows_here(WholeTable(3), np.array([0, 2]))
    array([0, 2])
    """
    if shards.size == 1:
        return rows
    begin, end = np.searchsorted(rows, (shards.first_row, shards.end_row))
    return rows[begin:end] - shards.first_row


def take_rows_here(shards: Shards, rows: Positions, *arrays: NDArray[Any]) -> Taken:
    """Return what this shard contributes of some rows: their numbers in arrays, and the arrays.

    Of several shards, which send the arrays, these have no other rows. A single shard copies nothing.
    """
    if shards.size == 1:
        return rows, *arrays
    here = find_rows_here(shards, rows)
    return np.arange(len(here)), *(array[here] for array in arrays)


def join_rows(parts: Sequence[Taken]) -> Taken:
    """Join what ``take_rows_here`` returned in each shard."""
    if len(parts) == 1:
        return parts[0]
    arrays = [np.concatenate(array) for array in zip(*parts, strict=True)]
    return np.arange(len(arrays[0])), *arrays[1:]


def join_sums(parts: Sequence[_native.RowSums]) -> Floats:
    """Add up the sums of the rows of all shards: the same bits for any shards."""
    first, *others = parts
    for sums in others:
        first.append(sums)
    return first.total()
