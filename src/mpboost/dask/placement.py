"""Where a fit runs: on one worker, which gets all codes, or on shards of the rows."""

import logging
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from mpboost._wording import count, format_number
from mpboost.dask.workers import Worker, find_roomiest
from mpboost.estimators.sharded import check_can_be_sharded

Placement: TypeAlias = Literal["auto", "one", "sharded"]

#: Up to so many rows, one worker is faster than several that exchange something for each tree.
MAX_ROWS_OF_ONE = 5_000_000

#: The share of the memory of a worker that codes and the state of the fit may take.
MAX_SHARE = 0.4

#: Bytes of state of a row in a fit: in any case, and for each class or number that is predicted.
BYTES_OF_ROW, BYTES_OF_OUTPUT = 40, 40

logger = logging.getLogger("mpboost.dask")


@dataclass(frozen=True)
class Size:
    """The size of a fit.

    Attributes
    ----------
    n_rows, n_features : int
        Numbers of rows and features.
    n_outputs : int
        Number of classes; 1 for two classes, and for numbers.
    """

    n_rows: int
    n_features: int
    n_outputs: int

    @property
    def n_bytes(self) -> int:
        """The memory of codes and state."""
        return self.n_rows * (self.n_features + BYTES_OF_ROW + BYTES_OF_OUTPUT * self.n_outputs)

    @property
    def n_bytes_of_state(self) -> int:
        """The memory of the state alone."""
        return self.n_bytes - self.n_rows * self.n_features

    @property
    def n_bytes_at_peak(self) -> int:
        """The memory of codes and state while codes are joined, when they are there twice."""
        return self.n_bytes + self.n_rows * self.n_features


def choose_placement(wanted: Placement, size: Size, workers: list[Worker], estimator: Any) -> Placement:
    """Choose "one" or "sharded"; log the choice and its reason.

    "auto" is "one" if the fit cannot run on shards, if there is one worker, or if there are at most
    ``MAX_ROWS_OF_ONE`` rows whose codes and state take at most ``MAX_SHARE`` of the memory of the largest worker.
    """
    limit = find_roomiest(workers).memory_limit
    fits = limit is None or size.n_bytes <= MAX_SHARE * limit
    if wanted != "auto":
        chosen, reason = wanted, "as asked for"
    elif not _can_be_sharded(estimator):
        chosen, reason = "one", "it needs all rows in one place"
    elif len(workers) == 1:
        chosen, reason = "one", "there is one worker"
    elif size.n_rows > MAX_ROWS_OF_ONE:
        chosen, reason = "sharded", f"more than {format_number(MAX_ROWS_OF_ONE)} rows"
    elif not fits:
        chosen, reason = "sharded", f"more than {MAX_SHARE:.0%} of the memory of the largest worker"
    else:
        chosen, reason = "one", "one worker has room"
    logger.info(
        "placement %r (%s): %s of %s, about %.2g GiB, %s",
        chosen,
        reason,
        count(size.n_rows, "row"),
        count(size.n_features, "feature"),
        size.n_bytes / 2**30,
        count(len(workers), "worker"),
    )
    return chosen


def _can_be_sharded(estimator: Any) -> bool:
    try:
        check_can_be_sharded(estimator)
    except ValueError:
        return False
    return True
