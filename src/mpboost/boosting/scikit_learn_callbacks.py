"""Support for the callbacks of scikit-learn."""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason


class ForwardToScikitLearn(Callback):
    """Callback that calls the callbacks set with ``set_callbacks``; each iteration is a task of the fit.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted.
    X, y : array-like
        The training data as passed to fit; callbacks may compute scores on it.
    metadata : dict or None
        Other arguments of fit, by name.
    describe : callable
        Makes the fitted attributes from a run. Only called if a callback needs a model.
    """

    def __init__(
        self,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None,
        metadata: dict[str, Any] | None,
        describe: Callable[[BoostingRun], dict[str, Any]],
    ):
        self._estimator = estimator
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._describe = describe
        self._fit: Any = None
        self._iteration: Any = None

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Announce the fit and its first iteration."""
        n_left = 0 if run.stop_reason is not None else run.n_estimators - run.iteration
        self._fit = self._estimator._init_callback_context(max_subtasks=n_left)
        self._fit.call_on_fit_task_begin(**self._arguments)
        self._begin_iteration(run)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Announce the end of an iteration, and the next one if there is one."""
        iteration, self._iteration = self._iteration, None
        if iteration.call_on_fit_task_end(**self._arguments, reconstruction_attributes=self._lazily(run)):
            run.stop(StopReason.CALLBACK, "a callback of scikit-learn")
        self._begin_iteration(run)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Announce the end of the fit, unless it failed."""
        if self._fit is None or run.stop_reason is None:
            return
        if self._iteration is not None:  # interrupted: this iteration was not completed
            self._iteration.call_on_fit_task_end(estimator=self._estimator)
        self._fit.call_on_fit_task_end(**self._arguments, reconstruction_attributes=self._lazily(run))

    def _begin_iteration(self, run: BoostingRun) -> None:
        if run.stop_reason is None:
            self._iteration = self._fit.subcontext(task_name="iteration")
            self._iteration.call_on_fit_task_begin(**self._arguments, reconstruction_attributes=self._lazily(run))

    def _lazily(self, run: BoostingRun) -> Callable[[], dict[str, Any]] | None:
        known = vars(self._estimator)

        def describe() -> dict[str, Any]:
            return {name: value for name, value in self._describe(run).items() if value is not None or name in known}

        return describe if run.iteration else None
