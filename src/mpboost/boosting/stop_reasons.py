"""Why a run ended."""

from enum import Enum


class StopReason(Enum):
    """Why a run ended; the values are the words for it, ``{}`` standing for a detail.

    Examples
    --------
    >>> StopReason.CALLBACK.describe("StopAtOnce")
    'stopped by StopAtOnce'
    >>> StopReason.recognise("stopped by StopAtOnce")
    <StopReason.CALLBACK: 'stopped by {}'>
    """

    N_ESTIMATORS = "n_estimators reached"
    TIME_LIMIT = "time_limit reached"
    INTERRUPTED = "interrupted"
    CALLBACK = "stopped by {}"
    #: A stopping rule halted: in its own words.
    RULE = "{}"

    def describe(self, detail: str = "") -> str:
        """Put the reason into words."""
        return self.value.format(detail)

    @classmethod
    def recognise(cls, words: str) -> "StopReason":
        """Tell which reason some words stand for, those of a fitted model's ``stop_reason_`` say."""
        for reason in (cls.N_ESTIMATORS, cls.TIME_LIMIT, cls.INTERRUPTED):
            if words == reason.value:
                return reason
        return cls.CALLBACK if words.startswith(cls.CALLBACK.describe()) else cls.RULE
