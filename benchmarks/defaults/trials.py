"""Fits for the choice of a default, in a module of their own, for processes beside the command's import it."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.contestants import Plan
from benchmarks.contestants.measuring import Outcome, measure
from benchmarks.data.flips import flip
from benchmarks.data.sets import hold_out, load_set, split
from benchmarks.data.split_set import SplitSet

Parameters = dict[str, Any]
#: Parameters, or what finds them.
Case = Parameters | Callable[[SplitSet], Parameters]


def take_roots(roots: int, split_set: SplitSet) -> Parameters:
    """Take so many times the square root of the rows, but at most half of them."""
    n_rows = len(split_set.y_train)
    return {"max_samples": min(int(roots * math.sqrt(n_rows)), n_rows // 2)}


def scale_rows(roots: int, split_set: SplitSet) -> Parameters:
    """Draw so many times the square root of the rows, but at most all."""
    n_rows = len(split_set.y_train)
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
        split_set = _prepare(self.name, self.seed, self.n_rows)
        noisy = flip(split_set.X_train, split_set.y_train, self.noise, self.seed)
        parameters = self.case(split_set) if callable(self.case) else self.case
        name = "MPGradientBoosting" if self.is_gradient else "MPBoost"
        return measure(name, replace(split_set, y_train=noisy.y), Plan(seed=self.seed), **parameters)


@functools.cache
def _prepare(name: str, seed: int, n_rows: int) -> SplitSet:
    return hold_out(split(name, load_set(name), seed), seed, n_rows)
