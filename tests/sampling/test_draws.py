"""What both samplers share: draws for purposes of their own, and probabilities from logarithms."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.sampling.draws import probabilities_from_logs
from mpboost.sampling.features import FeatureSampler
from mpboost.sampling.observations import ObservationSampler
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights


def test_samplers_draw_by_their_own_purposes(threads):
    rows, question = ObservationSampler(10, seed=4), Labels(np.zeros(50), LogWeights(np.zeros(50)), are_classes=False)
    features = FeatureSampler(50, 10, momentum=0.5, exploration=0.0, adaptive=True, seed=4)
    draws = rows.sample(range(1, 3), [question] * 2, threads), features.sample(range(1, 3), threads)
    for t, draw, chosen in zip((1, 2), *draws, strict=True):
        drawn = draw.rows.tolist(), chosen.tolist()
        purposes = _native.Purpose.OBSERVATIONS, _native.Purpose.FEATURES
        assert drawn == tuple(_native.race(np.zeros(50), 10, 4, [t], each, threads)[0].tolist() for each in purposes)
        assert drawn[0] != drawn[1]


@pytest.mark.parametrize(
    ("log_weights", "expected"),
    [
        pytest.param([0.0, 0.0, 0.0, 0.0], [0.25] * 4, id="equal"),
        pytest.param([np.log(3.0), 0.0], [0.75, 0.25], id="three to one"),
        pytest.param([5000.0 + np.log(3.0), 5000.0], [0.75, 0.25], id="beyond overflow"),
        pytest.param([-5000.0 + np.log(3.0), -5000.0], [0.75, 0.25], id="below underflow"),
        pytest.param([0.0, -5000.0], [1.0, 0.0], id="far apart"),
    ],
)
def test_probabilities_from_logs_normalises(log_weights, expected):
    np.testing.assert_allclose(probabilities_from_logs(np.array(log_weights)), expected, rtol=1e-12)
