"""Base classes of the Dask estimators: what they share with the local ones, and what differs."""

import copy
import inspect
import warnings
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mpboost.boosting.callbacks import check_callbacks
from mpboost.dask.imports import import_dask
from mpboost.dask.partitions import is_frame, read_partitions
from mpboost.dask.placement import Placement
from mpboost.dask.prediction import Outlook, make_light, predict_lazily, share_model
from mpboost.dask.scoring import finish_score, sum_batch
from mpboost.dask.training import fit_on_cluster, read_training_partitions
from mpboost.dask.waiting import compute
from mpboost.dask.workers import find_client, find_open_client
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.explained import check_n_estimators
from mpboost.estimators.row_attributes import list_row_attributes
from mpboost.estimators.sharded import add_row_attributes

#: What these estimators have besides the parameters of the local ones.
OWN_PARAMETERS = {"client": None, "placement": "auto"}


class DaskEstimator(BaseEstimator):
    """Base class of the Dask estimators; ``local=`` names the estimator that they train."""

    _local_class: ClassVar[type[MinipatchBooster]]

    client: Any
    placement: Placement
    placement_: Placement
    _local: MinipatchBooster

    def __init_subclass__(cls, local: type[MinipatchBooster] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if local is not None:
            cls._local_class = local
            cls.__init__ = _make_init(local)  # type: ignore[method-assign]

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the model to training data on a cluster.

        The model has the same bits as that of the local estimator, trained on all partitions in their order.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Training data. Its partitions are computed up to three times: call ``persist`` before, if that takes long.
        y : Dask array, Dask series, or name of a column of X
            Targets: labels of two or more classes for a classifier, numbers for a regressor.
        sample_weight : Dask array, Dask series, or name of a column of X, default=None
            Weights of the rows. Rows of weight 0 are ignored.
        X_val : Dask array or data frame, default=None
            Validation data. If given, the fit stops by their score instead of the out-of-patch score.
        y_val, sample_weight_val : Dask array, Dask series, or name of a column of X_val, default=None
            Targets and weights of the validation data.

        Returns
        -------
        self : estimator
            The fitted model.
        """
        local = self._make_local()
        self._check_parameters(local)
        given = X, y, sample_weight, X_val, y_val, sample_weight_val
        data = read_training_partitions(type(self).__name__, *given)
        fitted = fit_on_cluster(find_client(self.client), local, data, self.placement)
        self.__dict__ = {name: value for name, value in vars(self).items() if name in self.get_params(deep=False)} | {
            "_local": fitted.estimator,
            "placement_": fitted.placement,
            "_chunks": fitted.chunks,
            "_choice": data.train.choice,
        }
        for text, category in fitted.warnings:
            warnings.warn(text, category, stacklevel=2)
        return self

    def _make_local(self) -> MinipatchBooster:
        """Make an unfitted local estimator with the same parameters."""
        params = self.get_params(deep=False)
        return self._local_class(**{name: value for name, value in params.items() if name not in OWN_PARAMETERS})

    def _check_parameters(self, local: Any) -> None:
        local._validate_params()
        local._check_scoring()
        check_callbacks(local.callbacks or ())
        if self.placement not in ("auto", "one", "sharded"):
            raise ValueError(f"placement must be 'auto', 'one' or 'sharded', not {self.placement!r}.")
        if local.warm_start:
            raise ValueError(
                "warm_start=True is not possible on a cluster, where nothing of a fit is left when it ends: set "
                "warm_start=False and train with a larger n_estimators."
            )
        weights = getattr(local, "class_weight", None)
        zero = [label for label, weight in (weights.items() if isinstance(weights, dict) else ()) if weight == 0]
        if zero:
            raise ValueError(
                f"class_weight gives class {zero[0]!r} a weight of 0, which is not possible on a cluster: remove the "
                "rows of this class, or give them a sample_weight of 0."
            )

    def to_local(self) -> Any:
        """Return the fitted local estimator: to save it, make reports, or predict tables in memory.

        Returns
        -------
        estimator : estimator
            For example an ``MPBoostClassifier`` of a ``DaskMPBoostClassifier``.
        """
        check_is_fitted(self)
        add_row_attributes(self._local)
        return copy.copy(self._local)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the score of predictions on the cluster: accuracy for classes, R^2 for numbers.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : Dask array, Dask series, or name of a column of X
            Their targets.
        sample_weight : Dask array, Dask series, or name of a column of X, default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Accuracy or R^2.
        """
        model = self._share()
        client = find_client(self.client)
        sums = import_dask().delayed(sum_batch)
        batches = read_partitions(self._drop_targets(X, y, sample_weight), y, sample_weight).batches
        parts = compute(client, [sums(batch, model) for batch in batches])
        return finish_score(parts, are_classes=hasattr(self._local, "classes_"))

    def _predict(self, X: Any, method: str, outlook: Outlook, n_estimators: int | None) -> Any:
        if n_estimators is not None:
            check_n_estimators(n_estimators, len(self._local._ensemble))
        return predict_lazily(self._share(), self._drop_targets(X), method, outlook, n_estimators)

    def _predict_in_stages(self, X: Any, method: str, outlook: Outlook) -> Iterator[Any]:
        X, model = self._drop_targets(X), self._share()
        for n_estimators in range(1, len(self._local._ensemble) + 1):
            yield predict_lazily(model, X, method, outlook, n_estimators)

    def _share(self) -> Any:
        """Send the model to the cluster, once for each client."""
        check_is_fitted(self)
        client = find_open_client(self.client)
        shared = self.__dict__.setdefault("_shared", {})
        key = None if client is None else client.id
        if key not in shared:
            shared.clear()
            shared[key] = share_model(client, make_light(self._local))
        return shared[key]

    def _drop_targets(self, X: Any, *kept: Any) -> Any:
        """Leave out the columns of targets and weights, if the training frame had them, too; some may be kept."""
        if not is_frame(X):
            return X
        kept = tuple(name for name in kept if isinstance(name, Hashable))
        named = [name for name in self._choice[:2] if name is not None and name in X.columns and name not in kept]
        return X.drop(columns=named) if named else X

    def __sklearn_is_fitted__(self) -> bool:
        return "_local" in vars(self)

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied: the clone has the same one.
        params = self.get_params(deep=False)
        copies = {name: value if name == "client" else clone(value, safe=False) for name, value in params.items()}
        return type(self)(**copies)

    def __getstate__(self) -> dict[str, Any]:
        if "_local" in vars(self):
            add_row_attributes(self._local)  # what they are computed from has functions that not every pickle takes
        state = {name: value for name, value in super().__getstate__().items() if name != "_shared"}
        return state | {"client": None}

    if not TYPE_CHECKING:  # type checkers would believe that every name exists

        def __getattr__(self, name: str) -> Any:
            """Look a fitted attribute up in the local estimator; those about single rows become Dask arrays."""
            if name.startswith("_") or not name.endswith("_") or "_local" not in vars(self):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if name not in list_row_attributes(self._local_class):
                return getattr(self._local, name)
            add_row_attributes(self._local)
            value = getattr(self._local, name)
            return import_dask().array.from_array(value, chunks=(self._chunks, *value.shape[1:]))

    def __sklearn_tags__(self) -> Any:
        return self._make_local().__sklearn_tags__()


class DaskClassifier(ClassifierMixin, DaskEstimator):
    """Base class of the Dask classifiers: their predictions."""

    def predict(self, X: Any, *, n_estimators: int | None = None) -> Any:
        """Predict the class of each row, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        labels : Dask array or series
            With the chunks, or the index and divisions, of X.
        """
        return self._predict(X, "predict", self._outlook_of_labels(), n_estimators)

    def predict_proba(self, X: Any, *, n_estimators: int | None = None) -> Any:
        """Predict the probability of each class, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        probabilities : Dask array or data frame of shape (n_samples, n_classes)
            In the order of ``classes_``, which are the names of the columns of a data frame.
        """
        return self._predict(X, "predict_proba", self._outlook_of_shares(), n_estimators)

    def decision_function(self, X: Any, *, n_estimators: int | None = None) -> Any:
        """Compute the decision function, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        decision : Dask array, series or data frame of shape (n_samples,) or (n_samples, n_classes)
            As of the local estimator.
        """
        return self._predict(X, "decision_function", self._outlook_of_decisions(), n_estimators)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict with 1, 2, 3, ... learners, lazily; each stage is computed apart.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        labels : Dask array or series
            Like ``predict``, with one more learner each time.
        """
        yield from self._predict_in_stages(X, "predict", self._outlook_of_labels())

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict probabilities with 1, 2, 3, ... learners, lazily; each stage is computed apart.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        probabilities : Dask array or data frame
            Like ``predict_proba``, with one more learner each time.
        """
        yield from self._predict_in_stages(X, "predict_proba", self._outlook_of_shares())

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Compute the decision function of 1, 2, 3, ... learners, lazily; each stage is computed apart.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        decision : Dask array, series or data frame
            Like ``decision_function``, with one more learner each time.
        """
        yield from self._predict_in_stages(X, "decision_function", self._outlook_of_decisions())

    def _outlook_of_labels(self) -> Outlook:
        check_is_fitted(self)
        return Outlook(self.classes_)

    def _outlook_of_shares(self) -> Outlook:
        check_is_fitted(self)
        return Outlook(np.empty(1), self.classes_)

    def _outlook_of_decisions(self) -> Outlook:
        check_is_fitted(self)
        return Outlook(np.empty(1), self.classes_ if len(self.classes_) > 2 else None)


class DaskRegressor(RegressorMixin, DaskEstimator):
    """Base class of the Dask regressors: their predictions."""

    def predict(self, X: Any, *, n_estimators: int | None = None) -> Any:
        """Predict numbers, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : int, default=None
            Predict with so many of the first learners, as ``truncate(n_estimators)`` does; None for all.

        Returns
        -------
        predictions : Dask array or series
            With the chunks, or the index and divisions, of X.
        """
        return self._predict(X, "predict", Outlook(np.empty(1)), n_estimators)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict with 1, 2, 3, ... learners, lazily; each stage is computed apart.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        predictions : Dask array or series
            Like ``predict``, with one more learner each time.
        """
        yield from self._predict_in_stages(X, "predict", Outlook(np.empty(1)))


def _make_init(local: type[MinipatchBooster]) -> Any:
    """Make a constructor with the parameters of a local estimator and those of all Dask estimators."""
    known = inspect.signature(local.__init__)
    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in OWN_PARAMETERS.items()
    ]
    signature = known.replace(parameters=[*known.parameters.values(), *own])

    def __init__(self: DaskEstimator, *args: Any, **params: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *args, **params)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
