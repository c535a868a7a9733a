"""Tells before a fit whether its memory suffices: the engine keeps several numbers for each row and class."""

import os
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mpboost.data.problem import Problem

#: Bytes per row and class of a fit, at its peak: of votes; and of gradients, of which each model adds its own.
BYTES_OF_VOTES, BYTES_OF_GRADIENTS, BYTES_OF_MODEL = 20, 36, 18

#: A fit that needs less is not checked: it takes longer to measure what is available than to fit a small table.
MIN_CHECKED = 1 << 26


def check_memory(problem: Problem, bytes_per_output: int) -> None:
    """Raise a MemoryError if many rows of many classes need more memory than is available."""
    n_classes, n_rows = 0 if problem.classes is None else len(problem.classes), problem.examples.n_rows
    needed = n_rows * n_classes * bytes_per_output
    if needed < MIN_CHECKED:
        return
    available = measure_available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{n_rows} rows of {n_classes} classes need about {needed / 2**30:.1f} GiB of memory, but only "
            f"{available / 2**30:.1f} GiB are available: use fewer rows, or join rare classes."
        )


def measure_available_memory() -> int | None:
    """Measure the memory that is available to this process, in bytes; None where the system does not tell."""
    found = [each for each in (_measure_free_memory(), measure_group_memory(Path("/"))) if each is not None]
    return min(found, default=None)


def _measure_free_memory() -> int | None:
    """Measure the memory of the machine that is available."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux: take all of the memory
        names = "SC_PHYS_PAGES", "SC_PAGE_SIZE"
        has_names = all(name in getattr(os, "sysconf_names", ()) for name in names)
        return os.sysconf(names[0]) * os.sysconf(names[1]) if has_names else None


class GroupFiles(NamedTuple):
    """Where a version of control groups, by which Linux limits the memory of containers, has its files.

    Attributes
    ----------
    roots : tuple of str
        Folders of the outermost group, as they are usually called.
    limit, usage : str
        Files with the limit of a group and with what its processes use, both in bytes.
    cached : tuple of str
        Lines of the file memory.stat that tell how much of it caches files: it is given back when it is needed.
    """

    roots: tuple[str, ...]
    limit: str
    usage: str
    cached: tuple[str, str]


GROUPS_1 = GroupFiles(
    ("sys/fs/cgroup/memory",),
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_active_file", "total_inactive_file"),
)
GROUPS_2 = GroupFiles(
    ("sys/fs/cgroup", "sys/fs/cgroup/unified"), "memory.max", "memory.current", ("active_file", "inactive_file")
)


def measure_group_memory(system: Path) -> int | None:
    """Measure what the limits of control groups leave to this process, in bytes; None if there is no limit.

    Parameters
    ----------
    system : Path
        The folder that has proc and sys.
    """
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    left: list[int] = []
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        files = GROUPS_1 if controllers else GROUPS_2
        for root in files.roots:
            # A limit of an outer group counts, too. Inside a container the outermost one may be its own.
            inner = PurePosixPath(name.lstrip("/"))
            left += [
                each
                for group in (inner, *inner.parents)
                if (each := _measure_left(system / root / group, files)) is not None
            ]
    return min(left, default=None)


def _measure_left(group: Path, files: GroupFiles) -> int | None:
    """Measure what the limit of a control group leaves; None if it has none."""
    try:
        limit, usage = int((group / files.limit).read_text()), int((group / files.usage).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(0, limit - usage + sum(int(stat[name]) for name in files.cached))
    except (OSError, ValueError, KeyError):  # no such group, or the limit is "max"
        return None
