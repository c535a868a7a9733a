"""Mapped files: read as they are, and no harm when they are cut short while they are mapped."""

import errno
import gc
import os
import signal
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.naive_tree import find_leaves, make_random_splits, make_tree

PAGE = os.sysconf("SC_PAGESIZE")
N_BYTES = 40 * PAGE + 123

dies = pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="the address sanitizer handles the signal in its own way"
)


@pytest.fixture
def contents():
    return np.random.default_rng(0).integers(1, 256, N_BYTES, dtype=np.uint8)


@pytest.fixture
def path(tmp_path, contents):
    contents.tofile(tmp_path / "codes")
    return tmp_path / "codes"


def run(program, *arguments):
    """Run a program in a process of its own; return its exit code and what it wrote to standard error."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stderr


def test_mapped_file_has_all_bytes_read_only(path, contents):
    file = _native.MappedFile(path)
    assert file.size == N_BYTES
    assert file.is_intact
    np.testing.assert_array_equal(file.data, contents)
    assert np.shares_memory(file.data, file.data)
    with pytest.raises(ValueError, match="read-only"):
        file.data[0] = 1


@pytest.mark.parametrize("as_type", [str, os.fsencode, os.fspath], ids=["str", "bytes", "path"])
def test_mapped_file_takes_paths_of_any_kind(path, as_type):
    assert _native.MappedFile(as_type(path)).size == N_BYTES


def test_mapped_file_shows_what_is_written_later(path):
    file = _native.MappedFile(path)
    with path.open("r+b") as opened:
        opened.write(bytes(5))
    assert not file.data[:5].any()
    assert file.is_intact


def test_mapped_file_lives_as_long_as_its_bytes(path, contents):
    file = _native.MappedFile(path)
    data, mapped = file.data, weakref.ref(file)
    path.unlink()
    del file
    gc.collect()
    np.testing.assert_array_equal(data, contents)
    columns = _native.BinnedColumns.view(data[: 2 * PAGE].reshape(2, PAGE), PAGE, np.full(2, 255), np.full(2, True))
    part = columns.slice(128, 256)
    del data, columns
    gc.collect()
    np.testing.assert_array_equal(part.codes[1], contents[PAGE + 128 : PAGE + 384])
    del part
    gc.collect()
    assert mapped() is None


def list_bad_paths(folder):
    (folder / "folder").mkdir()
    (folder / "file").write_bytes(b"x")
    (folder / "locked").write_bytes(b"x")
    (folder / "locked").chmod(0)
    return [folder / name for name in ("nothing", "folder", "locked", "file/below", "ü" * 300)]


def catch(call, path):
    """Return the error that a call raises, or None."""
    try:
        call(path)
    except OSError as error:
        return error
    return None


def test_mapped_file_raises_what_open_raises(tmp_path):
    paths = [str(path) for path in list_bad_paths(tmp_path)]
    expected = [catch(lambda path: open(path, "rb").close(), path) for path in paths]
    found = [catch(_native.MappedFile, path) for path in paths]
    assert list(map(repr, found)) == list(map(repr, expected))
    assert [error and error.filename for error in found] == [error and error.filename for error in expected]
    assert len(list(filter(None, found))) >= 4  # whoever may do anything reads the locked one


@pytest.mark.parametrize("kind", ["empty", "pipe", "device"])
def test_mapped_file_rejects_what_has_no_bytes(tmp_path, kind):
    path = tmp_path / kind
    if kind == "empty":
        path.touch()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = "/dev/null"
    with pytest.raises(OSError, match="empty" if kind == "empty" else "regular") as raised:
        _native.MappedFile(path)
    assert raised.value.errno == errno.EINVAL
    assert raised.value.filename == str(path)


@pytest.mark.parametrize("path", [None, 3, "nul\0", []])
def test_mapped_file_needs_a_path(path):
    with pytest.raises(TypeError):
        _native.MappedFile(path)


def find_kept(contents, size):
    """Find what can be read of a file that was cut short: zeros where it ends."""
    return np.where(np.arange(N_BYTES) < size, contents, 0)


@pytest.mark.parametrize("size", [0, 1, PAGE - 1, PAGE, PAGE + 1, 17 * PAGE + 5, 40 * PAGE, N_BYTES - 1])
def test_mapped_file_that_is_cut_short_reads_as_zeros(path, contents, size):
    file, data = (file := _native.MappedFile(path)), file.data
    os.truncate(path, size)
    np.testing.assert_array_equal(data, find_kept(contents, size))
    assert not file.is_intact
    os.truncate(path, N_BYTES)
    assert file.is_intact == (size > 40 * PAGE)  # no page of it was missing
    np.testing.assert_array_equal(data, find_kept(contents, size))


def test_mapped_file_that_is_cut_short_is_read_in_any_order(path, contents):
    file = _native.MappedFile(path)
    data = file.data
    for size in (30 * PAGE, 20 * PAGE + 7, 3 * PAGE):
        os.truncate(path, size)
        places = np.random.default_rng(size).permutation(N_BYTES)
        np.testing.assert_array_equal(data[places], find_kept(contents, size)[places])
    assert not file.is_intact


def test_mapped_file_that_grows_is_not_intact(path, contents):
    file = _native.MappedFile(path)
    os.truncate(path, N_BYTES + 1)
    assert not file.is_intact
    np.testing.assert_array_equal(file.data, contents)


def test_mapped_files_are_torn_one_by_one(tmp_path, contents):
    files = []
    for k in range(5):
        contents.tofile(tmp_path / str(k))
        files.append(_native.MappedFile(tmp_path / str(k)))
    os.truncate(tmp_path / "2", 0)
    sums = [int(file.data.sum(dtype=np.int64)) for file in files]
    assert sums == [0 if k == 2 else contents.sum(dtype=np.int64) for k in range(5)]
    assert [file.is_intact for file in files] == [k != 2 for k in range(5)]


@pytest.mark.parametrize("n_splits", [30, 700])
def test_kernels_read_a_mapped_file_that_is_cut_short(path, contents, n_splits):
    n_rows, n_columns, size = 8 * PAGE, 5, 13 * PAGE + 50
    threads = _native.Threads(4)
    file = _native.MappedFile(path)
    columns = _native.BinnedColumns.view(
        file.data[: n_rows * n_columns].reshape(n_columns, n_rows),
        n_rows,
        np.full(n_columns, 255),
        np.full(n_columns, True),
    )
    os.truncate(path, size)
    splits = make_random_splits(np.random.default_rng(0), n_splits, n_columns)
    leaves = np.empty(n_rows, dtype=np.int32)
    make_tree(splits, np.ones(n_splits + 1), n_columns).apply_leaves(columns, leaves, threads)
    kept = find_kept(contents, size)[: n_rows * n_columns].reshape(n_columns, n_rows)
    np.testing.assert_array_equal(leaves, find_leaves(splits, kept))
    assert not file.is_intact


def test_mapped_file_is_cut_short_while_threads_read_it(path):
    for _ in range(20):
        os.truncate(path, 1000 * PAGE)
        file = _native.MappedFile(path)
        data = file.data
        with ThreadPoolExecutor(4) as pool:
            reads = [pool.submit(data[k :: PAGE // 64].sum) for k in range(8)]
            for size in (500 * PAGE, 100 * PAGE, 0):
                os.truncate(path, size)
            for read in reads:
                read.result()
        assert not data.any()
        assert not file.is_intact


def test_mapped_files_leave_nothing_open(path):
    def find_free():
        probe = os.dup(0)
        os.close(probe)
        return probe

    held = [_native.MappedFile(path) for _ in range(3)]
    before = find_free()
    for _ in range(3000):  # more than there are places in the table
        assert _native.MappedFile(path).is_intact
    for _ in range(100):
        with pytest.raises(OSError, match="directory"):
            _native.MappedFile(path.parent)
    assert find_free() <= before  # less if garbage of other tests was closed meanwhile
    assert all(file.is_intact for file in held)


CUT_FOREIGN = """
import faulthandler, mmap, os, signal, sys
from mpboost import _native
ours, foreign, way, order = sys.argv[1:]
if order == "before":
    faulthandler.enable()
