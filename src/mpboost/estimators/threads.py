"""Threads for ``n_jobs``."""

import joblib

from mpboost import _native


def make_threads(n_jobs: int | None) -> _native.Threads:
    """Start the threads that ``n_jobs`` asks for: None is one, -1 all processors, -2 all but one.

    At most four per processor are started, since more do not help.
    """
    if n_jobs is None:
        return _native.Threads(1)
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not allowed: use a positive number, -1 for all processors, or None for one.")
    n_processors = joblib.cpu_count()
    n_threads = n_jobs if n_jobs > 0 else max(1, n_processors + 1 + n_jobs)
    return _native.Threads(min(n_threads, 4 * n_processors))
