"""Scales the credits of features."""

import numpy as np

from mpboost._arrays import Floats


def balance(credits: Floats) -> Floats:
    """Scale credits, which may be negative, so that their absolute values sum to 1: all learners count the same."""
    total = np.abs(credits).sum()
    return credits / total if total > 0 else credits