file = _native.MappedFile(ours)
if order == "after":
    faulthandler.enable()
    assert file.is_intact
os.truncate(ours, 0)
assert not file.data.any()
with open(foreign, "rb") as opened:
    mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
os.truncate(foreign, 0)
if way == "read":
    mapped[5]
elif way == "raise":
    signal.raise_signal(signal.SIGBUS)
else:
    os.kill(os.getpid(), signal.SIGBUS)
"""


@dies
@pytest.mark.parametrize("order", ["never", "before", "after"])
@pytest.mark.parametrize("way", ["read", "raise", "kill"])
def test_other_bus_errors_end_the_process(tmp_path, way, order):
    for name in ("ours", "foreign"):
        (tmp_path / name).write_bytes(bytes(range(200)))
    code, text = run(CUT_FOREIGN, tmp_path / "ours", tmp_path / "foreign", way, order)
    assert code == -signal.SIGBUS, text
    # Faulthandler tells where, once.
    assert text.count("Fatal Python error: Bus error") == (order != "never")


HANDLE = """
import os, signal, sys
from mpboost import _native
calls = []
signal.signal(signal.SIGBUS, lambda *_: calls.append(1))
file = _native.MappedFile(sys.argv[1])
for _ in range(3):
    os.kill(os.getpid(), signal.SIGBUS)
    signal.raise_signal(signal.SIGBUS)
os.truncate(sys.argv[1], 0)
assert not file.data.any() and not file.is_intact
assert len(calls) == 6, calls
signal.signal(signal.SIGBUS, signal.SIG_IGN)
assert not file.is_intact
os.kill(os.getpid(), signal.SIGBUS)
assert len(calls) == 6, calls
"""


@dies
def test_other_handlers_get_signals_that_are_not_ours(path):
    assert run(HANDLE, path) == (0, "")


FORK = """
import os, sys
from mpboost import _native
path, n = sys.argv[1], int(sys.argv[2])
file = _native.MappedFile(path)
child = os.fork()
if child == 0:
    assert file.is_intact and file.data.all()
    os.truncate(path, n // 2)
    assert file.data[: n // 2].all() and not file.data[n // 2 :].any() and not file.is_intact
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert file.data[: n // 2].all() and not file.data[n // 2 :].any() and not file.is_intact
"""


def test_mapped_file_survives_in_a_forked_process(path):
    assert run(FORK, path, N_BYTES) == (0, "")


EXHAUST = """
import errno, resource, sys
from mpboost import _native
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 2000) if limit > 0 else 2000, limit))
for _ in range(2):
    files = []
    try:
        while len(files) < 2000:
            files.append(_native.MappedFile(sys.argv[1]))
    except OSError as error:
        assert error.errno == errno.EMFILE, error
    assert len(files) > 200
    assert all(file.is_intact for file in files)
    del files
"""


def test_too_many_mapped_files_are_an_error(path):
    assert run(EXHAUST, path) == (0, "")
