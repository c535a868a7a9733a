"""Threads of our own, and the choice of kernels."""

import re
import sys

import pytest

from mpboost import _native
from tests.support.helpers import run_short_of_threads
from tests.support.real_data import PROJECT


@pytest.mark.parametrize(("asked", "size"), [(-3, 1), (0, 1), (1, 1), (2, 2), (5, 5)])
def test_threads_number_at_least_one(asked, size):
    assert _native.Threads(asked).size == size


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_threads_that_cannot_start_are_done_without():
    # Again and again: a thread that was left behind would keep its room.
    assert run_short_of_threads("print({mpboost._native.Threads(5).size for _ in range(100)})") == "{2}\n"


def test_thread_stress_calls_every_function_that_has_threads():
    headers = "".join(path.read_text() for path in (PROJECT / "native/include/mpboost").glob("*.hpp"))
    cases = "".join(path.read_text() for path in (PROJECT / "tests/native/thread_stress").glob("*.cpp"))
    functions = set(re.findall(r"(\w+)\([^()]*Threads[&*] threads\b", headers))
    assert {"race", "sum_leaves", "add_class_votes", "grow"} <= functions
    assert {name for name in functions if not re.search(rf"\b{name}\b", cases)} == {"add_rows"}


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
