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
from mpboost.sampling.sizes import PatchSizes


class PatchBooster(MinipatchBooster):
    """Base class of the estimators whose learners vote or are averaged: makes runs."""

    _auto_sizes: ClassVar[PatchSizes]

    @abstractmethod
    def _make_task(self, problem: Problem, seed: int) -> LabelTask:
        """Make the task of a run."""

    def _assemble(self, problem: Problem, threads: _native.Threads) -> BoostingRun:
        settings = read_settings(PatchSettings, self, self._auto_sizes)
        return assemble_run(settings, problem, partial(self._make_task, problem), threads)
