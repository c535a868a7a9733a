"""What users pass, Dask arrays and data frames, as batches: one for each partition, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpboost.dask.imports import import_dask
from mpboost.data.sources import read_native
from mpboost.datasets.batches import Batch, Choice, as_rows
from mpboost.datasets.reading import named_errors


@dataclass(frozen=True)
class Partitions:
    """The partitions of a table, its targets and its weights, none of which is computed yet.

    Attributes
    ----------
    batches : list of Delayed
        The rows of each partition, as a Batch.
    keys : list
        By what key Dask knows the features of each partition.
    counts : list of int or None
        The number of rows of each partition, if Dask knows it.
    outlines : list of Delayed
        One feature and the weights of each partition, as a Batch: enough to count rows.
    has_weights : bool
        Whether rows have weights.
    choice : Choice
        Which columns of the frame are targets and weights.
    """

    batches: list[Any]
    keys: list[Any]
    counts: list[int] | None
    outlines: list[Any]
    has_weights: bool
    choice: Choice

    def __len__(self) -> int:
        return len(self.batches)


def read_partitions(
    X: Any, y: Any, sample_weight: Any, names: Sequence[str] = ("X", "y", "sample_weight")
) -> Partitions:
    """Check Dask collections as far as possible before they are computed.

    Parameters
    ----------
    X : Dask array or data frame
        The features.
    y, sample_weight : Dask array, series, name of a column of X, or None
        Targets and weights.
    names : sequence of str
        What the three are called in messages.
    """
    X = read_table(X, names[0])
    columns = _read_column(y, X, names[1], names[0]), _read_column(sample_weight, X, names[2], names[0])
    choice = Choice(*(each if _is_name(each) else None for each in columns))
    apart = [None if _is_name(each) else each for each in columns]
    for name, each in zip(names[1:], apart, strict=True):
        _check_partitions(X, each, names[0], name)
    header = list(X.columns) if is_frame(X) else None
    named = [name for name in choice[:2] if name is not None]
    if header is not None and not [name for name in header if name not in named]:
        raise ValueError(f"{names[0]} has no features: its columns are {header}.")
    features = _list_blocks(X)
    others = [[None] * len(features) if each is None else _list_blocks(each) for each in apart]
    delayed = import_dask().delayed(make_batch)
    batches = [
        delayed(f"Partition {number}", choice, header, *block)
        for number, block in enumerate(zip(features, *others, strict=True))
    ]
    return Partitions(
        batches,
        [block.key for block in features],
        _list_counts(X),
        _outline(X, choice, apart[1]),
        columns[1] is not None,
        choice,
    )


def read_table(X: Any, name: str) -> Any:
    """Check that this is a Dask array or data frame; all columns of a row must be in one chunk of an array."""
    dask = import_dask()
    if is_frame(X):
        twice = {each for each in X.columns if list(X.columns).count(each) > 1}
        if twice:
            raise ValueError(f"{name} has more than one column named {min(twice)!r}: rename one of them.")
        return X
    if not isinstance(X, dask.array.Array):
        raise TypeError(
            f"{name} must be a Dask array or a Dask data frame, not {type(X).__name__}: make one by "
            "dask.array.from_array or dask.dataframe.from_pandas, or train on one machine by the estimator without "
            "Dask in its name."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, but {name} has {X.ndim} dimensions: reshape it.")
    if np.isnan(X.shape[1]):
        raise ValueError(f"The number of columns of {name} is unknown: call {name}.compute_chunk_sizes() first.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def is_frame(X: Any) -> bool:
    """Check whether this is a Dask data frame."""
    return isinstance(X, import_dask().dataframe.DataFrame)


def is_series(values: Any) -> bool:
    """Check whether this is a column of a Dask data frame."""
    return isinstance(values, import_dask().dataframe.Series)


def count_partitions(collection: Any) -> int:
    """Count the partitions of a collection, along its rows."""
    return int(collection.npartitions if is_frame(collection) or is_series(collection) else collection.numblocks[0])


def make_batch(place: str, choice: Choice, header: list[Any] | None, X: Any, y: Any, sample_weight: Any) -> Batch:
    """Make a batch of the computed parts of a partition; runs on a worker."""
    X = as_rows(X)
    if header is not None:
        _check_header(place, header, list(X.columns))
        X = X if list(X.columns) == header else X[header]
    if choice == Choice():
        return Batch(place, X, y, sample_weight)
    batch = choice.split(X, place)
    return batch._replace(
        y=batch.y if choice.target is not None else y,
        sample_weight=batch.sample_weight if choice.sample_weight is not None else sample_weight,
    )


def check_lengths(batch: Batch) -> int:
    """Count the rows of a batch; raise a ValueError if it has more or fewer targets or weights."""
    n_rows = int(batch.X.shape[0])
    with named_errors(batch.place):
        for name, values in (("y", batch.y), ("sample_weight", batch.sample_weight)):
            n_values = n_rows if values is None else len(read_native(values, name))
            if n_values != n_rows:
                raise ValueError(
                    f"X has {n_rows} rows, but {name} has {n_values}: X and {name} must have the same rows in each "
                    "partition."
                )
    return n_rows


def _check_header(place: str, expected: list[Any], found: list[Any]) -> None:
    for words, odd in (
        ("lacks", [name for name in expected if name not in found]),
        ("also has", [name for name in found if name not in expected]),
    ):
        if odd:
            raise ValueError(
                f"{place} {words} the column {odd[0]!r}, other than the Dask data frame says ({expected}): make all "
                "partitions with the same columns, or correct its meta."
            )


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int | tuple) and not isinstance(value, bool)


def _read_column(values: Any, X: Any, name: str, table: str) -> Any:
    """Check targets or weights: a name of a column, or a Dask collection of one column."""
    dask = import_dask()
    if values is None:
        return None
    if _is_name(values):
        if not is_frame(X):
            raise TypeError(f"{name}={values!r} names a column, but {table} is an array: pass a Dask array as {name}.")
        if values not in X.columns:
            raise ValueError(f"{name}={values!r} is not a column of {table}; there are {list(X.columns)}.")
        return values
    if is_frame(values):
        if len(values.columns) != 1:
            raise ValueError(
                f"{name} should be one column, got a frame of {len(values.columns)}: pass one of them, for example "
                f"{name}[{values.columns[0]!r}]."
            )
        return values[values.columns[0]]
    if isinstance(values, dask.array.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} should be a 1d array, got an array of shape {values.shape} instead.")
        return _align_chunks(values, X, name, table)
    if is_series(values):
        return values
    raise TypeError(
        f"{name} must be a Dask array, a Dask series or the name of a column of {table}, not {type(values).__name__}: "
        f"make it a Dask array with the chunks of {table}, for example by dask.array.from_array."
    )


def _align_chunks(values: Any, X: Any, name: str, table: str) -> Any:
    """Give an array the chunks of the table, where both are known."""
    counts = None if is_frame(X) else _list_counts(X)
    if counts is None or np.isnan(values.shape[0]):
        return values
    if sum(counts) != values.shape[0]:
        raise ValueError(f"{table} has {sum(counts)} rows, but {name} has {values.shape[0]}.")
    return values.rechunk((tuple(counts),))


def _check_partitions(X: Any, values: Any, table: str, name: str) -> None:
    """Check that two collections may have the same rows in each partition."""
    if values is None:
        return
    n_table, n_values = count_partitions(X), count_partitions(values)
    if n_table != n_values:
        raise ValueError(
            f"{table} has {n_table} partitions, but {name} has {n_values}: both must be cut at the same rows. Take "
            "both from one collection, or use repartition or rechunk."
        )
    if is_frame(X) and is_series(values) and X.known_divisions and values.known_divisions:
        odd = [
            number for number, pair in enumerate(zip(X.divisions, values.divisions, strict=True)) if len({*pair}) > 1
        ]
        if odd:
            place = min(odd[0], n_table - 1)
            (low, high), (other_low, other_high) = (each.divisions[place : place + 2] for each in (X, values))
            raise ValueError(
                f"{table} and {name} have different rows: the index of partition {place} is from {low!r} to {high!r} "
                f"in {table}, but from {other_low!r} to {other_high!r} in {name}. Use "
                f"{name}.repartition(divisions={table}.divisions)."
            )


def _list_blocks(collection: Any) -> list[Any]:
    blocks = collection.to_delayed()
    return list(blocks if isinstance(blocks, list) else blocks.ravel())


def _list_counts(X: Any) -> list[int] | None:
    """List the numbers of rows of the partitions, if they are known."""
    if is_frame(X) or np.isnan(X.shape[0]):
        return None
    return [int(count) for count in X.chunks[0]]


def _outline(X: Any, choice: Choice, weights: Any) -> list[Any]:
    """Make batches that are enough to count rows: one feature, and the weights."""
    if is_frame(X):
        name = choice.sample_weight
        first = X[[X.columns[0] if name is None else name]]
        choice = Choice(sample_weight=name)
    else:
        first, choice = X[:, :1], Choice()
    blocks = [None if each is None else _list_blocks(each) for each in (first, weights)]
    delayed = import_dask().delayed(make_outline)
    return [
        delayed(f"Partition {number}", choice, *(None if each is None else each[number] for each in blocks))
        for number in range(count_partitions(X))
    ]


def make_outline(place: str, choice: Choice, first: Any, weights: Any) -> Batch:
    """Make a batch of one feature and the weights; runs on a worker."""
    first = as_rows(first)
    if choice.sample_weight is not None and choice.sample_weight in getattr(first, "columns", ()):
        weights = first[choice.sample_weight]
    return Batch(place, first, None, weights)
