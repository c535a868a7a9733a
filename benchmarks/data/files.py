"""The files of data sets: found in a folder, or fetched from OpenML into a cache, and checked by their sums."""

import hashlib
import json
import os
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.folders import PROJECT
from benchmarks.data.cones import make_cones
from benchmarks.data.openml import ELSEWHERE, SOURCES, fetch_arrays

GENERATED: dict[str, Callable[[], dict[str, NDArray[Any]]]] = {"cones": make_cones}
#: Of the files that our results were measured on.
CHECKSUMS: dict[str, str] = json.loads(Path(__file__).with_name("checksums.json").read_text(encoding="utf-8"))
_CHECKSUM = "checksum"
_ADVICE = "Remove it to get it from OpenML, if OpenML has it, or set MPBOOST_DATA to another folder."


class DataNotFoundError(Exception):
    """A data set is not where it was looked for; the message says what to do."""


def data_folder() -> Path:
    """Find the folder of the data sets: ``MPBOOST_DATA``, or ``../shared/data`` from the project's root."""
    return Path(os.environ.get("MPBOOST_DATA", PROJECT.parent / "shared" / "data"))


def cache_folder() -> Path:
    """Find the folder of what came from OpenML: ``MPBOOST_CACHE``, or ``~/.cache/mpboost``."""
    return Path(os.environ.get("MPBOOST_CACHE", Path.home() / ".cache" / "mpboost"))


def describe_source(name: str) -> str:
    """Say where a data set would come from, without fetching it; nothing if it cannot be had."""
    if name in GENERATED:
        return "generated"
    for source, folder in (("local", data_folder()), ("cache", cache_folder())):
        if (folder / f"{name}.npz").is_file():
            return source
    return f"OpenML {SOURCES[name].data_id}" if name in SOURCES else ""


def find_file(name: str) -> Path:
    """Find the file of a data set: in the data folder, else in the cache, where it is put from OpenML if need be."""
    paths = [folder / f"{name}.npz" for folder in (data_folder(), cache_folder())]
    found = [path for path in paths if path.is_file()]
    if found:
        return found[0]
    try:
        if name not in SOURCES:
            raise ValueError(ELSEWHERE.get(name, "no id of OpenML is known for it"))
        _save(paths[1], fetch_arrays(name))
    except (OSError, HTTPException, ValueError, ImportError) as error:
        raise DataNotFoundError(
            f"There is no {paths[0]} and no {paths[1]}, and OpenML does not help: {error}. Set the environment "
            f"variable MPBOOST_DATA to the folder that holds {name}.npz, a file of numpy.savez with the arrays X and "
            "y, or X_train, y_train, X_test and y_test"
            + ("; or connect to the network and try again." if name in SOURCES else ".")
        ) from error
    return paths[1]


def load_arrays(name: str) -> dict[str, NDArray[Any]]:
    """Load all arrays of a data set: X and y, or X_train, y_train, X_test and y_test where a split is official."""
    if name in GENERATED:
        return GENERATED[name]()
    path = find_file(name)
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise DataNotFoundError(f"{path} cannot be read: {error}. {_ADVICE}") from error
    # A file of the cache brings its own check-sum, for the bytes of OpenML need not be those of the data folder.
    expected = str(arrays.pop(_CHECKSUM, CHECKSUMS.get(name, "")))
    if expected and (found := checksum(arrays)) != expected:
        raise DataNotFoundError(f"{path} is not what it should be: its check-sum is {found}, not {expected}. {_ADVICE}")
    return arrays


def checksum(arrays: dict[str, NDArray[Any]]) -> str:
    """Sum up names, types, shapes and values, whatever the order of the arrays."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        # As it lies in memory, which a file keeps: to turn a large table around takes longer than to sum it up.
        lying = array.T if array.flags.fnc else array
        digest.update(f"{name} {array.dtype.str} {array.shape} {array.flags.fnc}".encode())
        digest.update(np.ascontiguousarray(lying).view(np.uint8))
    return digest.hexdigest()


def _save(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a file of the cache, which appears under its name only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            np.savez_compressed(file, **arrays, **{_CHECKSUM: np.array(checksum(arrays))})
            file.close()
            os.replace(file.name, path)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise
