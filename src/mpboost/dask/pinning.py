"""Lets Dask compute something on a chosen worker, if it is there."""

from typing import Any

from mpboost.dask.imports import import_dask


def call_on(worker: str | None, function: Any, *args: Any) -> Any:
    """Describe a call, for Dask to compute on a worker if it is there; anywhere if none is given.

    Only this call is meant for the worker. ``dask.annotate`` would send there, too, what its arguments are computed
    from, which may be all that the user has Dask compute: one worker would do the work of all. And if all workers are
    lost, Dask never starts tasks again that were meant for one of them and wait for nothing, although they may run
    anywhere. So the call should have an argument that Dask computes.

    Parameters
    ----------
    worker : str or None
        The address of the worker.
    function : callable
        What to call.
    *args
        Its arguments; Dask computes those that are futures or delayed objects, in lists, too.

    Examples
    --------
    >>> call_on(None, sum, [call_on("tcp://127.0.0.1:1", abs, -1), 2]).compute(scheduler="sync")
    3
    """
    node = import_dask().delayed(function, pure=False)(*args)
    if worker is not None:
        node.dask.layers[node.key].annotations = {"workers": [worker], "allow_other_workers": True}
    return node
