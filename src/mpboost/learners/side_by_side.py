"""Trains the learners of a round side by side, one in each thread."""

from collections.abc import Callable, Sequence
from functools import cache
from types import TracebackType
from typing import Generic, TypeVar

from mpboost import _native
from mpboost.data.binned import BinnedData, Fetched
from mpboost.sampling.draws import Minipatch

Thing = TypeVar("Thing")
Question = TypeVar("Question")
Result = TypeVar("Result")


@cache
def _no_threads() -> _native.Threads:
    """Return the threads of what runs in a thread already: its own alone."""
    return _native.Threads(1)


class Pool(Generic[Thing]):
    """Things that one thread at a time can use, such as growers with memory of their own; made when needed."""

    def __init__(self, make: Callable[[], Thing]):
        self._make = make
        self._idle: list[Thing] = []

    def borrow(self) -> "_Loan[Thing]":
        """Lend a thing that nobody else is using, in a ``with`` block."""
        try:
            thing = self._idle.pop()
        except IndexError:
            thing = self._make()
        return _Loan(thing, self._idle)


class _Loan(Generic[Thing]):
    """A thing that is given back after a block, unless an error left its state unknown; faster than a generator."""

    def __init__(self, thing: Thing, idle: list[Thing]):
        self._thing = thing
        self._idle = idle

    def __enter__(self) -> Thing:
        return self._thing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._idle.append(self._thing)


def map_side_by_side(
    function: Callable[[Thing, _native.Threads], Result], items: Sequence[Thing], threads: _native.Threads
) -> list[Result]:
    """Call a function with each item and the threads that it may use: one, or all if there is a single item."""
    if len(items) == 1 or threads.size == 1:
        return [function(item, threads) for item in items]
    return threads.map(lambda item: function(item, _no_threads()), items)


def train_side_by_side(
    train: Callable[[Minipatch[Question], Fetched, _native.Threads], Result],
    data: BinnedData,
    minipatches: Sequence[Minipatch[Question]],
    threads: _native.Threads,
) -> list[Result]:
    """Call ``train`` with each minipatch and its columns; of columns that are copies, only a few are kept at a time."""

    def train_one(fetched: tuple[Minipatch[Question], Fetched], threads: _native.Threads) -> Result:
        return train(*fetched, threads)

    n_kept = min(threads.size if data.copies else len(minipatches), len(minipatches))
    results: list[Result] = []
    for first in range(0, len(minipatches), n_kept):
        batch = minipatches[first : first + n_kept]
        fetched = [(patch, data.fetch(patch.features, threads, place)) for place, patch in enumerate(batch)]
        results += map_side_by_side(train_one, fetched, threads)
    return results
