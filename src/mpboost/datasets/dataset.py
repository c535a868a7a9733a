"""Datasets on disk: tables in bins, built once and trained on as often as wanted, larger than memory."""

import errno
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._files import write_whole
from mpboost.containers.container import ContainerError
from mpboost.data.targets import Targets, spread_targets
from mpboost.datasets.batches import (
    Batches,
    Choice,
    FunctionBatches,
    ParquetBatches,
    TableBatches,
    find_parquet_files,
    is_lazy,
)
from mpboost.datasets.building import BuildOptions, build_dataset, sink_lazy_frame
from mpboost.datasets.coded_table import CodedTable
from mpboost.datasets.dataset_file import Columns, DatasetFileError, describe_size, read_dataset_file
from mpboost.datasets.known import Known

#: The end of names of files with datasets.
SUFFIX = ".mpcols"


class BinnedDataset:
    """A table in bins on disk, which estimators are trained on as it is: it may be larger than memory.

    A dataset is made by ``from_parquet``, ``from_batches`` or ``from_arrays``, which read the rows twice: first to find
    the bins, then to code each value in one byte. It serves any estimator and any seed, and a model is the same, byte
    for byte, as that of the same rows in memory. Without ``file``, the dataset is in a temporary file, which is removed
    along with the object.

    Parameters
    ----------
    path : str or path
        A file that was made before; ``BinnedDataset.open`` does the same.

    Attributes
    ----------
    path : Path
        The file.
    n_rows, n_features : int
        Numbers of rows and features.
    feature_names : list of str or None
        Names of the features; None if they have none. A date has several features, as in a fit in memory.
    target_name : str or None
        Name of the target.
    max_bins : int
        The most bins that a feature may have.

    See Also
    --------
    MPGradientBoostingClassifier : An estimator for large data; ``fit(dataset)`` trains it.

    Notes
    -----
    A parameter ``max_bins`` or ``categorical_features`` of the estimator must agree with the dataset or be left at its
    default. Weak learners other than native trees need values, and cannot be trained on bins. docs/dataset-file.md
    describes the file, docs/scale.md what it costs.

    Examples
    --------
    >>> import numpy as np
    >>> from mpboost import BinnedDataset, MPGradientBoostingClassifier
    >>> def read_batches():  # anew at each call, say from files
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(5):
    ...         X = rng.normal(size=(200, 3))
    ...         yield X, X[:, 0] > 0
    >>> data = BinnedDataset.from_batches(read_batches)
    >>> data.shape
    (1000, 3)
    >>> model = MPGradientBoostingClassifier(n_estimators=20, random_state=0).fit(data)
    >>> bool(model.score(data) > 0.9)
    True
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(os.path.abspath(path))
        content, start = read_dataset_file(self.path)
        self._mapped = _native.MappedFile(os.fspath(self.path))
        if len(self._mapped.data) != content.list_ends(start)[-1]:
            raise DatasetFileError(f"{self.path}: it changed while it was opened.")
        self._content = content
        self._columns: Columns | None = Columns(content, self._mapped.data, start)

    @classmethod
    def open(cls, file: str | os.PathLike[str]) -> Self:
        """Open a dataset that was made before. Files from unknown sources are safe to open.

        Parameters
        ----------
        file : str or path
            The file.

        Returns
        -------
        dataset : BinnedDataset
            The dataset; several processes may open it at a time.

        Raises
        ------
        DatasetFileError
            If the file is not a dataset, is incomplete, or was written by a newer version. Damage of single columns is
            not noticed: ``check`` looks for it.
        """
        return cls(file)

    @classmethod
    def from_parquet(
        cls,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        target: str | None = None,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        max_bins: int = 255,
        like: Any = None,
        file: str | os.PathLike[str] | None = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> Self:
        """Make a dataset from Parquet files.

        Parameters
        ----------
        paths : str, path or list of these
            Files, folders, or patterns such as ``"train/*.parquet"``, whose files are read in the order of their names.
        target : str, default=None
            Name of the column to predict.
        sample_weight : str, default=None
            Name of the column of weights.
        columns : list of str, default=None
            Names of the features; None for all other columns.
        categorical_features : "from_dtype", array-like or None, default="from_dtype"
            As the parameter of estimators: columns of text are categorical by default.
        max_bins : int, default=255
            The most bins of a feature, from 2 to 255.
        like : BinnedDataset or fitted model, default=None
            Take over its features, categories and bins: for validation rows, or to predict.
        file : str or path, default=None
            Where to keep the dataset; a file that exists is replaced when the new one is complete. None for a temporary
            file, which is removed along with the dataset.
        n_jobs : int or None, default=-1
            Number of threads.
        verbose : int, default=0
            1 shows a progress bar for each pass.

        Returns
        -------
        dataset : BinnedDataset
            The dataset.
        """
        choice = Choice(target, sample_weight, columns)
        options = _make_options(categorical_features, max_bins, like, n_jobs, verbose, target)
        return cls._build(ParquetBatches(find_parquet_files(paths), choice), options, file)

    @classmethod
    def from_batches(
        cls,
        batches: Callable[[], Iterable[Any]],
        *,
        target: str | None = None,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        max_bins: int = 255,
        like: Any = None,
        file: str | os.PathLike[str] | None = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> Self:
        """Make a dataset from batches of rows.

        Parameters
        ----------
        batches : callable, or lazy frame of polars
            A function without arguments that returns the batches, the same ones at each call: it is called twice. A
            batch is a frame, or a tuple (X, y) or (X, y, sample_weight). Columns are united as by ``pandas.concat``:
            by name, and a column that a batch lacks has missing values there.
        target, sample_weight, columns, categorical_features, max_bins, like, file, n_jobs, verbose
            As for ``from_parquet``; names are for batches that are frames.

        Returns
        -------
        dataset : BinnedDataset
            The dataset.
        """
        choice = Choice(target, sample_weight, columns)
        options = _make_options(categorical_features, max_bins, like, n_jobs, verbose, target)
        if is_lazy(batches):
            with sink_lazy_frame(batches, file) as parquet:
                return cls._build(ParquetBatches([parquet], choice), options, file)
        return cls._build(FunctionBatches(batches, choice), options, file)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        categorical_features: Any = "from_dtype",
        max_bins: int = 255,
        like: Any = None,
        file: str | os.PathLike[str] | None = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> Self:
        """Make a dataset from a table in memory, or from a memory map.

        Parameters
        ----------
        X : array-like, memory map, data frame or sparse matrix of shape (n_rows, n_features)
            The features. All cells of a sparse matrix are stored, a byte each.
        y, sample_weight : array-like of shape (n_rows,), default=None
            Targets and weights.
        categorical_features, max_bins, like, file, n_jobs, verbose
            As for ``from_parquet``.

        Returns
        -------
        dataset : BinnedDataset
            The dataset.
        """
        options = _make_options(categorical_features, max_bins, like, n_jobs, verbose)
        return cls._build(TableBatches(X, y, sample_weight), options, file)

    @classmethod
    def _from_table(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        target_name: str | None,
        table_habits: str | None,
        *,
        max_bins: int = 255,
        like: Any = None,
        file: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> Self:
        """Make a dataset from a table in memory; keep the name of its target, and how its file was read."""
        options = _make_options("from_dtype", max_bins, like, -1, verbose, target_name, table_habits)
        return cls._build(TableBatches(X, y, sample_weight), options, file)

    @classmethod
    def _build(cls, batches: Batches, options: BuildOptions, file: str | os.PathLike[str] | None) -> Self:
        """Build a dataset in a file, or in a temporary one that goes along with the object."""
        if file is not None:
            if os.path.isdir(file):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(file))
            with write_whole(file) as path:
                path.touch()  # a folder that cannot be written to is noticed before the rows are read
                build_dataset(path, batches, options)
            return cls(file)
        handle, name = tempfile.mkstemp(prefix="mpboost-", suffix=SUFFIX)
        os.close(handle)
        path = Path(name)
        try:
            build_dataset(path, batches, options)
            dataset = cls(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        weakref.finalize(dataset, _remove, path, os.getpid())
        return dataset

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._content.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._content.n_features

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return self.n_rows, self.n_features

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None if they have none."""
        names = self.known.features["feature_names_in_"]
        return None if names is None else names.tolist()

    @property
    def target_name(self) -> str | None:
        """Name of the target."""
        return self._content.target_name

    @property
    def table_habits(self) -> str | None:
        """How the command line read the table where there was a choice; None if it did not."""
        return self._content.table_habits

    @property
    def max_bins(self) -> int:
        """The most bins that a feature may have."""
        return self.known.max_bins

    @property
    def known(self) -> Known:
        """The features, their categories and bins."""
        return self._content.known

    @property
    def y(self) -> NDArray[Any] | None:
        """The targets; None if the dataset has none."""
        targets = self.targets
        return None if targets is None else spread_targets(targets)

    @property
    def targets(self) -> Targets | None:
        """The targets as they are stored: where few values differ, as these values and a code for each row."""
        try:
            return self._open_columns().read_targets()
        except ContainerError as error:
            raise DatasetFileError(f"{self.path}: {error}") from error

    @property
    def sample_weight(self) -> NDArray[np.float64] | None:
        """The weights of rows; None if they have none."""
        return self._open_columns().read_weights()

    @property
    def table(self) -> CodedTable:
        """The rows, as estimators read them."""
        n_bins = np.maximum(np.diff(self.known.mapper.offsets) + 1, 1)
        codes = self._open_columns().codes
        columns = _native.BinnedColumns.view(codes, self.n_rows, n_bins, self._content.has_missing, False)
        return CodedTable(self.known, columns)

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return len(self._mapped.data)

    def check(self) -> None:
        """Read the whole file and raise a DatasetFileError if a column is damaged."""
        damaged = self._open_columns().find_damaged()
        self.check_intact()
        if damaged is None:
            return
        names = [*(self.feature_names or range(self.n_features)), "(target or weights)"]
        name = names[min(damaged, self.n_features)]
        raise DatasetFileError(f"{self.path}: column {name!r} is damaged. Copy the file again or build it anew.")

    def check_intact(self) -> None:
        """Raise an OSError if the file was cut, or could not be read, since it was opened."""
        if not self._mapped.is_intact:
            raise OSError(f"{self.path}: the file was changed, or could not be read, while it was in use.")

    def close(self) -> None:
        """Forget the file; a temporary one is removed along with the object."""
        self._columns = None

    def _open_columns(self) -> Columns:
        if self._columns is None:
            raise ValueError(f"{self.path}: this dataset was closed. Open it again.")
        self.check_intact()
        return self._columns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        target = "" if self._content.target_dtype is None else f", target {self.target_name or 'y'}"
        size = describe_size(self._content.list_ends(0)[-1])
        return f"<BinnedDataset of {self.n_rows} rows and {self.n_features} features{target}, {size}: {self.path}>"

    def __reduce__(self) -> Any:
        return type(self), (self.path,)


