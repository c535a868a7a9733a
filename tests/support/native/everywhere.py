"""The same call with all instruction sets and some numbers of threads."""

import numpy as np

from mpboost import _native


def call_everywhere(call):
    """Make a call with every instruction set and some numbers of threads, and return all results."""
    results = []
    for name in _native.available_kernels():
        _native.use_kernels(name)
        results += [call(_native.Threads(n_threads)) for n_threads in (1, 2, 3)]
    _native.use_kernels(_native.available_kernels()[0])
    return results


def assert_all_equal(results):
    for result in results[1:]:
        for array, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(array, other)
