"""The shared battery: what every public estimator must meet.

An estimator joins by a ``Subject`` in ``subjects.py`` and a class of two lines in ``tests/estimators/test_battery.py``.
"""

from .contract import CheckBattery, ContractBattery
from .files import FileBattery
from .interrupts import InterruptBattery
from .subjects import (
    CLASSIFIER,
    COLOURED_CLASSES,
    GRADIENT_CLASSES,
    GRADIENT_CLASSIFIER,
    GRADIENT_REGRESSOR,
    MANY_CLASSES,
    REGRESSOR,
    SUBJECTS,
    Subject,
)
from .tables import FormBattery, TableBattery
from .threads import ProcessorBattery, ThreadBattery
from .validation import ValidationBattery, WarmStartBattery
from .weights import WeightBattery

__all__ = [
    "CLASSIFIER",
    "COLOURED_CLASSES",
    "GRADIENT_CLASSES",
    "GRADIENT_CLASSIFIER",
    "GRADIENT_REGRESSOR",
    "MANY_CLASSES",
    "REGRESSOR",
    "SUBJECTS",
    "EstimatorBattery",
    "Subject",
    "VariantBattery",
]


class VariantBattery(
    ContractBattery,
    TableBattery,
    WeightBattery,
    ValidationBattery,
    WarmStartBattery,
    InterruptBattery,
    ThreadBattery,
    FileBattery,
):
    """All that depends on the kind of targets, for the estimator that a subclass names as its ``subject``."""


class EstimatorBattery(CheckBattery, FormBattery, ProcessorBattery, VariantBattery):
    """All of it."""
