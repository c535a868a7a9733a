"""Tells before a fit whether its memory suffices: the engine keeps several numbers for each row and class."""

import os
from pathlib import Path

from mpboost.data.problem import Problem

#: Bytes per row and class of a fit, at its peak: of votes; and of gradients, of which each model adds its own.
BYTES_OF_VOTES, BYTES_OF_GRADIENTS, BYTES_OF_MODEL = 20, 36, 18


def check_memory(problem: Problem, bytes_per_output: int) -> None:
    """Raise a MemoryError if many rows of many classes need more memory than is available."""
    n_classes, available = 0 if problem.classes is None else len(problem.classes), measure_available_memory()
    n_rows = problem.examples.table.n_rows
    needed = n_rows * n_classes * bytes_per_output
    if available is not None and needed > available:
        raise MemoryError(
            f"{n_rows} rows of {n_classes} classes need about {needed / 2**30:.1f} GiB of memory, but only "
            f"{available / 2**30:.1f} GiB are available: use fewer rows, or join rare classes."
        )


def measure_available_memory() -> int | None:
    """Measure the memory that is available, in bytes; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux: take all of the memory
        names = "SC_PHYS_PAGES", "SC_PAGE_SIZE"
        has_names = all(name in getattr(os, "sysconf_names", ()) for name in names)
        return os.sysconf(names[0]) * os.sysconf(names[1]) if has_names else None
