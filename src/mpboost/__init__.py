"""Minipatch boosting: boosting that learns which rows are difficult and which features matter.

An implementation of MP-Boost (Toghani and Allen, "MP-Boost: Minipatch Boosting via Adaptive Feature and Observation
Sampling", 2020) for people who know scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpboost._versions import show_versions
    from mpboost.boosting.callbacks import Callback, FeatureProbabilityRecorder
    from mpboost.boosting.history import History
    from mpboost.boosting.progress import ProgressBar
    from mpboost.boosting.run import BoostingRun
    from mpboost.boosting.stop_reasons import StopReason
    from mpboost.datasets.dataset import BinnedDataset
    from mpboost.datasets.dataset_file import DatasetFileError
    from mpboost.estimators.classifier import MPBoostClassifier
    from mpboost.estimators.decision_tree import DecisionTree, TreeNode
    from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
    from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
    from mpboost.estimators.presets import PAPER
    from mpboost.estimators.regressor import MPBoostRegressor
    from mpboost.estimators.spread import fit_spread
    from mpboost.inspection.contributions_display import ContributionsDisplay
    from mpboost.inspection.effective_numbers import EffectiveNumbersDisplay
    from mpboost.inspection.effects import EffectCurve, FeatureEffect, compute_effects
    from mpboost.inspection.effects_display import EffectsDisplay
    from mpboost.inspection.evaluation import Evaluation, Score, evaluate
    from mpboost.inspection.feature_inference import FeatureInference, infer_features
    from mpboost.inspection.feature_inference_display import FeatureInferenceDisplay
    from mpboost.inspection.feature_probabilities import FeatureProbabilitiesDisplay
    from mpboost.inspection.label_issues import LabelIssues, estimate_label_noise, find_label_issues
    from mpboost.inspection.observations import ObservationsDisplay
    from mpboost.inspection.oop_calibration import OOPCalibrationDisplay
    from mpboost.inspection.oop_confusion import OOPConfusionDisplay
    from mpboost.inspection.oop_residuals import OOPResidualsDisplay
    from mpboost.inspection.ranking_curves import RankingCurvesDisplay
    from mpboost.inspection.score_bands import ScoreBandsDisplay
    from mpboost.inspection.score_curves import ScoreCurvesDisplay
    from mpboost.inspection.suggestions import SuggestedRows, suggest_rows
    from mpboost.inspection.tree_display import TreeDisplay
    from mpboost.model_files.container import ModelFileError
    from mpboost.model_files.model_file import load_model, save_model
    from mpboost.reporting.page import Report, report
    from mpboost.table_files.reading import read_table
    from mpboost.tuning.search import OOPSearch, oop_tune

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "BinnedDataset",
    "BoostingRun",
    "Callback",
    "ContributionsDisplay",
    "DatasetFileError",
    "DecisionTree",
    "EffectCurve",
    "EffectiveNumbersDisplay",
    "EffectsDisplay",
    "Evaluation",
    "FeatureEffect",
    "FeatureInference",
    "FeatureInferenceDisplay",
    "FeatureProbabilitiesDisplay",
    "FeatureProbabilityRecorder",
    "History",
    "LabelIssues",
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
    "SuggestedRows",
    "TreeDisplay",
    "TreeNode",
    "__version__",
    "compute_effects",
    "estimate_label_noise",
    "evaluate",
    "find_label_issues",
    "fit_spread",
    "infer_features",
    "load_model",
    "oop_tune",
    "read_table",
    "report",
    "save_model",
    "show_versions",
    "suggest_rows",
]

#: Where the public names are. A module is imported when one of its names is first used, since scikit-learn and scipy
#: take a second or more to import. A test holds this table to the imports above, which type checkers read.
_HOMES = {
    "_versions": ("show_versions",),
    "boosting.callbacks": ("Callback", "FeatureProbabilityRecorder"),
    "boosting.history": ("History",),
    "boosting.progress": ("ProgressBar",),
    "boosting.run": ("BoostingRun",),
    "boosting.stop_reasons": ("StopReason",),
    "datasets.dataset": ("BinnedDataset",),
    "datasets.dataset_file": ("DatasetFileError",),
    "estimators.classifier": ("MPBoostClassifier",),
    "estimators.decision_tree": ("DecisionTree", "TreeNode"),
    "estimators.gradient_classifier": ("MPGradientBoostingClassifier",),
    "estimators.gradient_regressor": ("MPGradientBoostingRegressor",),
    "estimators.presets": ("PAPER",),
    "estimators.regressor": ("MPBoostRegressor",),
    "estimators.spread": ("fit_spread",),
    "inspection.contributions_display": ("ContributionsDisplay",),
    "inspection.effective_numbers": ("EffectiveNumbersDisplay",),
    "inspection.effects": ("EffectCurve", "FeatureEffect", "compute_effects"),
    "inspection.effects_display": ("EffectsDisplay",),
    "inspection.evaluation": ("Evaluation", "Score", "evaluate"),
    "inspection.feature_inference": ("FeatureInference", "infer_features"),
    "inspection.feature_inference_display": ("FeatureInferenceDisplay",),
    "inspection.feature_probabilities": ("FeatureProbabilitiesDisplay",),
    "inspection.label_issues": ("LabelIssues", "estimate_label_noise", "find_label_issues"),
    "inspection.observations": ("ObservationsDisplay",),
    "inspection.oop_calibration": ("OOPCalibrationDisplay",),
    "inspection.oop_confusion": ("OOPConfusionDisplay",),
    "inspection.oop_residuals": ("OOPResidualsDisplay",),
    "inspection.ranking_curves": ("RankingCurvesDisplay",),
    "inspection.score_bands": ("ScoreBandsDisplay",),
    "inspection.score_curves": ("ScoreCurvesDisplay",),
    "inspection.suggestions": ("SuggestedRows", "suggest_rows"),
    "inspection.tree_display": ("TreeDisplay",),
    "model_files.container": ("ModelFileError",),
    "model_files.model_file": ("load_model", "save_model"),
    "reporting.page": ("Report", "report"),
    "table_files.reading": ("read_table",),
    "tuning.search": ("OOPSearch", "oop_tune"),
}
#: Modules with public names of their own, which users reach as ``mpboost.export.to_onnx`` after ``import mpboost``.
_PACKAGES = ("export", "rules")
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # type checkers would believe that every name exists

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
