"""A slice of the trials with two interrupts, and whether they would notice a model that is lost."""

import sys

import pytest

from fuzz import interrupts
from mpboost import MPBoostClassifier

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot fork a process that has computed"),
]


@pytest.mark.parametrize("estimator", interrupts.ESTIMATORS)
def test_two_interrupts_at_random_moments_leave_a_model(estimator):
    assert {interrupts.press_twice(estimator, seed) for seed in range(8)} == {"kept"}


def test_trial_notices_a_model_that_is_lost(monkeypatch):
    def fail(self, fitted):
        raise KeyboardInterrupt

    monkeypatch.setattr(MPBoostClassifier, "_publish", fail)
    assert interrupts.press_twice(MPBoostClassifier, 0) == "lost"
