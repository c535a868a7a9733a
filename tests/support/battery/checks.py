"""The checks that scikit-learn has for estimators."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sklearn.utils.estimator_checks import estimator_checks_generator

#: Checks that are expected to fail, and why; WeightBattery has what is tested instead.
EXPECTED_FAILURES = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "a row of weight 2 and two equal rows are drawn differently, though alike on average over seeds",
)


class Check(NamedTuple):
    """A check, the configuration and the estimator that it is for, and why it is expected to fail, if it is."""

    configuration: str
    id: str
    estimator: Any
    run: Any
    reason: str | None


def list_checks(subject) -> Iterator[Check]:
    """List all checks for all configurations of an estimator."""
    for name, parameters in subject.configurations.items():
        for estimator, run in estimator_checks_generator(subject.estimator(**{"n_estimators": 20} | parameters)):
            check = run.func.__name__
            words = [name, check, *(f"{key}={value}" for key, value in run.keywords.items())]
            yield Check(name, "-".join(words), estimator, run, EXPECTED_FAILURES.get(check))
