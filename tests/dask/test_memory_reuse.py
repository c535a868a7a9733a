import os
import platform
import subprocess
import sys

import pytest

from mpboost.dask import memory_reuse
from mpboost.dask.memory_reuse import DEFAULT, KEPT, MMAP_THRESHOLD, TRIM_THRESHOLD, kept_memory

#: Counts the pages that the system has to clear for arrays of a megabyte, one after the other: before, in and after the
#: block of ``kept_memory``, which a second user leaves early.
COUNT_PAGES = """
import resource
from mpboost.dask.memory_reuse import kept_memory

def count():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        bytearray(b"1") * 1_000_000
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

counts = [count()]
with kept_memory():
    with kept_memory():
        pass
    count()
    counts.append(count())
counts.append(count())
print(*counts)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are left alone")
def test_memory_is_kept_inside_the_block_and_handed_back_outside():
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    printed = subprocess.run([sys.executable, "-c", COUNT_PAGES], env=environment, stdout=subprocess.PIPE, check=True)
    before, inside, after = map(int, printed.stdout.split())
    assert inside < 500
    assert before > 5_000
    assert after > 5_000


@pytest.fixture
def told(monkeypatch):
    """What the allocator is told, in place of telling it."""
    settings = []
    monkeypatch.setattr(memory_reuse, "_set", settings.append)
    for name in memory_reuse.VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    return settings


def test_an_allocator_that_learns_by_itself_is_left_alone(told):
    with kept_memory():
        pass
    assert told == []


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are left alone")
def test_settings_of_the_environment_return_even_after_an_error(told, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with pytest.raises(KeyError), kept_memory():
        raise KeyError
    assert told == [KEPT, {MMAP_THRESHOLD: DEFAULT, TRIM_THRESHOLD: 65536}]


def test_a_setting_that_is_no_number_is_ignored(told, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "a lot")
    with kept_memory():
        pass
    assert told == []
