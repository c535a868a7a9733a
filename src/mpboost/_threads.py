"""Threads for ``n_jobs``."""

import warnings

import joblib

from mpboost import _native


def make_threads(n_jobs: int | None) -> _native.Threads:
    """Start the threads that ``n_jobs`` asks for: None is one, -1 all processors, -2 all but one.

    At most four per processor are started, since more do not help. If the system refuses to start that many, this
    warns and returns those that could be started.
    """
    if n_jobs is None:
        return _native.Threads(1)
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not allowed: use a positive number, -1 for all processors, or None for one.")
    n_processors = joblib.cpu_count()
    n_threads = n_jobs if n_jobs > 0 else max(1, n_processors + 1 + n_jobs)
    n_threads = min(n_threads, 4 * n_processors)
    threads = _native.Threads(n_threads)
    if threads.size < n_threads:
        warnings.warn(
            f"n_jobs={n_jobs} asks for {n_threads} threads, but the system started only {threads.size}. This takes "
            "longer but does not change any result. To avoid this warning, lower n_jobs.",
            RuntimeWarning,
            stacklevel=4,
        )
    return threads
