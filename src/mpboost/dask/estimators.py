"""The estimators that are trained on a Dask cluster."""

from typing import Any

from mpboost.dask.base import DaskClassifier, DaskRegressor
from mpboost.estimators.classifier import MPBoostClassifier
from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.regressor import MPBoostRegressor


class DaskMPBoostClassifier(DaskClassifier, local=MPBoostClassifier):
    """``MPBoostClassifier`` on a Dask cluster.

    Parameters
    ----------
    **parameters
        Those of ``MPBoostClassifier``. ``n_jobs`` is the number of threads on each worker that trains; None for
        those that Dask was given: of the worker or, with placement "one", of all workers on its machine.
        ``warm_start=True`` is not possible.
    client : distributed.Client, default=None
        The client of the cluster; None for the one that was made last.
    placement : {"auto", "one", "sharded"}, default="auto"
        Where to train. "one" collects the codes of all rows, a byte for each value, on the worker with the most memory;
        with "sharded" each worker has some of the rows. The model is the same. "auto" is "one" for up to 5 million
        rows, if their codes and the state of the fit take at most 40 % of the memory of that worker.

    Attributes
    ----------
    placement_ : str
        Where the model was trained: "one" or "sharded".
    **attributes
        Those of ``MPBoostClassifier``. Attributes with an entry for each row are Dask arrays.

    See Also
    --------
    MPBoostClassifier : The same on one machine, with all parameters and attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost.dask import DaskMPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    ...     model = DaskMPBoostClassifier(n_estimators=50, random_state=0, client=client).fit(X, y)
    ...     labels = model.predict(X).compute()
    >>> model.placement_, labels.shape, type(model.to_local()).__name__
    ('one', (569,), 'MPBoostClassifier')
    """

    def predict_vote_share(self, X: Any, *, n_estimators: int | None = None) -> Any:
        """Compute the share of votes for each class, without calibration, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        shares : Dask array or data frame of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        return self._predict(X, "predict_vote_share", self._outlook_of_shares(), n_estimators)


class DaskMPBoostRegressor(DaskRegressor, local=MPBoostRegressor):
    """``MPBoostRegressor`` on a Dask cluster.

    Parameters
    ----------
    **parameters
        Those of ``MPBoostRegressor``, and those that all Dask estimators have: see ``DaskMPBoostClassifier``.

    Attributes
    ----------
    placement_ : str
        Where the model was trained: "one" or "sharded".
    **attributes
        Those of ``MPBoostRegressor``. Attributes with an entry for each row are Dask arrays.

    See Also
    --------
    MPBoostRegressor : The same on one machine, with all parameters and attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from mpboost.dask import DaskMPBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    ...     model = DaskMPBoostRegressor(n_estimators=50, random_state=0, client=client).fit(X, y)
    ...     r2 = model.score(X, y)
    >>> r2 > 0.5
    True
    """


class DaskMPGradientBoostingClassifier(DaskClassifier, local=MPGradientBoostingClassifier):
    """``MPGradientBoostingClassifier`` on a Dask cluster.

    Parameters
    ----------
    **parameters
        Those of ``MPGradientBoostingClassifier``, and those that all Dask estimators have: see
        ``DaskMPBoostClassifier``.

    Attributes
    ----------
    placement_ : str
        Where the model was trained: "one" or "sharded".
    **attributes
        Those of ``MPGradientBoostingClassifier``. Attributes with an entry for each row are Dask arrays.

    See Also
    --------
    MPGradientBoostingClassifier : The same on one machine, with all parameters and attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost.dask import DaskMPGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    ...     model = DaskMPGradientBoostingClassifier(n_estimators=50, random_state=0, client=client).fit(X, y)
    ...     accuracy = model.score(X, y)
    >>> accuracy > 0.95
    True
    """


class DaskMPGradientBoostingRegressor(DaskRegressor, local=MPGradientBoostingRegressor):
    """``MPGradientBoostingRegressor`` on a Dask cluster.

    Parameters
    ----------
    **parameters
        Those of ``MPGradientBoostingRegressor``, and those that all Dask estimators have: see
        ``DaskMPBoostClassifier``.

    Attributes
    ----------
    placement_ : str
        Where the model was trained: "one" or "sharded".
    **attributes
        Those of ``MPGradientBoostingRegressor``. Attributes with an entry for each row are Dask arrays.

    See Also
    --------
    MPGradientBoostingRegressor : The same on one machine, with all parameters and attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from mpboost.dask import DaskMPGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    ...     model = DaskMPGradientBoostingRegressor(n_estimators=50, random_state=0, client=client).fit(X, y)
    ...     r2 = model.score(X, y)
    >>> r2 > 0.5
    True
    """
