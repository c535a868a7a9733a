"""Files are written as a whole or not at all."""

import os
import stat

import pytest

from mpboost import _files
from mpboost._files import write_whole


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.txt"


def write(path, meanwhile=lambda: None, **options):
    """Write a file, while something else happens."""
    with write_whole(path, **options) as temporary:
        temporary.write_text("new")
        meanwhile()


@pytest.mark.parametrize("force", [False, True])
def test_write_whole_writes_a_new_file_like_any_other(path, force):
    existed = []
    write(path, lambda: existed.append(path.exists()), force=force)
    assert existed == [False]
    assert path.read_text() == "new"
    other = path.with_name("other")
    other.write_text("new")
    assert path.stat().st_mode == other.stat().st_mode
    assert sorted(os.listdir(path.parent)) == ["file.txt", "other"]


def test_write_whole_keeps_a_link_and_the_mode_of_an_old_file(path):
    path.write_text("old")
    path.chmod(0o640)
    link = path.with_name("link")
    link.symlink_to(path)
    write(link)
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_write_whole_replaces_no_device_or_pipe(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        write(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert os.listdir(path.parent) == ["file.txt"]


def test_write_whole_names_a_folder_that_is_not_there(path):
    with pytest.raises(FileNotFoundError, match=r"Folder not found: .*none, needed to write file\.txt\. Make it first"):
        write(path.parent / "none" / "file.txt")


def test_write_whole_wants_the_name_of_a_file(path):
    with pytest.raises(IsADirectoryError, match="is a folder: give the name of a file"):
        write(path.parent)


def test_write_whole_replaces_nothing_unless_asked_to(path):
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"file\.txt already exists; force=True"):
        write(path, force=False)
    assert path.read_text() == "old"


def test_write_whole_replaces_no_file_that_came_meanwhile(path):
    with pytest.raises(FileExistsError, match="force=True"):
        write(path, lambda: path.write_text("faster"), force=False)
    assert path.read_text() == "faster"
    assert os.listdir(path.parent) == ["file.txt"]


def test_write_whole_does_without_links(path, monkeypatch):
    def fail(*arguments):
        raise OSError("no links")

    monkeypatch.setattr(_files.os, "link", fail)
    write(path, force=False)
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["file.txt"]


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_write_whole_leaves_the_old_file_and_no_litter_if_the_disk_fails(path, monkeypatch, function):
    path.write_text("old")

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(_files.os, function, fail)
    with pytest.raises(OSError, match="disk full"):
        write(path)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == ["file.txt"]


def test_write_whole_waits_for_the_disk_before_it_replaces(path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            _files.os, name, lambda *arguments, name=name, real=real: (calls.append(name), real(*arguments))
        )
    write(path)
    assert calls == ["fsync", "replace"]


def test_write_whole_leaves_no_litter_if_writing_is_interrupted(path):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(path, interrupt)
    assert os.listdir(path.parent) == []
