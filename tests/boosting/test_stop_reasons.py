"""Reasons to stop: their words, and back."""

import pytest

from mpboost import StopReason


@pytest.mark.parametrize(
    ("reason", "detail"),
    [
        (StopReason.N_ESTIMATORS, ""),
        (StopReason.TIME_LIMIT, ""),
        (StopReason.INTERRUPTED, ""),
        (StopReason.CALLBACK, "RungEnd"),
        (StopReason.CALLBACK, "a callback of scikit-learn"),
        (StopReason.RULE, "no better out-of-patch score for 100 iterations"),
        (StopReason.RULE, "the validation loss stopped growing (Algorithm 2)"),
    ],
)
def test_words_tell_the_reason(reason, detail):
    words = reason.describe(detail)
    assert detail in words
    assert StopReason.recognise(words) is reason
