"""The layout of model files: what is written is read, what is damaged is refused, and saving is all or nothing."""

import json
import os
import zlib

import numpy as np
import pytest

from mpboost import ModelFileError
from mpboost.containers.container import CHECKSUM, PROLOGUE
from mpboost.model_files import container
from mpboost.model_files.container import MAGIC, SCHEMA, read_container, write_container

HEADER = {"estimator": "X", "values": {"a": 1, "b": 0.1, "c": "é\ud800", "d": None}}
ARRAYS = {
    "floats": np.array([0.1, np.nan, -np.inf]),
    "nothing": np.empty((0, 3), dtype=np.float32),
    "bools": np.array([True, False]),
    "table": np.arange(6, dtype=np.uint16).reshape(2, 3),
    "last": np.array([], dtype=np.int64),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


def write_raw(path, header, content=b"", *, schema=SCHEMA, checksum=None):
    """Write a file whose sizes and checksum are right, whatever is in it."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = PROLOGUE.size + len(header)
    padding = bytes(-size % 64) if content else b""
    data = (
        PROLOGUE.pack(MAGIC, schema, len(header), size + len(padding) + len(content) + 4) + header + padding + content
    )
    path.write_bytes(data + CHECKSUM.pack(zlib.crc32(data) if checksum is None else checksum))


def test_read_returns_what_was_written(path):
    write_container(path, HEADER, ARRAYS)
    header, arrays = read_container(path)
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3).T, np.arange(10)[::-2], np.arange(3, dtype=">i4"), np.array([1.5], dtype=">f8")],
    ids=["transposed", "strided", "big-endian-int", "big-endian-float"],
)
def test_write_takes_arrays_of_any_order(path, array):
    write_container(path, {}, {"a": array})
    np.testing.assert_array_equal(read_container(path)[1]["a"], array)


def test_arrays_are_aligned_and_cannot_be_written_to(path):
    write_container(path, HEADER, ARRAYS)
    data = path.read_bytes()
    assert data.index(ARRAYS["table"].tobytes()) % 64 == 0
    assert not read_container(path)[1]["table"].flags.writeable


def test_read_refuses_every_truncation(path):
    write_container(path, HEADER, ARRAYS)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(ModelFileError, match=r"incomplete|not a model file|should have"):
            read_container(path)


def test_read_refuses_every_changed_byte(path):
    write_container(path, HEADER, ARRAYS)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with pytest.raises(ModelFileError):
            read_container(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a model file"),
        (b"x,y\n1,2\n", "not a model file"),
        (b"\x80\x04\x95", "pickle"),
        (MAGIC, "incomplete"),
    ],
    ids=["empty", "text", "pickle", "mark-only"],
)
def test_read_refuses_other_files(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        read_container(path)


def test_read_tells_damage_from_a_newer_format(path):
    write_raw(path, {"arrays": {}}, checksum=0)
    with pytest.raises(ModelFileError, match=r"damaged.*checksum"):
        read_container(path)
    write_raw(path, {"arrays": {}}, schema=SCHEMA + 1, checksum=0)
    with pytest.raises(ModelFileError, match="upgrade mpboost"):
        read_container(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b'{"arrays":{},"a":1,"a":1}', "twice"),
        (b'{"arrays":{"a":["int8",0],"a":["int8",0]}}', "twice"),
        (b'{"arrays":{},"a":NaN}', "NaN"),
        (b'{"arrays":{},"a":-Infinity}', "Infinity"),
        (b'{"arrays":{},"a":1e999}', "too large"),
        (b'{"arrays":{},"a":' + b"9" * 5000 + b"}", "cannot be read"),
        (b"[" * 2000, "cannot be read"),
        (b"[" * 5000, "more than 2048 items"),
        (b'{"arrays":{},"a":"\xff"}', "cannot be read"),
        (b'{"arrays":{},"a":"' + b"x" * 70_000 + b'"}', "too large"),
        (b"", "cannot be read"),
        (b"[]", "not an object"),
        (b"{}", "does not list the arrays"),
        (b'{"arrays":[]}', "does not list the arrays"),
    ],
)
def test_read_refuses_header(path, header, message):
    write_raw(path, header)
    with pytest.raises(ModelFileError, match=message):
        read_container(path)


@pytest.mark.parametrize(
    "entry",
    [
        ["object", 1],
        ["float128", 1],
        ["<f8", 1],
        ["float64"],
        ["float64", 1, 1, 1],
        ["float64", -1],
        ["float64", 1.0],
        ["float64", True],
        ["float64", None],
        ["float64", 2**63],
        ["float64", 2**62, 4],
        ["float64", 0, 2**40],
        ["float64", 2],
        ["float64", 0],
        [8, 1],
        "float64",
        {},
    ],
    ids=str,
)
def test_read_refuses_array(path, entry):
    write_raw(path, {"arrays": {"a": ["float64", 1]}}, bytes(8))
    assert read_container(path)[1]["a"] == [0.0]
    write_raw(path, {"arrays": {"a": entry}}, bytes(8))
    with pytest.raises(ModelFileError, match=r"type or shape|fill the file"):
        read_container(path)


def test_read_refuses_bools_that_are_none(path):
    write_raw(path, {"arrays": {"a": ["bool", 2]}}, b"\x01\x02")
    with pytest.raises(ModelFileError, match="neither true nor false"):
        read_container(path)


def test_write_refuses_a_header_that_could_not_be_read(path):
    for value in ("x" * 70_000, [0] * 3000):
        with pytest.raises(ValueError, match="too large for a model file"):
            write_container(path, {"a": value}, {})
    assert not path.exists()


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_failed_write_leaves_the_old_file_and_no_litter(path, monkeypatch, function):
    path.write_text("old")

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(container.os, function, fail)
    with pytest.raises(OSError, match="disk full"):
        write_container(path, HEADER, ARRAYS)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == ["file"]


def test_other_errors_of_the_system_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_container(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        read_container(tmp_path)
    with pytest.raises(IsADirectoryError):
        write_container(tmp_path, {}, {})
    with pytest.raises(FileNotFoundError):
        write_container(tmp_path / "none" / "file", {}, {})
    assert os.listdir(tmp_path.parent / tmp_path.name) == []
