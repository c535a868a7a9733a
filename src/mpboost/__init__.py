"""Minipatch boosting: boosting that learns which rows are difficult and which features matter.

An implementation of MP-Boost (Toghani and Allen, "MP-Boost: Minipatch Boosting via Adaptive Feature and Observation
Sampling", 2020) for people who know scikit-learn.
"""

from mpboost.boosting.callbacks import Callback, FeatureProbabilityRecorder
from mpboost.boosting.history import History
from mpboost.boosting.progress import ProgressBar
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason
from mpboost.estimators.classifier import MPBoostClassifier
from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.presets import PAPER
from mpboost.estimators.regressor import MPBoostRegressor
from mpboost.inspection import (
    EffectiveNumbersDisplay,
    FeatureProbabilitiesDisplay,
    ObservationsDisplay,
    OOPCalibrationDisplay,
    OOPConfusionDisplay,
    OOPResidualsDisplay,
    RankingCurvesDisplay,
    ScoreBandsDisplay,
    ScoreCurvesDisplay,
)
from mpboost.inspection.evaluation import Evaluation, Score, evaluate
from mpboost.inspection.label_issues import estimate_label_noise, find_label_issues
from mpboost.model_files.container import ModelFileError
from mpboost.model_files.model_file import load_model, save_model
from mpboost.reporting import Report, report
from mpboost.tuning.search import OOPSearch, oop_tune

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "BoostingRun",
    "Callback",
    "EffectiveNumbersDisplay",
    "Evaluation",
    "FeatureProbabilitiesDisplay",
    "FeatureProbabilityRecorder",
    "History",
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
    "RankingCurvesDisplay",
    "Report",
    "Score",
    "ScoreBandsDisplay",
    "ScoreCurvesDisplay",
    "StopReason",
    "__version__",
    "estimate_label_noise",
    "evaluate",
    "find_label_issues",
    "load_model",
    "oop_tune",
    "report",
    "save_model",
]
