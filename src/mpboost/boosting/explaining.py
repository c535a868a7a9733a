"""What single trees do with the rows of a table: contributions of features, and leaves."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.boosting.ensembles import BATCH_CELLS, MIN_BATCH_ROWS, TreeEnsemble
from mpboost.data.binned import make_binned_data
from mpboost.data.tables import SparseTable, Table
from mpboost.outputs.contributions import ExplainedOutput

#: Rows that are explained at a time, at most; an interrupt takes effect in between.
MAX_BATCH_ROWS = 1 << 13
#: Numbers that interactions are computed for at a time, at most, but those of one row at least.
PAIR_CELLS = 1 << 22


def compute_contributions(
    ensemble: TreeEnsemble,
    table: Table,
    output: ExplainedOutput,
    threads: _native.Threads,
    background: Table | None = None,
) -> Floats:
    """Compute contributions of features, (n_rows, n_outputs, n_features + 1), with the expected output last.

    Features that are unknown take the way that training rows took, in proportion to covers, or else the values of each
    row of the background in turn.
    """
    tables = [table] if background is None else [table, background]
    forest, features = _narrow(ensemble, tables)
    known = None
    if background is not None:
        known, _ = make_binned_data(background.bin(ensemble.mapper, threads)).fetch(features, threads)
    out = np.zeros((table.n_rows, output.n_outputs, table.n_columns + 1))
    places = np.append(features, table.n_columns)
    for rows, columns in _split(ensemble, table, features, threads):
        part = np.zeros((columns.n_rows, output.n_outputs, len(places)))
        _native.add_contributions(forest, columns, known, output.kind, part, threads, output.tree_factors)
        out[rows, :, places] = output.factor * part
    out[..., -1] += output.offset
    return out


def compute_interactions(
    ensemble: TreeEnsemble, table: Table, output: ExplainedOutput, threads: _native.Threads
) -> Floats:
    """Compute interactions of features, (n_rows, n_outputs, n_features + 1, n_features + 1): a matrix for each row.

    Its rows add up to contributions, of which the diagonal has what is left when all pairs have theirs.
    """
    forest, features = _narrow(ensemble, [table])
    places = np.append(features, table.n_columns)
    out = np.zeros((table.n_rows, output.n_outputs, table.n_columns + 1, table.n_columns + 1))
    n_batch = max(1, PAIR_CELLS // (output.n_outputs * len(places) ** 2))
    for rows, columns in _split(ensemble, table, features, threads, n_batch):
        part = np.zeros((columns.n_rows, output.n_outputs, len(places), len(places)))
        _native.add_interactions(forest, columns, output.kind, part, threads, output.tree_factors)
        out[rows, :, places[:, None], places] = output.factor * part
    diagonal = np.einsum("...ii->...i", out)
    diagonal += compute_contributions(ensemble, table, output, threads) - out.sum(axis=-1)
    return out


def find_leaves(ensemble: TreeEnsemble, table: Table, threads: _native.Threads) -> NDArray[np.int32]:
    """Find the leaf of each row in each tree, (n_rows, n_trees)."""
    forest, features = _narrow(ensemble, [table])
    trees = [forest.tree(index) for index in range(len(forest))]
    out = np.empty((table.n_rows, len(trees)), dtype=np.int32)
    for rows, columns in _split(ensemble, table, features, threads):
        leaves = np.empty(columns.n_rows, dtype=np.int32)
        for index, tree in enumerate(trees):
            tree.apply_leaves(columns, leaves, threads)
            out[rows, index] = leaves
    return out


def _narrow(ensemble: TreeEnsemble, tables: list[Table]) -> tuple[_native.Forest, NDArray[np.int64]]:
    """Return the forest and the features of its columns; of sparse tables, only those that trees use."""
    if all(isinstance(table, SparseTable) for table in tables):
        return ensemble.forest.narrow(), ensemble.forest.features
    return ensemble.forest, np.arange(ensemble.mapper.n_features)


def _split(
    ensemble: TreeEnsemble,
    table: Table,
    features: NDArray[np.int64],
    threads: _native.Threads,
    max_rows: int = MAX_BATCH_ROWS,
) -> Iterator[tuple[slice, _native.BinnedColumns]]:
    """Bin the rows of a table batch by batch."""
    n_batch = min(max_rows, MAX_BATCH_ROWS, max(MIN_BATCH_ROWS, BATCH_CELLS // max(1, len(features))))
    for k, batch in enumerate(table.split_rows(n_batch)):
        columns, _ = make_binned_data(batch.bin(ensemble.mapper, threads)).fetch(features, threads)
        yield slice(k * n_batch, (k + 1) * n_batch), columns
