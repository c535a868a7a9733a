"""Read rows of a table as numbers, and project them to two dimensions."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


def open_table(X: Any) -> Any:
    """Convert a table to an object with a shape: a narwhals frame, a sparse matrix or an array."""
    table = nw.from_native(X, eager_only=True, pass_through=True)
    return table if isinstance(table, nw.DataFrame) or issparse(table) else np.asarray(table)


def read_rows(table: Any, rows: NDArray[np.intp]) -> Any:
    """Read rows of a table as numbers."""
    if issparse(table):
        return table.tocsr()[rows]
    chosen = table[rows.tolist()].to_numpy() if isinstance(table, nw.DataFrame) else table[rows]
    try:
        return np.asarray(chosen, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X contains values that are not numbers, which principal components and images need: pass embedding=, "
            "the coordinates of the rows."
        ) from error


def project(values: Any, *, is_image: bool) -> NDArray[np.float64]:
    """Compute the first two principal components."""
    # Imported here, since they take a fifth of a second to load.
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    if not issparse(values):
        values = SimpleImputer().fit_transform(values)
    if not is_image:
        values = StandardScaler(with_mean=not issparse(values)).fit_transform(values)
    n_components = min(2, *values.shape)
    components = PCA(n_components, svd_solver="arpack" if issparse(values) else "auto", random_state=0)
    return np.pad(components.fit_transform(values), ((0, 0), (0, 2 - n_components)))
