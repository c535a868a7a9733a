"""Threads of our own, and the choice of kernels."""

import subprocess
import sys

import pytest

from mpboost import _native


@pytest.mark.parametrize(("asked", "size"), [(-3, 1), (0, 1), (1, 1), (2, 2), (5, 5)])
def test_threads_number_at_least_one(asked, size):
    assert _native.Threads(asked).size == size


EXHAUSTION = """
import resource
from mpboost import _native
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (1 << 28)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    _native.Threads(5000)
except Exception as error:
    print("raised", type(error).__name__)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
def test_threads_that_cannot_start_raise_an_error():
    # In a process of its own: the room for stacks is taken away, and a failure may hang or abort.
    result = subprocess.run([sys.executable, "-c", EXHAUSTION], capture_output=True, text=True, timeout=10, check=False)
    assert result.returncode == 0
    assert result.stdout.startswith("raised")


def test_kernels_can_be_chosen_by_name():
    names = _native.available_kernels()
    assert "portable" in names
    for name in reversed(names):
        _native.use_kernels(name)
        assert _native.current_kernels() == name


def test_kernels_reject_unknown_names():
    with pytest.raises(ValueError, match="no such kernels"):
        _native.use_kernels("abacus")
    assert _native.current_kernels() == _native.available_kernels()[0]
