"""Minipatch boosting: boosting that learns which rows are hard and which features matter.

An implementation of MP-Boost (Toghani and Allen, "MP-Boost: Minipatch Boosting via Adaptive Feature and Observation
Sampling", 2020) for people who know scikit-learn.
"""

from mpboost.callbacks import Callback, FeatureProbabilityRecorder, ProgressBar
from mpboost.classifier import MPBoostClassifier
from mpboost.container import ModelFileError
from mpboost.gradient_classifier import MPGradientBoostingClassifier
from mpboost.gradient_regressor import MPGradientBoostingRegressor
from mpboost.inspection import (
    EffectiveNumbersDisplay,
    FeatureProbabilitiesDisplay,
    ObservationsDisplay,
    OOPCalibrationDisplay,
    OOPConfusionDisplay,
    OOPResidualsDisplay,
    ScoreBandsDisplay,
    ScoreCurvesDisplay,
)
from mpboost.label_issues import find_label_issues
from mpboost.persistence import load_model, save_model
from mpboost.presets import PAPER
from mpboost.regressor import MPBoostRegressor
from mpboost.report import Report, report
from mpboost.tuning import OOPSearch, oop_tune

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "Callback",
    "EffectiveNumbersDisplay",
    "FeatureProbabilitiesDisplay",
    "FeatureProbabilityRecorder",
    "MPBoostClassifier",
    "MPBoostRegressor",
    "MPGradientBoostingClassifier",
    "MPGradientBoostingRegressor",
    "ModelFileError",
    "OOPCalibrationDisplay",
    "OOPConfusionDisplay",
    "OOPResidualsDisplay",
    "OOPSearch",
    "ObservationsDisplay",
    "ProgressBar",
    "Report",
    "ScoreBandsDisplay",
    "ScoreCurvesDisplay",
    "__version__",
    "find_label_issues",
    "load_model",
    "oop_tune",
    "report",
    "save_model",
]
