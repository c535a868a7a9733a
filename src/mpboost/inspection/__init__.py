"""Displays: plots of fitted models with the interface of scikit-learn's displays; they need matplotlib."""

from mpboost.inspection.contributions_display import ContributionsDisplay
from mpboost.inspection.effective_numbers import EffectiveNumbersDisplay
from mpboost.inspection.effects_display import EffectsDisplay
from mpboost.inspection.feature_inference_display import FeatureInferenceDisplay
from mpboost.inspection.feature_probabilities import FeatureProbabilitiesDisplay
from mpboost.inspection.observations import ObservationsDisplay
from mpboost.inspection.oop_calibration import OOPCalibrationDisplay
from mpboost.inspection.oop_confusion import OOPConfusionDisplay
from mpboost.inspection.oop_residuals import OOPResidualsDisplay
from mpboost.inspection.ranking_curves import RankingCurvesDisplay
from mpboost.inspection.score_bands import ScoreBandsDisplay
from mpboost.inspection.score_curves import ScoreCurvesDisplay
from mpboost.inspection.tree_display import TreeDisplay

__all__ = [
    "ContributionsDisplay",
    "EffectiveNumbersDisplay",
    "EffectsDisplay",
    "FeatureInferenceDisplay",
    "FeatureProbabilitiesDisplay",
    "OOPCalibrationDisplay",
    "OOPConfusionDisplay",
    "OOPResidualsDisplay",
    "ObservationsDisplay",
    "RankingCurvesDisplay",
    "ScoreBandsDisplay",
    "ScoreCurvesDisplay",
    "TreeDisplay",
]
