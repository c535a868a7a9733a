"""The file of a dataset: its layout, the golden file, and files that are cut, damaged, or of another kind."""

import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from mpboost import BinnedDataset, DatasetFileError, ModelFileError, MPBoostClassifier, load_model, save_model
from mpboost.containers.container import pack_container, read_container
from mpboost.datasets.dataset_file import DATASET_FORMAT, SCHEMA, describe_size
from tests.support.datasets import CLASSIFIERS, QUICK, build_cut, describe_dataset, make_mixed, make_numbers, save_bytes

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.mpcols"))
X, Y = make_mixed()
WEIGHTS = np.arange(len(Y)) % 3 / 2


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_files_contain_what_they_did(path):
    dataset, expected = BinnedDataset.open(path), json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    dataset.check()
    known = dataset.known
    assert dataset.feature_names == expected["feature_names"]
    assert known.features["categories_"] == expected["categories"]
    assert known.features["has_other_category_"].tolist() == expected["has_other"]
    assert known.mapper.edges.tolist() == expected["edges"]
    assert known.mapper.offsets.tolist() == expected["offsets"]
    assert [codes.tobytes().hex() for codes in dataset.table.columns.codes] == expected["codes"]
    assert dataset.y.tolist() == expected["y"]
    assert dataset.sample_weight.tolist() == expected["sample_weight"]
    assert (dataset.max_bins, dataset.target_name, dataset.shape) == (10, "answer", (140, len(expected["codes"])))
    assert MPBoostClassifier(**QUICK).fit(dataset).score(dataset) > 0.8


def test_there_is_a_golden_file_of_the_current_format():
    assert f"format-{SCHEMA}.mpcols" in [path.name for path in GOLDEN]


