"""Trains the learners of a round side by side, one in each thread."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

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


def map_side_by_side(
    function: Callable[[Thing, _native.Threads], Result], items: Sequence[Thing], threads: _native.Threads
) -> list[Result]:
    """Call a function with each item and the threads that it may use: one, or all if there is a single item."""
    if len(items) == 1 or threads.size == 1:
        return [function(item, threads) for item in items]
    return threads.map(lambda item: function(item, _no_threads()), items)


def train_with_columns(
    train: Callable[[Sequence[tuple[Minipatch[Question], Fetched]], _native.Threads], list[Result]],
    data: BinnedData,
    minipatches: Sequence[Minipatch[Question]],
    threads: _native.Threads,
) -> list[Result]:
    """Call ``train`` with minipatches and their columns: all of a round, or only a few if columns are copies."""
    n_kept = min(threads.size if data.copies else len(minipatches), len(minipatches))
    results: list[Result] = []
    for first in range(0, len(minipatches), n_kept):
        batch = minipatches[first : first + n_kept]
        fetched = [(patch, data.fetch(patch.features, threads, place)) for place, patch in enumerate(batch)]
        results += train(fetched, threads)
    return results
