"""Predictions for Dask collections: lazy, partition by partition, with the model sent to the cluster once."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.dask.imports import import_dask
from mpboost.dask.partitions import is_frame, read_table
from mpboost.datasets.batches import as_rows
from mpboost.estimators.parameters import list_rules
from mpboost.estimators.row_attributes import ROW_SOURCE, list_row_attributes


class Outlook:
    """What a prediction looks like.

    Parameters
    ----------
    values : array
        Some of its numbers or labels: they tell the type.
    columns : sequence or None
        What its columns are called, in a data frame; None if a row has one number or label.
    """

    def __init__(self, values: NDArray[Any], columns: Any = None):
        self.dtype, self.columns = values.dtype, None if columns is None else list(columns)
        self._values = values[:1]

    def make_empty(self) -> NDArray[Any]:
        """Make the prediction for no rows."""
        return np.empty((0,) if self.columns is None else (0, len(self.columns)), self.dtype)

    def wrap(self, values: NDArray[Any], index: Any) -> Any:
        """Make a series or a frame of a prediction."""
        import pandas as pd  # Dask's data frames are made of these

        if self.columns is None:
            return pd.Series(values, index=index, dtype=pd.Series(self._values).dtype)
        return pd.DataFrame(values, index=index, columns=self.columns)


def make_light(model: Any) -> Any:
    """Copy a fitted model without what is about its training rows; one thread for each task of Dask.

    Rules of the user may hold data about rows: the copy has the defaults of these parameters.
    """
    light, defaults = copy.copy(model), type(model)()
    rows = {ROW_SOURCE, *list_row_attributes(type(model))}
    light.__dict__ = {name: value for name, value in vars(model).items() if name not in rows}
    rules = {name: getattr(defaults, name) for name in list_rules(model)}
    return light.set_params(n_jobs=1, callbacks=None, **rules)


def predict_lazily(model: Any, X: Any, method: str, outlook: Outlook, n_estimators: int | None = None) -> Any:
    """Predict the rows of a Dask collection; nothing is computed yet.

    Parameters
    ----------
    model : Future, Delayed or fitted estimator
        The model.
    X : Dask array or data frame
        The rows.
    method : str
        The name of the method to call.
    outlook : Outlook
        What the prediction looks like.
    n_estimators : int or None
        Predict with so many learners; None for all.

    Returns
    -------
    predictions
        A Dask array with the chunks of X, or a Dask series or data frame with its partitions, index and divisions.
    """
    X = read_table(X, "X")
    if is_frame(X):
        meta = outlook.wrap(outlook.make_empty(), X._meta.index[:0])
        return X.map_partitions(_predict_frame, model, method, outlook, n_estimators, meta=meta)
    shape: dict[str, Any] = {"drop_axis": 1}
    if outlook.columns is not None:
        shape = {"chunks": (X.chunks[0], (len(outlook.columns),))}
    return X.map_blocks(
        _predict_block, model, method, outlook, n_estimators, dtype=outlook.dtype, meta=outlook.make_empty(), **shape
    )


def _predict_frame(X: Any, model: Any, method: str, outlook: Outlook, n_estimators: int | None) -> Any:
    return outlook.wrap(_predict_block(X, model, method, outlook, n_estimators), X.index)


def _predict_block(X: Any, model: Any, method: str, outlook: Outlook, n_estimators: int | None) -> NDArray[Any]:
    if X.shape[0] == 0:
        return outlook.make_empty()
    predict: Callable[..., NDArray[Any]] = getattr(model, method)
    return predict(as_rows(X), n_estimators=n_estimators).astype(outlook.dtype, copy=False)


def share_model(client: Any, model: Any) -> Any:
    """Send a model to all workers; without a client, it becomes one node of the graph."""
    if client is None:
        return import_dask().delayed(model, pure=False, traverse=False)
    return client.scatter(model, broadcast=True, hash=False)