def _make_options(
    categorical_features: Any,
    max_bins: int,
    like: Any,
    n_jobs: int | None,
    verbose: int,
    target_name: Any = None,
    table_habits: str | None = None,
) -> BuildOptions:
    """Check the options that users pass."""
    if not isinstance(max_bins, int | np.integer) or not 2 <= max_bins <= 255:
        raise ValueError(f"max_bins must be a whole number from 2 to 255, not {max_bins!r}.")
    known = None if like is None else find_known(like)
    name = None if target_name is None else str(target_name)
    return BuildOptions(categorical_features, int(max_bins), known, n_jobs, verbose, name, table_habits)


def find_known(like: Any) -> Known:
    """Return the features and bins of a dataset or of a fitted model of trees."""
    if isinstance(like, BinnedDataset):
        return like.known
    mapper = getattr(getattr(like, "_ensemble", None), "mapper", None)
    if mapper is None:
        raise TypeError(f"like must be a BinnedDataset or a fitted model of native trees, not {type(like).__name__}.")
    names = ("n_features_in_", "feature_names_in_", "is_categorical_", "categories_", "has_other_category_")
    return Known({name: getattr(like, name, None) for name in names}, mapper, int(getattr(like, "max_bins", 255)))


def _remove(path: Path, process: int) -> None:
    """Remove a temporary file; not in a child process, which has a copy of the object."""
    if os.getpid() == process:
        path.unlink(missing_ok=True)
