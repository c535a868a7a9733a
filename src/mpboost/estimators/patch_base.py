"""Base class of MPBoostClassifier and MPBoostRegressor."""

from abc import abstractmethod
from functools import partial
from typing import ClassVar

from mpboost import _native
from mpboost.boosting.run import BoostingRun
from mpboost.data.problem import Problem
from mpboost.estimators.assembly import LabelTask, assemble_run
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.memory import BYTES_OF_VOTES, check_memory
from mpboost.estimators.plans import Plan
from mpboost.estimators.settings import PatchSettings, read_settings
from mpboost.outputs.metrics import Metric
from mpboost.sampling.sizes import PatchSizes


class PatchBooster(MinipatchBooster):
    """Base class of the estimators whose learners vote or are averaged: makes runs."""

    _auto_sizes: ClassVar[PatchSizes]

    @abstractmethod
    def _make_task(self, problem: Problem, metric: Metric | None, seed: int) -> LabelTask:
        """Make the task of a run."""

    def _plan(self, problem: Problem, seed: int, threads: _native.Threads) -> Plan[LabelTask]:
        settings = read_settings(PatchSettings, self, self._auto_sizes)
        check_memory(problem, BYTES_OF_VOTES)
        return Plan(seed, partial(self._make_task, problem, settings.make_metric(problem), seed))

    def _assemble(self, problem: Problem, plan: Plan[LabelTask], threads: _native.Threads) -> BoostingRun:
        return assemble_run(read_settings(PatchSettings, self, self._auto_sizes), problem, plan, threads)
