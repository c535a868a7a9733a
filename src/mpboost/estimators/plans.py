"""What is decided about a run before its parts are made: it follows from all rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

TaskOf = TypeVar("TaskOf", covariant=True)


@dataclass(frozen=True)
class Plan(Generic[TaskOf]):
    """The seed of a run, and its task.

    Attributes
    ----------
    seed : int
        Determines all draws.
    make_task : callable
        Makes the task of a run, or of another run on the same rows.
    """

    seed: int
    make_task: Callable[[], TaskOf]
