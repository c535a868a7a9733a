"""Tasks of some of the rows: cut from a task, sent elsewhere, and joined again."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Positions
from mpboost._shards import Shards, WholeTable


class RowTask(Protocol):
    """A task that can be cut by rows."""

    shards: Shards

    @property
    def n_rows_here(self) -> int:
        """The number of rows of the task, in this shard."""

    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row, wherever the task keeps them; None for what it has not."""

    def list_given_arrays(self) -> list[NDArray[Any] | None]:
        """List those of them that stay what they are: labels and weights."""


AnyTask = TypeVar("AnyTask", bound=RowTask)


def take_task_rows(task: AnyTask, rows: slice | Positions, without: Iterable[object] = ()) -> AnyTask:
    """Copy a task with some of its rows, and with None in place of some other things; it is in no shard."""
    memo: dict[int, Any] = {id(thing): None for thing in (task.shards, *without)}
    memo |= {id(array): array[rows].copy() for array in task.list_row_arrays() if array is not None}
    return deepcopy(task, memo)


def spread_task(task: AnyTask, given: Sequence[NDArray[Any] | None], n_rows: int, kept: Iterable[object]) -> AnyTask:
    """Make the task of all rows from that of some, given what ``list_given_arrays`` has for all rows.

    It has None in place of the arrays that change, and shares some other things with the task that it is made from.
    """
    memo: dict[int, Any] = {id(array): None for array in task.list_row_arrays()}
    memo |= {id(part): whole for part, whole in zip(task.list_given_arrays(), given, strict=True)}
    memo |= {id(task.shards): None} | {id(thing): thing for thing in kept}
    spread = deepcopy(task, memo)
    spread.shards = WholeTable(n_rows)
    return spread


def join_tasks(parts: Sequence[AnyTask]) -> AnyTask:
    """Make the task of all rows from those of its parts, which are equal but for what they have of rows."""
    memo: dict[int, Any] = {}
    for arrays in zip(*(part.list_row_arrays() for part in parts), strict=True):
        if arrays[0] is not None:
            memo[id(arrays[0])] = np.concatenate(arrays)
    joined = deepcopy(parts[0], memo)
    joined.shards = WholeTable(sum(part.n_rows_here for part in parts))
    return joined
