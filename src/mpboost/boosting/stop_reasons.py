"""Why a run ended."""

from enum import Enum


class StopReason(Enum):
    """Why a run ended. The values are the texts for ``stop_reason_``; ``{}`` is replaced by a detail.

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
    #: The stopping rule ended the run; the rule provides the text.
    RULE = "{}"

    def describe(self, detail: str = "") -> str:
        """Make the text for the reason."""
        return self.value.format(detail)

    @classmethod
    def recognise(cls, words: str) -> "StopReason":
        """Look up the reason for a text, such as the ``stop_reason_`` of a fitted model."""
        for reason in (cls.N_ESTIMATORS, cls.TIME_LIMIT, cls.INTERRUPTED):
            if words == reason.value:
                return reason
        return cls.CALLBACK if words.startswith(cls.CALLBACK.describe()) else cls.RULE
