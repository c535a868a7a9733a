"""The shared battery: what every public estimator must meet.

An estimator joins by a ``Subject`` in ``subjects.py`` and a class of two lines in ``test_battery.py``.
"""

from .contract import ContractBattery
from .files import FileBattery
from .interrupts import InterruptBattery
from .subjects import CLASSIFIER, SUBJECTS, Subject
from .tables import TableBattery
from .threads import ThreadBattery
from .validation import ValidationBattery, WarmStartBattery
from .weights import WeightBattery

__all__ = ["CLASSIFIER", "SUBJECTS", "EstimatorBattery", "Subject"]


class EstimatorBattery(
    ContractBattery,
    TableBattery,
    WeightBattery,
    ValidationBattery,
    WarmStartBattery,
    InterruptBattery,
    ThreadBattery,
    FileBattery,
):
    """All of it, for the estimator that a subclass names as its ``subject``."""
