"""What all estimators of the package have in common: how a fit begins, goes on, and leaves its mark."""

import warnings
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from mpboost import _native
from mpboost.assembly import assemble_run, check_continues
from mpboost.boosting import BoostingRun
from mpboost.callbacks import Callback, CallbackSupportMixin, ProgressBar, TimeLimit
from mpboost.learners import is_estimator
from mpboost.problem import BinaryProblem


class MinipatchBooster(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators."""

    def _make_callbacks(self) -> list[Callback]:
        for callback in self.callbacks or ():
            if not isinstance(callback, Callback):
                raise TypeError(f"callbacks must be instances of mpboost.Callback, not {callback!r}.")
        callbacks = list(self.callbacks or ())
        if self.time_limit is not None:
            callbacks.append(TimeLimit(self.time_limit))
        if self.verbose:
            callbacks.append(ProgressBar())
        return callbacks

    def _open_run(self, problem: BinaryProblem, threads: _native.Threads) -> BoostingRun:
        """Begin a run, or take up the last one again."""
        run = getattr(self, "_run", None) if self.warm_start else None
        if run is None:
            self._warn_of_new_start()
            run = assemble_run(self, problem, threads)
        else:
            check_continues(self, run, problem, threads)
            del self._run  # if this fit fails, the model stays as it is but cannot be continued
        run.extend(self.n_estimators)
        return run

    def _warn_of_new_start(self) -> None:
        if self.warm_start and hasattr(self, "_ensemble"):
            warnings.warn(
                "This model cannot be continued and starts anew: its last fit was without warm_start=True or did not "
                "end, or it comes from a pickle or a file.",
                stacklevel=5,
            )

    def _publish(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes, and remove those that are None."""
        state = {
            name: value for name, value in (vars(self) | fitted).items() if name not in fitted or value is not None
        }
        self.__dict__ = state  # all at once: an interrupt leaves the old model or the new one, never half of each

    def __getstate__(self) -> dict[str, Any]:
        # A run holds the binned data and native objects: a pickled model predicts, but does not go on training.
        return {name: value for name, value in super().__getstate__().items() if name != "_run"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or (
            is_estimator(self.estimator) and get_tags(self.estimator).input_tags.allow_nan
        )
        tags.input_tags.sparse = True
        return tags
