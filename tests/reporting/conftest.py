"""A small model for each kind of task, fitted once, and a report on it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import mpboost
from tests.support.reported import TASKS, fit


@pytest.fixture(scope="session")
def data():
    """An estimator, X and y for each task."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    return {
        "two classes": (mpboost.MPBoostClassifier, *load_breast_cancer(return_X_y=True, as_frame=True)),
        "many classes": (mpboost.MPBoostClassifier, X, np.array(list("abcdefghij"))[y]),
        "numbers": (mpboost.MPBoostRegressor, *load_diabetes(return_X_y=True)),
        "gradients of classes": (mpboost.MPGradientBoostingClassifier, X, y),
        "gradients of numbers": (mpboost.MPGradientBoostingRegressor, *load_diabetes(return_X_y=True)),
    }


@pytest.fixture(scope="session")
def models(data):
    """A fitted model for each task."""
    return {task: fit(make, X, y) for task, (make, X, y) in data.items()}


@pytest.fixture(scope="session")
def reports(models, data):
    """A report on each model."""
    return {task: mpboost.report(models[task], *data[task][1:]) for task in TASKS}


@pytest.fixture(scope="session")
def nasty():
    """A model of data whose names and values are out to break a page, with what each of them is."""
    evil = "</script><script>document.title='broken'</script>"
    rng = np.random.default_rng(0)
    text = rng.choice([evil, '"><img src=x onerror=alert(1)>', "naïve ☃ 数"], 80)
    X = pd.DataFrame({evil: rng.normal(size=80), "a'b\"c&d": text, "ß": 1.0}, index=[f"{evil}{k}" for k in range(80)])
    y = np.where(X[evil] + rng.normal(size=80) > 0, "yes & <b>no</b>", "{{ 7 * 7 }}")
    return fit(mpboost.MPBoostClassifier, X, y), X, y
