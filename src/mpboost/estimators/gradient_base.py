"""Base class of the gradient boosting estimators."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.boosting.run import BoostingRun
from mpboost.data.problem import Problem
from mpboost.estimators.explained import ExplainedBooster
from mpboost.estimators.gradient_assembly import assemble_gradient_run, plan_gradient_run
from mpboost.estimators.plans import Plan
from mpboost.estimators.settings import GradientSettings, read_settings
from mpboost.outputs.contributions import ExplainedOutput
from mpboost.outputs.kinds import Outputs, Steps
from mpboost.sampling.sizes import GRADIENT_SIZES
from mpboost.tasks.gradients import GradientTask
from mpboost.tasks.losses import Loss


class GradientBooster(ExplainedBooster):
    """Base class of the gradient estimators: makes runs, and adds the baseline to predictions."""

    estimator: ClassVar[None] = None  # trees are the only weak learner

    @property
    def _oop_advice(self) -> str:
        """Explain why there is no out-of-patch score, and what to do."""
        return f"oop_size={self.oop_size!r} or X_val left no reserved rows: choose a positive oop_size."

    @abstractmethod
    def _make_loss(self, problem: Problem) -> Loss:
        """Make the loss to minimise."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """How many numbers a tree predicts for a row."""

    def _plan(self, problem: Problem, seed: int, threads: _native.Threads) -> Plan[GradientTask]:
        settings = read_settings(GradientSettings, self, GRADIENT_SIZES)
        return plan_gradient_run(settings, problem, self._make_loss(problem), seed, threads)

    def _assemble(self, problem: Problem, plan: Plan[GradientTask], threads: _native.Threads) -> BoostingRun:
        return assemble_gradient_run(read_settings(GradientSettings, self, GRADIENT_SIZES), problem, plan, threads)

    def _add_baseline(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        raw: NDArray[np.float64] = totals + (self.baseline_ if totals.ndim > 1 else self.baseline_[0])
        return raw

    @property
    def _explained_output(self) -> ExplainedOutput:
        if not isinstance(self._loss, str):
            quantity = "raw prediction"
        elif hasattr(self, "classes_"):
            quantity = "log odds"
        else:
            quantity = "logarithm of the prediction" if self._loss in ("poisson", "gamma") else "prediction"
        return ExplainedOutput("values", 1.0, np.asarray(self.baseline_, dtype=np.float64), quantity)

    def _decode_leaves(self, index: int, values: NDArray[np.float64]) -> list[Any]:
        return values.tolist() if values.ndim == 1 else [*values]

    @property
    def _outputs(self) -> Outputs[Any]:
        return Steps(self._n_outputs)
