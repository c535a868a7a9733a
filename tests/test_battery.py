"""The shared battery, run for every public estimator."""

from battery import CLASSIFIER, SUBJECTS, EstimatorBattery
from sklearn.base import BaseEstimator

import mpboost


class TestMPBoostClassifier(EstimatorBattery):
    subject = CLASSIFIER


def test_battery_is_run_for_every_public_estimator():
    public = {each for each in vars(mpboost).values() if isinstance(each, type) and issubclass(each, BaseEstimator)}
    assert {subject.estimator for subject in SUBJECTS} == public
    assert {battery.subject for battery in EstimatorBattery.__subclasses__()} == {*SUBJECTS}
