"""Checks for warm_start: same data, same parameters, more iterations."""

from typing import Any

import numpy as np

from mpboost import _native
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.validation_score import are_same_weights, open_validation, prepare_validation
from mpboost.data.problem import Problem


def check_continues(
    run: BoostingRun, problem: Problem, n_estimators: int, params: dict[str, Any], threads: _native.Threads
) -> None:
    """Check that a run can be continued with this problem, number of iterations and these learning parameters."""
    if n_estimators < run.iteration:
        raise ValueError(
            f"n_estimators={n_estimators} is less than the {run.iteration} iterations already done: with "
            "warm_start=True it must not decrease."
        )
    for name, is_same in (("X, y and weights", _has_examples), ("X_val, y_val and weights", _has_validation)):
        if not is_same(run, problem, threads):
            raise ValueError(
                f"With warm_start=True a second fit needs the same {name}: set warm_start=False to start over."
            )
    names = params.keys() | run.params
    changed = sorted(name for name in names if not _is_same(params.get(name), run.params.get(name)))
    if changed:
        raise ValueError(
            f"With warm_start=True a second fit needs the same {', '.join(changed)}: set warm_start=False to start "
            "over."
        )


def _has_examples(run: BoostingRun, problem: Problem, threads: _native.Threads) -> bool:
    examples, task = problem.examples, run.parts.task
    shape = len(task.labels), len(run.parts.feature_sampler.probabilities)
    return (
        (examples.table.n_rows, examples.table.n_columns) == shape
        and np.array_equal(examples.labels, task.labels)
        and are_same_weights(examples.weights, task.sample_weights)
        and run.parts.learner.has_table(examples.table, threads)
    )


def _has_validation(run: BoostingRun, problem: Problem, threads: _native.Threads) -> bool:
    known = run.parts.validation
    given = open_validation(problem, prepare_validation(problem, run.parts.learner, threads), run.parts.task)
    if known is None or given is None:
        return known is given
    return known.has_rows_of(given)


def _is_same(one: Any, other: Any) -> bool:
    if hasattr(one, "__array__") or hasattr(other, "__array__"):  # == would compare arrays cell by cell
        return np.array_equal(np.asarray(one), np.asarray(other))
    try:
        return one is other or bool(one == other)
    except ValueError:  # objects of the user that compare arrays
        return False
