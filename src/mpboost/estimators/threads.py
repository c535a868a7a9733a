"""From ``n_jobs`` to threads."""

import joblib

from mpboost import _native


def make_threads(n_jobs: int | None) -> _native.Threads:
    """Start as many threads as ``n_jobs`` means: None is one, -1 all processors, -2 all but one.

    More than a few per processor are never of use, so they are not started.
    """
    if n_jobs is None:
        return _native.Threads(1)
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use a positive number, -1 for all processors, or None for one.")
    n_processors = joblib.cpu_count()
    n_threads = n_jobs if n_jobs > 0 else max(1, n_processors + 1 + n_jobs)
    return _native.Threads(min(n_threads, 4 * n_processors))
