"""Choices that options offer; this module is quick to import, so that help appears at once."""

from enum import StrEnum


class Preset(StrEnum):
    """Choice of estimator and initial parameters."""

    GRADIENT = "gradient"
    VOTES = "votes"
    PAPER = "paper"


class TargetKind(StrEnum):
    """Whether the target has classes or numbers: the values of the option ``--task``."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"
