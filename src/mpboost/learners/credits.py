"""How the credits of features are scaled."""

import numpy as np

from mpboost._arrays import Floats


def balance(credits: Floats) -> Floats:
    """Scale credits, some of which may be negative, so that each learner has as much to say."""
    total = np.abs(credits).sum()
    return credits / total if total > 0 else credits