def test_file_is_laid_out_as_described(tmp_path):
    """docs/dataset-file.md, read by hand."""
    path = tmp_path / "a.mpcols"
    dataset = build_cut(X, Y, WEIGHTS, file=path)
    data = path.read_bytes()
    magic, schema, header_size, container_size = struct.unpack_from("<8sIIQ", data)
    assert (magic, schema) == (b"\x89MPC\r\n\x1a\n", 1)
    header = json.loads(data[24 : 24 + header_size])
    assert header["values"]["n_rows"] == 200
    assert header["values"]["target_type"] == "uint8"
    assert struct.unpack_from("<I", data, container_size - 4)[0] == zlib.crc32(data[: container_size - 4])
    start, stride = -(-container_size // 4096) * 4096, 256
    codes = np.frombuffer(data, np.uint8, 9 * stride, start).reshape(9, stride)
    assert codes[:, :200].tolist() == dataset.table.columns.codes.tolist()
    assert not codes[:, 200:].any()
    targets = -(-(start + 9 * stride) // 4096) * 4096
    assert np.array(["no", "yes"])[np.frombuffer(data, np.uint8, 200, targets)].tolist() == Y.tolist()
    weights = -(-(targets + 200) // 4096) * 4096
    assert np.frombuffer(data, "<f8", 200, weights).tolist() == WEIGHTS.tolist()
    assert len(data) == weights + 200 * 8
    with open(path, "rb") as file:
        _, arrays = read_container(DATASET_FORMAT, file, is_whole=False)
    columns = [*codes[:, :200], np.frombuffer(data, np.uint8, 200, targets), np.frombuffer(data, "<f8", 200, weights)]
    assert arrays["checksums"].tolist() == [zlib.crc32(column.tobytes()) for column in columns]
    assert arrays["has_missing"].tolist() == [255 in column for column in columns[:9]]


def test_file_is_the_same_every_time_and_for_any_number_of_threads(tmp_path):
    build_cut(X, Y, WEIGHTS, file=tmp_path / "a.mpcols", n_jobs=1)
    BinnedDataset.from_arrays(X, Y, WEIGHTS, file=tmp_path / "b.mpcols", n_jobs=3)
    assert (tmp_path / "a.mpcols").read_bytes() == (tmp_path / "b.mpcols").read_bytes()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small file, and where its container ends."""
    path = tmp_path_factory.mktemp("small") / "a.mpcols"
    numbers, values = make_numbers(20)
    BinnedDataset.from_arrays(numbers[:, :2], values > 0, np.ones(20), file=path)
    data = path.read_bytes()
    return data, struct.unpack_from("<Q", data, 16)[0]


def list_sizes(data, container_size):
    """List sizes that a file may be cut to: all in the container, and around each boundary."""
    ends = {at + shift for at in range(0, len(data), 128) for shift in (-1, 0, 1)}
    return sorted(size for size in {*range(container_size + 1), *ends} if 0 <= size < len(data))


def test_each_truncation_is_refused(small, tmp_path):
    data, container_size = small
    path = tmp_path / "cut.mpcols"
    path.write_bytes(data)
    for size in reversed(list_sizes(data, container_size)):
        os.truncate(path, size)
        with pytest.raises(DatasetFileError, match=r"cut\.mpcols: "):
            BinnedDataset.open(path)


def test_longer_file_is_refused(small, tmp_path):
    path = tmp_path / "long.mpcols"
    path.write_bytes(small[0] + b"\0")
    with pytest.raises(DatasetFileError, match=r"should have \d+ bytes, but has"):
        BinnedDataset.open(path)


def test_each_changed_byte_of_the_container_is_refused(small, tmp_path):
    data, container_size = small
    path = tmp_path / "damaged.mpcols"
    path.write_bytes(data)
    with open(path, "r+b", buffering=0) as file:
        for place in range(container_size):
            os.pwrite(file.fileno(), bytes([data[place] ^ 0x10]), place)
            with pytest.raises(DatasetFileError):
                BinnedDataset.open(path)
            os.pwrite(file.fileno(), data[place : place + 1], place)
    BinnedDataset.open(path).check()


def test_each_changed_byte_of_the_columns_is_found_by_check(small, tmp_path):
    data, container_size = small
    path = tmp_path / "damaged.mpcols"
    start = -(-container_size // 4096) * 4096
    places = [*range(start, start + 20), *range(start + 128, start + 148), start + 4096, start + 4115, len(data) - 1]
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(DatasetFileError, match=r"damaged\.mpcols: column .* is damaged"):
            BinnedDataset.open(path).check()


def test_target_that_is_damaged_is_refused_when_read(small, tmp_path):
    data, container_size = small
    path = tmp_path / "damaged.mpcols"
    start = -(-container_size // 4096) * 4096 + 4096
    path.write_bytes(data[:start] + b"\x07" + data[start + 1 :])
    dataset = BinnedDataset.open(path)
    for use in (lambda: dataset.y, lambda: MPBoostClassifier(**QUICK).fit(dataset)):
        with pytest.raises(DatasetFileError, match=r"damaged\.mpcols: its targets are damaged"):
            use()


@pytest.mark.parametrize(("weight", "message"), [(np.nan, "NaN"), (-1.0, "[Nn]egative"), (np.inf, "infinity")])
def test_weights_that_are_damaged_are_refused_by_a_fit(small, tmp_path, weight, message):
    path = tmp_path / "damaged.mpcols"
    path.write_bytes(small[0][:-8] + struct.pack("<d", weight))
    with pytest.raises(ValueError, match=message):
        MPBoostClassifier(**QUICK).fit(BinnedDataset.open(path))


def test_codes_beyond_the_bins_do_no_harm(small, tmp_path):
    data, container_size = small
    start = -(-container_size // 4096) * 4096
    path = tmp_path / "damaged.mpcols"
    path.write_bytes(data[:start] + bytes([250, 254, 255] * 85) + b"\xfe" + data[start + 256 :])
    dataset = BinnedDataset.open(path)
    for make in CLASSIFIERS:
        model = make(n_estimators=5, max_samples=10, random_state=0).fit(dataset)
        assert len(model.predict(dataset)) == 20


@pytest.mark.parametrize("content", [b"", b"\x89", b"a,b\n1,2\n", b"\x89MPC\r\n\x1a\n", b"PAR1" * 99], ids=repr)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(DatasetFileError, match=r"other: (this is not a dataset of mpboost|it is incomplete)"):
        BinnedDataset.open(path)


def test_models_and_datasets_are_told_apart(tmp_path):
    build_cut(X, Y, file=tmp_path / "a.mpcols")
    save_model(MPBoostClassifier(**QUICK).fit(X, Y), tmp_path / "a.mpb")
    with pytest.raises(DatasetFileError, match="not a dataset"):
        BinnedDataset.open(tmp_path / "a.mpb")
    with pytest.raises(ModelFileError, match="not a model"):
        load_model(tmp_path / "a.mpcols")


def test_missing_files_and_folders_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        BinnedDataset.open(tmp_path / "none.mpcols")
    with pytest.raises(IsADirectoryError):
        BinnedDataset.open(tmp_path)


def rewrite(path, data, change):
    """Write a file again after a change of its header or arrays."""
    (path.parent / "source").write_bytes(data)
    with open(path.parent / "source", "rb") as file:
        header, arrays = read_container(DATASET_FORMAT, file, is_whole=False)
        columns = data[-(-file.tell() // 4096) * 4096 :]
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    container = b"".join(pack_container(DATASET_FORMAT, header, arrays))
    path.write_bytes(container + bytes(-len(container) % 4096) + columns)


def set_value(name, value):
    return lambda header, arrays: header["values"].__setitem__(name, value)


def set_array(name, array):
    return lambda header, arrays: arrays.__setitem__(name, np.asarray(array))


INVALID = {
    "no rows": (set_value("n_rows", 0), "n_rows must be at least 1"),
    "rows below zero": (set_value("n_rows", -5), "n_rows must be at least 1"),
    "more rows": (set_value("n_rows", 10**9), "should have"),
    "very many rows": (set_value("n_rows", 1 << 62), "should have"),
    "rows as text": (set_value("n_rows", "20"), "n_rows must be of type int"),
    "bins": (set_value("max_bins", 1), "max_bins must be from 2 to 255"),
    "unknown type": (set_value("target_type", "complex128"), "target_type is unknown"),
    "type of codes": (set_value("target_type", "float64"), "target_type must be that of codes"),
    "unknown value": (set_value("more", 5), "more is unknown"),
    "unknown array": (set_array("more", np.zeros(3)), "more is unknown"),
    "missing value": (lambda header, arrays: header["values"].pop("max_bins"), "max_bins is missing"),
    "missing array": (lambda header, arrays: arrays.pop("edges"), "edges is missing"),
    "key": (lambda header, arrays: header.__setitem__("more", 5), "wrong keys"),
    "checksums": (set_array("checksums", np.zeros(3, dtype=np.uint32)), "checksums must be one for each column"),
    "descending edges": (lambda header, arrays: arrays["edges"].__imul__(-1), "edges is invalid"),
    "missing mask": (set_array("has_missing", np.zeros(3, dtype=bool)), "has_missing has the size 3"),
    "labels": (set_array("target_values", np.array([1, 0])), "target_values must ascend"),
    "weights": (set_value("has_weights", False), "checksums must be one for each column"),
    "categories": (set_array("is_categorical", np.array([True, False])), "categories do not match"),
}


@pytest.mark.parametrize(("change", "message"), INVALID.values(), ids=INVALID)
def test_invalid_content_is_refused_by_name(small, tmp_path, change, message):
    path = tmp_path / "invalid.mpcols"
    rewrite(path, small[0], lambda header, arrays: None)
    BinnedDataset.open(path).check()
    rewrite(path, small[0], change)
    with pytest.raises(DatasetFileError, match=rf"invalid\.mpcols: .*{message}"):
        BinnedDataset.open(path)


def test_newer_format_is_refused_with_advice(small, tmp_path):
    path = tmp_path / "newer.mpcols"
    path.write_bytes(small[0][:8] + struct.pack("<I", SCHEMA + 1) + small[0][12:])
    with pytest.raises(DatasetFileError, match=f"it has format {SCHEMA + 1}, .* upgrade mpboost"):
        BinnedDataset.open(path)


def test_odd_names_and_categories_are_stored(tmp_path):
    table = X.rename(columns={"height": "", "count": "a\nb\0c", "colour": "身長"})
    table["mixed"] = [["", "x" * 5000, "\n", "5"][k % 4] for k in range(len(X))]
    dataset = build_cut(table, Y)
    assert dataset.feature_names[0] == ""
    assert {"", "\n"} < set(dataset.known.features["categories_"][-1])
    assert describe_dataset(BinnedDataset.open(dataset.path)) == describe_dataset(dataset)
    assert save_bytes(MPBoostClassifier(**QUICK).fit(dataset)) == save_bytes(MPBoostClassifier(**QUICK).fit(table, Y))


def test_sizes_are_spelled():
    assert [describe_size(n) for n in (0, 1023, 1024, 3 << 20, 5 << 40, 1 << 60)] == [
        *("0 bytes", "1023 bytes", "1.0 KiB", "3.0 MiB", "5.0 TiB", "1048576.0 TiB"),
    ]
