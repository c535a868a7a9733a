"""Probabilities from votes: their order, their bounds, and how well they fit new rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mpboost import Callback, MPBoostClassifier
from mpboost.calibration import MAX_SLOPE, MIN_SLOPE, VoteCalibration

slopes = st.floats(MIN_SLOPE, MAX_SLOPE)
calibrations = st.builds(lambda *parameters: VoteCalibration(parameters), slopes, slopes)


@st.composite
def judged_rows(draw):
    """Votes, numbers of learners and labels, from no row to a few, with any kind of agreement between them."""
    n_samples = draw(st.integers(0, 30))
    n_learners = draw(st.lists(st.integers(0, 1000), min_size=n_samples, max_size=n_samples))
    votes = [2 * draw(st.integers(0, n)) - n for n in n_learners]
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=n_samples, max_size=n_samples))
    return np.array(votes, dtype=np.int32), np.array(n_learners, dtype=np.int32), np.array(labels, dtype=np.int8)


def make_rows(slopes, n_samples=20_000, n_learners=100, seed=0):
    """Draw votes, and labels with the probabilities that a calibration of these slopes gives."""
    rng = np.random.default_rng(seed)
    votes = 2 * rng.binomial(n_learners, rng.beta(4, 4, n_samples)) - n_learners
    probabilities = VoteCalibration(slopes).predict(votes, n_learners, 1)
    labels = np.where(rng.random(n_samples) < probabilities, 1, -1).astype(np.int8)
    return votes, np.full(n_samples, n_learners), labels


@given(calibrations, st.integers(1, 1000) | st.sampled_from([10**4, 10**5]), st.sampled_from([-1, 1]))
def test_predict_follows_the_votes(calibration, n_learners, tie_label):
    votes = np.unique(np.linspace(-n_learners, n_learners, 501).astype(np.int32))
    probabilities = calibration.predict(votes, n_learners, tie_label)
    assert np.all(np.diff(probabilities) >= 0)
    assert np.all((probabilities > 0) & (probabilities < 1) & (1 - probabilities < 1))
    winners = np.where(votes == 0, tie_label, np.sign(votes))
    np.testing.assert_array_equal(np.sign(probabilities - 0.5), winners)


@given(judged_rows())
def test_fit_takes_any_rows(rows):
    votes, n_learners, labels = rows
    calibration = VoteCalibration.fit(votes, n_learners, labels)
    again = VoteCalibration(calibration.parameters)  # what it fits is valid, and all of it
    np.testing.assert_array_equal(again.predict(votes, 1000, 1), calibration.predict(votes, 1000, 1))


@given(judged_rows())
def test_fit_does_not_know_the_names_of_the_classes(rows):
    votes, n_learners, labels = rows
    straight = VoteCalibration.fit(votes, n_learners, labels).parameters
    swapped = VoteCalibration.fit(-votes, n_learners, -labels).parameters
    np.testing.assert_allclose(swapped, straight[::-1], rtol=1e-5)


@pytest.mark.parametrize("slopes", [(1, 1), (3, 6), (0.5, 12)], ids=str)
def test_fit_finds_the_slopes_that_labels_were_drawn_with(slopes):
    np.testing.assert_allclose(VoteCalibration.fit(*make_rows(slopes)).parameters, slopes, rtol=0.08)


def test_fit_maximises_the_likelihood():
    votes, n_learners, labels = make_rows((2, 5))
    fitted = VoteCalibration.fit(votes, n_learners, labels).parameters

    def loss(parameters):
        return log_loss(labels, VoteCalibration(parameters).predict(votes, 100, 1))

    for factors in ([1.05, 1], [0.95, 1], [1, 1.05], [1, 0.95]):
        assert loss(fitted) < loss(fitted * factors)


def test_fit_weighs_rows_by_ratios():
    votes, n_learners, labels = make_rows((2, 5), n_samples=500)
    weights = np.random.default_rng(1).integers(0, 3, len(votes)).astype(float)
    weighted = VoteCalibration.fit(votes, n_learners, labels, weights).parameters
    scaled = VoteCalibration.fit(votes, n_learners, labels, 1e-6 * weights).parameters
    np.testing.assert_allclose(scaled, weighted, rtol=1e-5)
    repeated = np.repeat(np.arange(len(votes)), weights.astype(int))
    copies = VoteCalibration.fit(votes[repeated], n_learners[repeated], labels[repeated]).parameters
    np.testing.assert_allclose(weighted, copies, rtol=0.02)  # the row that is added weighs as much as the mean one
    assert np.all(np.abs(VoteCalibration.fit(votes, n_learners, labels).parameters / weighted - 1) > 0.02)


def test_fit_ignores_rows_of_weight_zero_and_rows_that_all_learners_saw():
    votes, n_learners, labels = make_rows((2, 5), n_samples=300)
    clean = VoteCalibration.fit(votes, n_learners, labels).parameters
    votes, labels = np.append(votes, [90, 0]), np.append(labels, [-1, -1])
    n_learners, weights = np.append(n_learners, [100, 0]), np.append(np.ones(300), [0, 1])
    np.testing.assert_array_equal(VoteCalibration.fit(votes, n_learners, labels, weights).parameters, clean)


@pytest.mark.parametrize(
    ("votes", "n_learners", "labels"),
    [([], [], []), ([0, 0], [0, 0], [-1, 1]), ([5, 3, 0], [5, 5, 0], [1, 1, -1]), ([0, 0], [2, 4], [-1, 1])],
    ids=["no row", "none out of patch", "one class out of patch", "draws"],
)
def test_fit_falls_back_to_the_share_of_votes(votes, n_learners, labels):
    calibration = VoteCalibration.fit(*(np.array(values, dtype=np.int32) for values in (votes, n_learners, labels)))
    np.testing.assert_array_equal(calibration.parameters, [1, 1])
    votes = np.array([-10, -4, 4, 10])
    np.testing.assert_allclose(calibration.predict(votes, 10, 1), (votes + 11) / 22)


@pytest.mark.parametrize("n_samples", [4, 20, 1000])
def test_fit_is_as_sure_as_so_many_rows_allow(n_samples):
    """All are right: the next one is wrong with a probability of about 1 / (n + 2) on either side."""
    labels = np.tile([-1, 1], n_samples // 2).astype(np.int8)
    calibration = VoteCalibration.fit(60 * labels, np.full(n_samples, 100), labels)
    error = calibration.predict(np.array([-60]), 100, 1)[0]
    assert 0.9 / (n_samples + 2) < error < 1.1 / (n_samples + 2)


def test_fit_stays_monotone_where_votes_mislead():
    votes, n_learners, labels = make_rows((5, 5), n_samples=200)
    np.testing.assert_array_equal(VoteCalibration.fit(-votes, n_learners, labels).parameters, [MIN_SLOPE, MIN_SLOPE])


@pytest.mark.parametrize(
    "parameters",
    [[], [1], [1, 1, 1], [[1, 1]], [np.nan, 1], [np.inf, 1], [0, 1], [1, -1], [1, 2 * MAX_SLOPE]],
    ids=str,
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match="two parameters between"):
        VoteCalibration(parameters)


def test_parameters_are_a_copy():
    given_parameters = np.array([1.0, 2.0])
    calibration = VoteCalibration(given_parameters)
    given_parameters[:] = 7
    np.testing.assert_array_equal(calibration.parameters, [1, 2])


class DrawCounter(Callback):
    """Counts how often each row was drawn."""

    def on_fit_begin(self, run):
        self.counts = np.zeros(len(run.task.labels), dtype=np.int32)

    def on_iteration_end(self, run):
        self.counts[run.rows] += 1


def test_calibration_improves_on_the_share_of_votes(cancer):
    raw, calibrated, prior = [], [], []
    for seed in range(5):
        X, X_test, y, y_test = train_test_split(*cancer, random_state=seed)
        counter = DrawCounter()
        model = MPBoostClassifier(
            n_estimators=200, max_samples=100, stopping=None, learning_rate=0.03, callbacks=[counter], random_state=seed
        ).fit(X, y)
        votes = np.rint(model.oop_decision_function_ / 0.03).astype(np.int32)
        labels = np.where(y == 1, 1, -1).astype(np.int8)
        calibration = VoteCalibration.fit(votes, 200 - counter.counts, labels)
        test_votes = np.rint(model.decision_function(X_test) / 0.03).astype(np.int32)
        raw.append(log_loss(y_test, VoteCalibration().predict(test_votes, 200, 1)))
        calibrated.append(log_loss(y_test, calibration.predict(test_votes, 200, 1)))
        prior.append(log_loss(y_test, np.full(len(y_test), y.mean())))
    assert np.mean(calibrated) < 0.95 * np.mean(raw)
    assert np.mean(calibrated) < 0.2 * np.mean(prior)


def test_calibration_of_many_rows_looks_at_some_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    n_rows = 5000
    labels = np.where(np.arange(n_rows) % 2, 1, -1).astype(np.int8)  # equal steps would meet one class alone
    votes = np.where(rng.random(n_rows) < 0.8, labels, -labels) * rng.choice([1, 3, 5], n_rows)
    weights = rng.uniform(0.5, 1.5, n_rows)
    for chosen in (None, weights):
        whole = VoteCalibration.fit(votes, np.full(n_rows, 9), labels, chosen)
        with monkeypatch.context() as patch:
            patch.setattr("mpboost.calibration.MAX_ROWS", 1000)
            some = VoteCalibration.fit(votes, np.full(n_rows, 9), labels, chosen)
            np.testing.assert_array_equal(
                some.parameters, VoteCalibration.fit(votes, np.full(n_rows, 9), labels, chosen).parameters
            )
        assert not np.array_equal(some.parameters, whole.parameters)
        np.testing.assert_allclose(some.parameters, whole.parameters, rtol=0.25)
