"""Lets a worker use memory again that a fit has freed, in place of handing it back after each array."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: What the allocator of glibc is told, by the number of the setting: arrays up to the first size are taken from memory
#: that is kept (32 MiB is the most that it accepts), and so much may be kept at the end of an arena.
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
KEPT = {MMAP_THRESHOLD: 32 << 20, TRIM_THRESHOLD: 256 << 20}
#: What applies otherwise, where the environment sets one of the two: as it says, or else by default.
VARIABLES = {MMAP_THRESHOLD: "MALLOC_MMAP_THRESHOLD_", TRIM_THRESHOLD: "MALLOC_TRIM_THRESHOLD_"}
DEFAULT = 128 << 10


class _Users:
    """How many fits of this process want memory to be kept."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0


_users = _Users()


@contextmanager
def kept_memory() -> Iterator[None]:
    """Let the allocator keep what is freed, as long as anyone in this process wants that.

    Dask starts workers with ``MALLOC_TRIM_THRESHOLD_``, so that they hand back memory that was freed. Then the arrays
    of each iteration are mapped anew, and the system clears every page: a fit takes a fifth longer. Without such
    variables the allocator learns by itself which sizes return, and is left alone.

    Examples
    --------
    >>> with kept_memory():
    ...     sum(range(3))
    3
    """
    usual = _read_settings()
    with _users.lock:
        _users.n += 1
        if _users.n == 1 and usual is not None:
            _set(KEPT)
    try:
        yield
    finally:
        with _users.lock:
            _users.n -= 1
            if _users.n == 0 and usual is not None:
                _set(usual)
                ctypes.CDLL(None).malloc_trim(0)


def _read_settings() -> dict[int, int] | None:
    """Return what applies outside of fits; None if the allocator finds out by itself, or is another than glibc's."""
    if not any(name in os.environ for name in VARIABLES.values()):
        return None
    try:
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018
        return {number: int(os.environ.get(name, DEFAULT)) for number, name in VARIABLES.items()}
    except (AttributeError, OSError, TypeError, ValueError):
        return None


def _set(settings: dict[int, int]) -> None:
    mallopt = ctypes.CDLL(None).mallopt
    for number, value in settings.items():
        mallopt(number, value)
