"""The container of a model file: its first bytes, its format, its errors. docs/model-file.md describes the layout."""

import os
from typing import Any

from mpboost._files import write_whole
from mpboost.containers.container import Arrays, ContainerError, Format, pack_container
from mpboost.containers.container import read_container as read_any_container

MAGIC, SCHEMA = b"\x89MPB\r\n\x1a\n", 6
MODEL_FORMAT = Format(MAGIC, SCHEMA, "a model file of mpboost", "Load pickled models with pickle or joblib.")


class ModelFileError(ContainerError):
    """Raised for a file that is not a model, is damaged, or was written by a newer version of mpboost.

    Examples
    --------
    >>> import tempfile
    >>> import mpboost
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     mpboost.load_model(file.name)
    Traceback (most recent call last):
        ...
    mpboost.model_files.container.ModelFileError: ...: this is not a model file of mpboost...
    """


def write_container(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays to a file; if that fails, no partial file is left."""
    with write_whole(path) as temporary, open(temporary, "xb") as file:
        file.writelines(pack_container(MODEL_FORMAT, header, arrays))


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Read the header and the arrays of a file; the arrays are read-only views."""
    with open(os.fspath(path), "rb") as file:
        try:
            return read_any_container(MODEL_FORMAT, file)
        except ContainerError as error:
            raise ModelFileError(str(error)) from error.__cause__
