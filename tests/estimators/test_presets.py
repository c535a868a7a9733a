"""PAPER: with it the classifier does Algorithms 1 and 2 to the letter, and needs each of its entries for that."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from mpboost import PAPER, MPBoostClassifier
from mpboost.outputs.votes import rank_classes
from tests.support.oracle import Oracle, is_completion, rank_values
from tests.support.runs import Recorder, make_data
from tests.support.stopping_oracle import follow_algorithm_2

SIZE = n, m = 40, 5
NO_ROWS = np.array([], dtype=np.int64)  # that judge features: in the paper, their minipatch does


def find_departure(**changes):
    """Fit with PAPER, some entries changed; tell in what the fit first differs from the oracle, or None."""
    X, labels = make_data()
    recorder = Recorder()
    parameters = {**PAPER, "max_samples": n, "max_features": m, "n_estimators": 200, **changes}
    model = MPBoostClassifier(**parameters, callbacks=[recorder], random_state=0).fit(X, labels)
    seed = int(check_random_state(0).randint(np.iinfo(np.int64).max, dtype=np.int64))
    oracle = Oracle(
        rank_values(X),
        labels,
        mu=0.5,
        weighting="logistic",
        learning_rate=1.0,
        tie_label=1 if rank_classes(labels > 0, 2, None)[1] else -1,
        max_depth=0,
        min_samples_leaf=1,
    )
    for t, record in enumerate(recorder.records, start=1):
        R, C, _ = oracle.draw(SIZE, seed, t)
        if not is_completion(R, record.R, labels, oracle.p):
            return "rows"
        if record.C.tolist() != C.tolist():
            return "features"
        oracle.iterate(record.R, record.C, NO_ROWS)
        if not np.array_equal(record.F, oracle.F):
            return "outputs"
        if not np.allclose(record.p, oracle.p, rtol=1e-12, atol=0):
            return "p"
        if not np.allclose(record.q, oracle.q, rtol=1e-12, atol=0):
            return "q"
        if record.oop != oracle.oop:
            return "out-of-patch accuracy"
    end = follow_algorithm_2(model.oop_scores_, len(labels), n)
    return None if end == (model.n_iter_, model.best_iteration_) else "end"


def test_paper_is_algorithm_1_stopped_by_algorithm_2():
    assert find_departure() is None


# Another value of each entry, and where it departs from the paper.
CHANGES = {
    "round_size": (2, "rows"),
    "weighting": ("exponential", "p"),
    "learning_rate": (0.5, "p"),
    "feature_momentum": (0.3, "q"),
    "feature_exploration": (0.2, "features"),
    "adaptive_observations": (False, "p"),
    "adaptive_features": (False, "q"),
    "importance": ("out_of_patch", "q"),
    "max_depth": (2, "outputs"),
    "min_samples_leaf": (5, "outputs"),
    "min_samples_split": (5, "outputs"),
    "stopping": (None, "end"),
}


@pytest.mark.parametrize("name", PAPER)
def test_paper_needs_each_of_its_entries(name):
    value, departure = CHANGES[name]
    assert find_departure(**{name: value}) == departure
