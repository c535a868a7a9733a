"""The shared battery, run for every public estimator."""

import pytest
from sklearn.base import BaseEstimator

import mpboost
from tests.support.battery import (
    CLASSIFIER,
    COLOURED_CLASSES,
    GRADIENT_CLASSES,
    GRADIENT_CLASSIFIER,
    GRADIENT_REGRESSOR,
    MANY_CLASSES,
    REGRESSOR,
    SUBJECTS,
    EstimatorBattery,
    VariantBattery,
)


class TestMPBoostClassifier(EstimatorBattery):
    subject = CLASSIFIER


@pytest.mark.slow  # two classes are tried above
class TestMPBoostClassifierOfManyClasses(VariantBattery):
    subject = MANY_CLASSES


@pytest.mark.slow  # many classes that are learned in another way are tried above
class TestMPBoostClassifierOfColours(VariantBattery):
    subject = COLOURED_CLASSES


class TestMPBoostRegressor(EstimatorBattery):
    subject = REGRESSOR


class TestMPGradientBoostingClassifier(EstimatorBattery):
    subject = GRADIENT_CLASSIFIER


@pytest.mark.slow  # two classes are tried above
class TestMPGradientBoostingClassifierOfManyClasses(VariantBattery):
    subject = GRADIENT_CLASSES


@pytest.mark.slow  # the other regressor and the other gradient estimator are tried above
class TestMPGradientBoostingRegressor(EstimatorBattery):
    subject = GRADIENT_REGRESSOR


def test_battery_is_run_for_every_public_estimator():
    public = {each for each in vars(mpboost).values() if isinstance(each, type) and issubclass(each, BaseEstimator)}
    tried = {battery.subject.estimator for battery in EstimatorBattery.__subclasses__()}
    assert tried == public - {mpboost.OOPSearch}  # a search has tests of its own
    batteries = {*EstimatorBattery.__subclasses__(), *VariantBattery.__subclasses__()} - {EstimatorBattery}
    assert {battery.subject for battery in batteries} == {*SUBJECTS}
