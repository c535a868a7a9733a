"""Fits for the choice of a default, in a module of their own, for processes beside the command's import it."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.contestants import Plan
from benchmarks.contestants.measuring import Outcome, measure
from benchmarks.data.flips import flip
from benchmarks.data.problem import Problem
from benchmarks.data.sets import hold_out, load_set, split

Parameters = dict[str, Any]
#: Parameters, or what finds them.
Case = Parameters | Callable[[Problem], Parameters]


def take_roots(roots: int, problem: Problem) -> Parameters:
    """Take so many times the square root of the rows, but at most half of them."""
    n_rows = len(problem.y_train)
    return {"max_samples": min(int(roots * math.sqrt(n_rows)), n_rows // 2)}


def scale_rows(roots: int, problem: Problem) -> Parameters:
    """Draw so many times the square root of the rows, but at most all."""
    n_rows = len(problem.y_train)
    return {"max_samples": min(int(roots * math.sqrt(n_rows)), n_rows)}


@dataclass(frozen=True)
class Trial:
    """One fit."""

    name: str
    seed: int
    noise: float
    n_rows: int
    case: Case
    is_gradient: bool = False

    def run(self) -> Outcome:
        """Fit on rows of the training part; judge by others of it."""
        problem = _prepare(self.name, self.seed, self.n_rows)
        noisy = flip(problem.X_train, problem.y_train, self.noise, self.seed)
        parameters = self.case(problem) if callable(self.case) else self.case
        name = "MPGradientBoosting" if self.is_gradient else "MPBoost"
        return measure(name, replace(problem, y_train=noisy.y), Plan(seed=self.seed), **parameters)


@functools.cache
def _prepare(name: str, seed: int, n_rows: int) -> Problem:
    return hold_out(split(name, load_set(name), seed), seed, n_rows)
