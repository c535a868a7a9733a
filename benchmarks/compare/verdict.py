"""Whether two revisions differ, by intervals of confidence over paired measurements."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

#: A ratio nearer to 1 than this is no change, however sure, nor is a change of a score by fewer points.
TIME_THRESHOLD, SCORE_THRESHOLD = 0.03, 0.1


@dataclass(frozen=True)
class Verdict:
    """A change of the mean with its interval, as shares of time or as points of a score, and whether it counts."""

    change: float
    low: float
    high: float
    counts: bool
    text: str


def judge_times(base: Sequence[float], head: Sequence[float], error: float) -> Verdict:
    """Judge by the mean logarithm of the ratio of times within a turn; ``error`` is the chance of a false alarm."""
    change, low, high = np.expm1(find_interval(np.log(head) - np.log(base), error))
    counts = (low > 0 or high < 0) and abs(change) > TIME_THRESHOLD
    return _state(change, low, high, counts, ("slower", "faster"), unit="%", scale=100)


def judge_scores(base: Sequence[float], head: Sequence[float], error: float) -> Verdict:
    """Judge by the mean difference of scores, in percent, within a turn."""
    change, low, high = find_interval(np.subtract(head, base), error)
    counts = (low > 0 or high < 0) and abs(change) > SCORE_THRESHOLD
    return _state(change, low, high, counts, ("better", "worse"), unit="points", scale=1)


def find_interval(differences: Sequence[float], error: float) -> tuple[float, float, float]:
    """Give the mean of differences, and the ends of its t interval."""
    n = len(differences)
    mean = float(np.mean(differences))
    reach = float(stats.t.ppf(1 - error / 2, n - 1) * np.std(differences, ddof=1) / np.sqrt(n))
    return mean, mean - reach, mean + reach


def _state(
    change: float, low: float, high: float, counts: bool, words: tuple[str, str], unit: str, scale: float
) -> Verdict:
    if not counts:
        text = f"no difference beyond {_format(scale * max(abs(low), abs(high)))} {unit}"
    else:
        word = words[0] if change > 0 else words[1]
        nearer, farther = sorted((abs(scale * low), abs(scale * high)))
        text = f"{word} by {_format(scale * abs(change))} {unit} ({_format(nearer)} to {_format(farther)})"
    return Verdict(float(change), float(low), float(high), bool(counts), text)


def _format(number: float) -> str:
    return f"{number:.0f}" if number >= 9.95 else f"{number:.1f}"
