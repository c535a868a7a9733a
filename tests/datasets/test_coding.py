"""The second pass: rows that change, full disks and interrupts are errors, and leave nothing behind."""

import errno
import os
import resource
import signal
import tempfile

import numpy as np
import pandas as pd
import pytest

from mpboost import BinnedDataset
from mpboost.datasets import coding
from tests.support.datasets import cut, make_mixed, make_numbers
from tests.support.helpers import run_script

X, Y = make_mixed()
NUMBERS, VALUES = make_numbers()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder in which all files, temporary ones too, are made; nothing must be left in it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def change_later(batches, change):
    """Make a function that yields other batches at its second call."""
    calls = iter(range(9))
    return lambda: change(list(batches())) if next(calls) else list(batches())


def change_frame(number, edit):
    def change(batches):
        frame, y, weights = batches[number]
        batches[number] = edit(frame.copy()), y, weights
        return batches

    return change


def set_cell(name, value):
    def edit(frame):
        frame.loc[frame.index[5], name] = value
        return frame

    return edit


def swap_rows(frame):
    order = np.arange(len(frame))
    order[[3, 9]] = order[[9, 3]]
    return frame.iloc[order]


CHANGES = {
    "one number": change_frame(0, set_cell("height", 0.123)),
    "one word": change_frame(0, set_cell("colour", "red")),
    "new category": change_frame(4, set_cell("colour", "never seen")),
    "one date": change_frame(4, set_cell("when", pd.Timestamp("2024-02-26"))),
    "order of rows": change_frame(0, swap_rows),
    "reversed rows": change_frame(0, lambda frame: frame[::-1]),
    "order of batches": lambda batches: batches[::-1],
    "fewer batches": lambda batches: batches[:-1],
    "more batches": lambda batches: [*batches, batches[1]],
    "a row less": lambda batches: [tuple(None if part is None else part[1:] for part in batches[0]), *batches[1:]],
    "two rows": change_frame(0, lambda frame: frame.iloc[[1, 0, *range(2, len(frame))]]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("file", [None, "a.mpcols"])
def test_rows_that_change_between_the_passes_are_noticed(change, file, folder):
    with pytest.raises(ValueError, match=r"the rows are not those that were read before|rows at first, then"):
        BinnedDataset.from_batches(change_later(cut(X, Y), change), file=file and folder / file)


def test_arrays_that_change_between_the_passes_are_noticed():
    for edit in (
        lambda array: np.where(np.arange(len(array))[:, None] == 7, 9.0, array),
        lambda array: array[::-1],
        lambda array: array[:, ::-1],
        lambda array: array[[1, 0, *range(2, len(array))]],
    ):
        with pytest.raises(ValueError, match="Batch 0: the rows are not those that were read before"):
            BinnedDataset.from_batches(change_later(cut(NUMBERS, VALUES), change_frame(0, edit)))


def test_new_labels_are_noticed():
    def change(batches):
        frame, y, weights = batches[0]
        batches[0] = frame, np.where(np.arange(len(y)) == 3, "maybe", y), weights
        return batches

    with pytest.raises(ValueError, match="Batch 0: the target has values that it did not have"):
        BinnedDataset.from_batches(change_later(cut(X, Y), change))


def test_targets_or_weights_that_go_are_noticed():
    weights = np.ones(len(Y))
    for place in (1, 2):
        change = lambda batches, place=place: [  # noqa: E731
            tuple(None if k == place else part for k, part in enumerate(batch)) for batch in batches
        ]
        with pytest.raises(ValueError, match="Batch 0: "):
            BinnedDataset.from_batches(change_later(cut(X, Y, weights), change))
        with pytest.raises(ValueError, match="Batch 0: "):
            BinnedDataset.from_batches(
                change_later(lambda change=change: change(cut(X, Y, weights)()), lambda batches: cut(X, Y, weights)())
            )


@pytest.mark.parametrize("n_calls", [1, 2])
@pytest.mark.parametrize("file", [None, "a.mpcols"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_interrupt_in_either_pass_leaves_nothing_behind(n_calls, file, error, folder):
    calls = iter(range(9))

    def read_batches():
        n_done = next(calls)
        for number, batch in enumerate(cut(X, Y)()):
            if number == 3 and n_done == n_calls - 1:
                raise error("by a test")
            yield batch

    with pytest.raises(error, match="by a test"):
        BinnedDataset.from_batches(read_batches, file=file and folder / file)


@pytest.mark.parametrize("n_calls", [1, 2])
def test_signal_in_either_pass_leaves_nothing_behind(n_calls, folder, python_handler):
    calls = iter(range(9))

    def read_batches():
        if next(calls) == n_calls - 1:
            signal.raise_signal(signal.SIGINT)
        yield from cut(X, Y)()

    with pytest.raises(KeyboardInterrupt):
        BinnedDataset.from_batches(read_batches, file=folder / "a.mpcols")


def test_failed_build_keeps_the_older_file(folder):
    path = folder / "a.mpcols"
    BinnedDataset.from_arrays(NUMBERS, VALUES, file=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not those"):
        BinnedDataset.from_batches(change_later(cut(X, Y), CHANGES["one word"]), file=path)
    assert path.read_bytes() == before
    path.unlink()


@pytest.mark.parametrize("file", [None, "a.mpcols"])
def test_full_disk_is_an_error_before_anything_is_written(file, folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(
        OSError, match=r"The dataset needs .* free .*No space left on device.*choose another file="
    ) as caught:
        BinnedDataset.from_arrays(NUMBERS, VALUES, file=file and folder / file)
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("file", [None, "a.mpcols"])
def test_write_that_fails_later_is_an_error(file, folder, monkeypatch):
    """On systems that cannot reserve room, the disk may be full later."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(OSError, match="No space left on device"):
        BinnedDataset.from_arrays(NUMBERS, VALUES, file=file and folder / file)


def test_short_writes_are_continued(folder, monkeypatch):
    whole = BinnedDataset.from_arrays(NUMBERS, VALUES, file=folder / "a.mpcols")
    pwrite, write = os.pwrite, os.write
    monkeypatch.setattr(os, "pwrite", lambda file, data, position: pwrite(file, data[:17], position))
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:17]))
    BinnedDataset.from_arrays(NUMBERS, VALUES, file=folder / "b.mpcols").check()
    assert (folder / "a.mpcols").read_bytes() == (folder / "b.mpcols").read_bytes()
    assert whole.n_bytes == (folder / "b.mpcols").stat().st_size
    (folder / "a.mpcols").unlink()
    (folder / "b.mpcols").unlink()


LIMITED = """
import resource, signal
import numpy as np
import mpboost
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    mpboost.BinnedDataset.from_arrays(np.random.default_rng(0).normal(size=(20_000, 5)), file=PATH)
except OSError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits of file sizes")
def test_limit_of_file_sizes_is_an_error(folder):
    said = run_script(LIMITED.replace("PATH", repr(str(folder / "a.mpcols"))))
    assert "File too large" in said
    assert "choose another file=" in said


def test_room_is_checked_while_rows_are_counted(monkeypatch, folder):
    usage = type("Usage", (), {"free": 999})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match="200 rows of 5 features need 1000 bytes, but only 999 bytes are free in"):
        coding.check_room(folder, 200, 5)


LOCKED = """
import os
import mpboost
from mpboost.datasets import dataset
if os.geteuid() == 0:  # who may write anywhere
    os.setuid(65534)
try:
    mpboost.BinnedDataset.from_batches(lambda: print("rows were read"), file=PATH)
except PermissionError:
    print("refused")
"""


@pytest.mark.slow
def test_read_only_folder_is_refused_before_rows_are_read():
    with tempfile.TemporaryDirectory(dir="/tmp") as locked:  # where anyone may look
        os.chmod(locked, 0o555)
        assert run_script(LOCKED.replace("PATH", repr(f"{locked}/a.mpcols"))) == "refused\n"
        os.chmod(locked, 0o755)


def test_folder_that_does_not_exist_is_refused_before_rows_are_read(folder):
    def read_batches():
        pytest.fail("rows were read")

    with pytest.raises(FileNotFoundError):
        BinnedDataset.from_batches(read_batches, file=folder / "no" / "a.mpcols")
    with pytest.raises(IsADirectoryError):
        BinnedDataset.from_batches(read_batches, file=folder)


def test_progress_bars_show_rows_of_both_passes(capsys):
    BinnedDataset.from_batches(cut(X, Y), verbose=1)
    shown = capsys.readouterr()
    assert "looking at 200 rows" in shown.out + shown.err
    assert "coding 200 of 200 rows" in shown.out + shown.err
