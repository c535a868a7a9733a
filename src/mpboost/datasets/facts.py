"""Facts about a dataset, read from its file in little time, without scikit-learn."""

from dataclasses import dataclass
from pathlib import Path

from mpboost import _native
from mpboost.containers.container import PROLOGUE
from mpboost.data.targets import Targets
from mpboost.datasets.dataset_file import Columns, Content, DatasetFileError, read_dataset_file


@dataclass(frozen=True)
class DatasetFacts:
    """Facts about a dataset.

    Attributes
    ----------
    content : Content
        What is in its file, but for the columns.
    feature_names : list of str
        Names of the features; x0, x1, ... if they have none.
    targets : array, CodedTargets or None
        The targets, which are read from the file when they are used.
    n_bytes : int
        Size of the file.
    schema : int
        Number of the format of the file.
    """

    content: Content
    feature_names: list[str]
    targets: Targets | None
    n_bytes: int
    schema: int


def read_facts(path: Path) -> DatasetFacts:
    """Read the facts about a dataset; raise a DatasetFileError if the file is not one."""
    content, start = read_dataset_file(path)
    data = _native.MappedFile(str(path)).data
    if len(data) != content.list_ends(start)[-1]:
        raise DatasetFileError(f"{path}: it changed while it was opened.")
    names = content.known.features["feature_names_in_"]
    return DatasetFacts(
        content,
        [f"x{j}" for j in range(content.n_features)] if names is None else [str(name) for name in names],
        Columns(content, data, start).read_targets(),
        len(data),
        int(PROLOGUE.unpack(data[: PROLOGUE.size].tobytes())[1]),
    )
