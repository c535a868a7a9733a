"""Base class of MPBoostClassifier and MPBoostRegressor."""

from abc import abstractmethod
from functools import partial
from typing import ClassVar

from mpboost import _native
from mpboost.boosting.run import BoostingRun
from mpboost.data.problem import Problem
from mpboost.estimators.assembly import LabelTask, assemble_run
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.settings import PatchSettings, read_settings
from mpboost.outputs.metrics import Metric
from mpboost.sampling.sizes import PatchSizes


class PatchBooster(MinipatchBooster):
    """Base class of the estimators whose learners vote or are averaged: makes runs."""

    _auto_sizes: ClassVar[PatchSizes]

    @abstractmethod
    def _make_task(self, problem: Problem, metric: Metric | None, seed: int) -> LabelTask:
        """Make the task of a run."""

    def _assemble(self, problem: Problem, threads: _native.Threads) -> BoostingRun:
        settings = read_settings(PatchSettings, self, self._auto_sizes)
        make_task = partial(self._make_task, problem, settings.make_metric(problem))
        return assemble_run(settings, problem, make_task, threads)
