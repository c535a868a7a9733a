"""A small model for each kind of task, fitted once; no figure outlives its test."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from mpboost import MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier, MPGradientBoostingRegressor
from tests.support.pictures import DIGITS, fit


@pytest.fixture(autouse=True)
def closed_figures():
    plt = pytest.importorskip("matplotlib.pyplot", reason="displays draw with matplotlib")
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def data():
    """An estimator, X and y for each task."""
    two = DIGITS.target < 2
    return {
        "two classes": (MPBoostClassifier, *load_breast_cancer(return_X_y=True)),
        "many classes": (MPBoostClassifier, DIGITS.data, np.array(list("abcdefghij"))[DIGITS.target]),
        "numbers": (MPBoostRegressor, *load_diabetes(return_X_y=True)),
        "gradients of classes": (MPGradientBoostingClassifier, DIGITS.data[two], DIGITS.target[two]),
        "gradients of numbers": (MPGradientBoostingRegressor, *load_diabetes(return_X_y=True)),
    }


@pytest.fixture(scope="session")
def models(data):
    """A fitted model for each task."""
    return {name: fit(*given) for name, given in data.items()}
