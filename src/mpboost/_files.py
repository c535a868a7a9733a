"""Writes files completely or not at all: models, reports and tables."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_whole(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary file to write to, and move it to its place when it is complete and on the disk.

    If anything fails, an older file stays as it was and no temporary file is left.

    Parameters
    ----------
    path : str or path
        Where the file goes. A link stays a link, and a replaced file passes on its mode. Folders, devices and
        pipes raise an OSError.
    force : bool, default=True
        Whether to replace an existing file; if not, it raises a FileExistsError.

    Yields
    ------
    temporary : Path
        Name of a file in the same folder, which does not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_whole(Path(folder, "a.txt")) as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    if not force and os.path.lexists(path):
        raise _make_error(path)
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder: give the name of a file.")
    if place.exists() and not place.is_file():
        raise OSError(f"{os.fspath(path)} is not a regular file, which could be replaced.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"Folder not found: {place.parent}, needed to write {place.name}. Make it first.")
    temporary = place.with_name(f".mpboost-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        with open(temporary, "r+b") as file:  # if the move reached the disk first, a crash would leave an empty file
            os.fsync(file.fileno())
        if force:
            with suppress(FileNotFoundError):
                shutil.copymode(place, temporary)
            os.replace(temporary, place)
        else:
            _move_new(temporary, place)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _move_new(temporary: Path, place: Path) -> None:
    """Move a file to a name that is free; never replace a file, even if one is made at this moment."""
    try:
        os.link(temporary, place)  # unlike a rename it never replaces a file
    except FileExistsError as error:
        raise _make_error(place) from error
    except OSError:  # a file system without links
        os.replace(temporary, place)


def _make_error(path: str | os.PathLike[str]) -> FileExistsError:
    return FileExistsError(f"{os.fspath(path)} already exists; force=True replaces it.")
