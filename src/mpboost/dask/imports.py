"""Imports Dask where it is used."""

from types import ModuleType


def import_dask() -> ModuleType:
    """Import Dask with its arrays and data frames, or raise an error that says how to install it."""
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        raise ImportError("mpboost.dask needs dask: pip install 'mpboost[dask]'.") from error
    return dask


def import_distributed() -> ModuleType:
    """Import Dask's cluster, or raise an error that says how to install it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("mpboost.dask needs distributed: pip install 'mpboost[dask]'.") from error
    return distributed
