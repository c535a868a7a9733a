"""All displays refuse what they cannot draw."""

import sys

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from mpboost import (
    ContributionsDisplay,
    EffectiveNumbersDisplay,
    FeatureProbabilitiesDisplay,
    MPBoostClassifier,
    ObservationsDisplay,
    OOPCalibrationDisplay,
    OOPConfusionDisplay,
    OOPResidualsDisplay,
    RankingCurvesDisplay,
    ScoreBandsDisplay,
    ScoreCurvesDisplay,
    TreeDisplay,
)
from tests.support.pictures import DIGITS


@pytest.mark.parametrize(
    "make",
    [
        ScoreCurvesDisplay.from_estimator,
        FeatureProbabilitiesDisplay.from_estimator,
        EffectiveNumbersDisplay.from_estimator,
        OOPCalibrationDisplay.from_estimator,
        OOPConfusionDisplay.from_estimator,
        OOPResidualsDisplay.from_estimator,
        RankingCurvesDisplay.from_estimator,
        lambda model: ObservationsDisplay.from_estimator(model, DIGITS.data),
        lambda model: ContributionsDisplay.from_estimator(model, DIGITS.data),
        TreeDisplay.from_estimator,
        lambda model: ScoreBandsDisplay.from_estimators({"a": [model]}),
    ],
    ids=[
        "curves",
        "features",
        "effective-numbers",
        "calibration",
        "confusion",
        "residuals",
        "ranking",
        "observations",
        "contributions",
        "tree",
        "bands",
    ],
)
def test_display_refuses_what_is_no_fitted_model(make):
    with pytest.raises(NotFittedError):
        make(MPBoostClassifier())
    with pytest.raises(TypeError, match="not LogisticRegression"):
        make(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))


def test_display_says_what_to_install(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mpboost\[plot\]'"):
        ScoreCurvesDisplay.from_estimator(models["numbers"])
