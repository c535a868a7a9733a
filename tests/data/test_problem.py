"""The learning problem: weights of rows that are extremely light or heavy."""

import numpy as np
import pytest

from mpboost.data.checks import TrainingData
from mpboost.data.problem import MIN_WEIGHT, make_value_problem
from mpboost.data.tables import DenseTable


def make_problem(weights):
    n_rows = len(weights)
    data = TrainingData(DenseTable(np.zeros((n_rows, 1))), np.arange(n_rows, dtype=float), np.array(weights), {})
    return make_value_problem(data)


@pytest.mark.parametrize("lightest", [1e-150, 1e-300, 5e-324])
def test_problem_raises_weights_that_are_too_light(lightest):
    np.testing.assert_allclose(make_problem([lightest, 1.0]).examples.weights, [2 * MIN_WEIGHT, 2.0], rtol=1e-15)


def test_problem_keeps_weights_that_are_light():
    np.testing.assert_allclose(make_problem([1e-139, 1.0]).examples.weights, [2e-139, 2.0], rtol=1e-15)


def test_problem_scales_weights_of_validation_rows_and_leaves_zeros():
    validation = DenseTable(np.zeros((4, 1)))
    problem = make_problem([1.0, 1.0]).with_validation(validation, np.zeros(4), np.array([0.0, 1e308, 1e308, 1e-308]))
    np.testing.assert_allclose(problem.validation.weights, [0.0, 2.0, 2.0, 2 * MIN_WEIGHT], rtol=1e-15)


def test_problem_has_no_weights_of_validation_rows_that_weigh_the_same():
    problem = make_problem([1.0, 1.0]).with_validation(DenseTable(np.zeros((2, 1))), np.zeros(2), np.full(2, 1.7e308))
    assert problem.validation.weights is None
