"""Probabilities from votes: their order, their bounds, and how well they fit new rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mpboost import MPBoostClassifier
from mpboost.outputs.calibration import MAX_SLOPE, MIN_SLOPE, VoteCalibration, compute_calibrated_loss
from mpboost.outputs.votes import break_ties

slopes = st.floats(MIN_SLOPE, MAX_SLOPE)
calibrations = st.builds(VoteCalibration, st.tuples(slopes, slopes))


@st.composite
def judged_rows(draw):
    """Votes and labels of two classes or more, from no row to a few, with any kind of agreement between them."""
    n_samples, n_classes = draw(st.integers(0, 30)), draw(st.integers(2, 5))
    row = st.lists(st.integers(0, 1000) | st.integers(0, 2), min_size=n_classes, max_size=n_classes)
    counts = draw(st.lists(row, min_size=n_samples, max_size=n_samples))
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_samples, max_size=n_samples))
    return np.array(counts, dtype=np.int32).reshape(-1, n_classes), np.array(labels, dtype=np.uint16)


def make_rows(slopes, n_samples=20_000, n_learners=100, seed=0):
    """Draw votes that one class wins, and labels with the probabilities that a calibration of these slopes gives."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(slopes), 4), n_samples)
    counts = rng.multinomial(n_learners, shares)
    ordered = np.sort(counts, axis=1)
    counts = counts[ordered[:, -1] > ordered[:, -2]]
    probabilities = VoteCalibration(slopes).predict(counts, counts.argmax(axis=1))
    labels = np.sum(np.cumsum(probabilities, axis=1) < rng.random((len(counts), 1)), axis=1)
    return counts, labels


@given(calibrations, st.integers(1, 1000) | st.sampled_from([10**4, 10**5]), st.sampled_from([0, 1]))
def test_predict_follows_the_votes(calibration, n_learners, favourite):
    n_for = np.unique(np.linspace(0, n_learners, 501).astype(np.int32))
    ranks = np.array([1 - favourite, favourite], dtype=np.uint16)
    counts, winners = break_ties(np.column_stack([n_learners - n_for, n_for]), ranks)
    probabilities = calibration.predict(counts, winners)
    assert np.all(np.diff(probabilities[:, 1]) >= 0)
    assert np.all((probabilities > 0) & (probabilities < 1))
    np.testing.assert_array_equal(probabilities[:, 1] > 0.5, winners == 1)
    np.testing.assert_array_equal(probabilities[:, 0] > 0.5, winners == 0)


@given(st.data(), st.integers(2, 6))
def test_predict_keeps_the_order_of_any_number_of_classes(data, n_classes):
    calibration = VoteCalibration(data.draw(st.lists(slopes, min_size=n_classes, max_size=n_classes)))
    count = st.integers(0, 1000) | st.integers(0, 3)
    row = st.lists(count, min_size=n_classes, max_size=n_classes).filter(any)
    votes = np.array(data.draw(st.lists(row, min_size=1, max_size=20)))
    ranks = np.array(data.draw(st.permutations(range(n_classes))), dtype=np.uint16)
    counts, winners = break_ties(votes, ranks)
    probabilities = calibration.predict(counts, winners)
    assert np.all((probabilities > 0) & (probabilities < 1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    rows = np.arange(len(votes))
    others = probabilities.copy()
    others[rows, winners] = 0.0
    assert np.all(others.max(axis=1) < probabilities[rows, winners])
    for numbers, shares in zip(counts, probabilities, strict=True):
        assert np.all(np.diff(shares[np.argsort(numbers)]) >= -1e-15)


@pytest.mark.slow
@given(judged_rows())
def test_fit_takes_any_rows(rows):
    counts, _ = rows
    calibration = VoteCalibration.fit(*rows)
    again = VoteCalibration(calibration.slopes)  # what it fits is valid, and all of it
    counts, winners = counts + 1, counts.argmax(axis=1)
    np.testing.assert_array_equal(again.predict(counts, winners), calibration.predict(counts, winners))


@pytest.mark.slow
@given(judged_rows(), st.randoms())
def test_fit_does_not_know_the_names_of_the_classes(rows, random):
    counts, labels = rows
    names = np.arange(counts.shape[1])
    random.shuffle(names)
    straight = VoteCalibration.fit(counts, labels)
    renamed = VoteCalibration.fit(counts[:, np.argsort(names)], names[labels])
    np.testing.assert_allclose(renamed.slopes[names], straight.slopes, rtol=1e-5)


@pytest.mark.parametrize("slopes", [(1, 1), (3, 6), (0.5, 12), (2, 2, 2), (1, 3, 6), (2, 4, 3, 5)], ids=str)
def test_fit_finds_the_slopes_that_labels_were_drawn_with(slopes):
    np.testing.assert_allclose(VoteCalibration.fit(*make_rows(slopes, 60_000)).slopes, slopes, rtol=0.08)


@pytest.mark.parametrize("slopes", [(2, 5), (2, 4, 3)], ids=str)
def test_fit_maximises_the_likelihood(slopes):
    counts, labels = make_rows(slopes)
    fitted = VoteCalibration.fit(counts, labels).slopes

    def loss(slopes):
        return log_loss(labels, VoteCalibration(slopes).predict(counts, counts.argmax(axis=1)))

    for winner in range(len(slopes)):
        for factor in (0.95, 1.05):
            assert loss(fitted) < loss(np.where(np.arange(len(slopes)) == winner, factor * fitted, fitted))


@pytest.mark.parametrize("slopes", [(2, 5), (2, 4, 3)], ids=str)
def test_fit_weighs_rows_by_ratios(slopes):
    counts, labels = make_rows(slopes, n_samples=600)
    weights = np.random.default_rng(1).integers(0, 3, len(labels)).astype(float)
    weighted = VoteCalibration.fit(counts, labels, weights).slopes
    scaled = VoteCalibration.fit(counts, labels, 1e-6 * weights).slopes
    np.testing.assert_allclose(scaled, weighted, rtol=1e-5)
    repeated = np.repeat(np.arange(len(labels)), weights.astype(int))
    copies = VoteCalibration.fit(counts[repeated], labels[repeated]).slopes
    np.testing.assert_allclose(weighted, copies, rtol=0.03)  # the row that is added weighs as much as the mean one
    assert np.any(np.abs(VoteCalibration.fit(counts, labels).slopes / weighted - 1) > 0.02)


def test_fit_ignores_rows_of_weight_zero_rows_that_all_learners_saw_and_ties():
    counts, labels = make_rows((2, 5, 3), n_samples=300)
    clean = VoteCalibration.fit(counts, labels).slopes
    weights = np.append(np.ones(len(labels)), [0, 1, 1])
    counts, labels = np.vstack([counts, [[5, 90, 5], [0, 0, 0], [40, 40, 20]]]), np.append(labels, [0, 0, 2])
    with_others = VoteCalibration.fit(counts, labels, weights).slopes
    np.testing.assert_allclose(with_others, clean, rtol=1e-5)


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        (np.empty((0, 2)), []),
        ([[0, 0], [0, 0]], [0, 1]),
        ([[0, 5], [1, 4], [0, 0]], [1, 1, 0]),
        ([[1, 1], [2, 2]], [0, 1]),
        ([[1, 1, 0], [2, 2, 2]], [0, 1]),
    ],
    ids=["no row", "none out of patch", "one class out of patch", "draws", "draws of three"],
)
def test_fit_falls_back_to_the_share_of_votes(counts, labels):
    counts = np.array(counts, dtype=np.int32)
    calibration = VoteCalibration.fit(counts, np.array(labels, dtype=np.uint16))
    np.testing.assert_array_equal(calibration.slopes, np.ones(counts.shape[1]))
    counts = np.eye(counts.shape[1]) * 7 + 1
    smoothed = counts + 0.5
    expected = smoothed / smoothed.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(calibration.predict(counts, np.arange(len(counts))), expected)


@pytest.mark.parametrize("n_samples", [4, 20, 1000])
def test_fit_is_as_sure_as_so_many_rows_allow(n_samples):
    """All are right: the next one is wrong with a probability of about 1 / (n + 2) on either side."""
    labels = np.tile([0, 1], n_samples // 2)
    counts = np.where(labels[:, None] == [0, 1], 80, 20)
    error = VoteCalibration.fit(counts, labels).predict(counts[:1], labels[:1])[0, 1]
    assert 0.9 / (n_samples + 2) < error < 1.1 / (n_samples + 2)


def test_fit_stays_monotone_where_votes_mislead():
    counts, labels = make_rows((5, 5), n_samples=200)
    np.testing.assert_array_equal(VoteCalibration.fit(counts[:, ::-1], labels).slopes, [MIN_SLOPE, MIN_SLOPE])


@pytest.mark.parametrize(
    "slopes", [1, [[1, 1]], [np.nan, 1], [np.inf, 1], [0, 1], [1, -1], [1, 1, 2 * MAX_SLOPE]], ids=str
)
def test_slopes_are_checked(slopes):
    with pytest.raises(ValueError, match="slopes of a calibration must be between"):
        VoteCalibration(slopes)


def test_slopes_are_a_copy():
    given_slopes = np.array([1.0, 2.0])
    calibration = VoteCalibration(given_slopes)
    given_slopes[:] = 7
    np.testing.assert_array_equal(calibration.slopes, [1, 2])


@pytest.mark.parametrize(("name", "of_raw", "of_prior"), [("cancer", 0.95, 0.2), ("digits", 0.8, 0.15)])
def test_calibration_improves_on_the_share_of_votes(request, name, of_raw, of_prior):
    data = load_digits(return_X_y=True) if name == "digits" else request.getfixturevalue(name)
    raw, calibrated, prior = [], [], []
    for seed in range(5):
        X, X_test, y, y_test = train_test_split(*data, random_state=seed)
        model = MPBoostClassifier(n_estimators=200, max_samples=100, stopping=None, random_state=seed).fit(X, y)
        shares = model.predict_vote_share(X_test)
        smoothed = (200 * shares + 0.5) / (200 + 0.5 * shares.shape[1])
        frequencies = np.bincount(y) / len(y)
        raw.append(log_loss(y_test, smoothed))
        calibrated.append(log_loss(y_test, model.predict_proba(X_test)))
        prior.append(log_loss(y_test, np.tile(frequencies, (len(y_test), 1))))
    assert np.mean(calibrated) < of_raw * np.mean(raw)
    assert np.mean(calibrated) < of_prior * np.mean(prior)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_calibration_of_many_rows_looks_at_some_of_them(n_classes):
    rng = np.random.default_rng(0)
    n_rows = 5000
    labels = np.arange(n_rows) % n_classes  # equal steps would meet one class alone
    guesses = np.where(rng.random(n_rows) < 0.8, labels, rng.integers(0, n_classes, n_rows))
    counts = np.where(guesses[:, None] == np.arange(n_classes), rng.choice([2, 4, 6], n_rows)[:, None], 1)
    for weights in (None, rng.uniform(0.5, 1.5, n_rows)):
        whole = VoteCalibration.fit(counts, labels, weights).slopes
        some, same = (VoteCalibration.fit(counts, labels, weights, max_counts=1000 * n_classes).slopes for _ in "12")
        np.testing.assert_array_equal(some, same)
        assert not np.array_equal(some, whole)
        np.testing.assert_allclose(some, whole, rtol=0.3)


# Losses after recalibration


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.2, 3.0), (5.0, -4.0), (100.0, 1e4)])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_calibrated_loss_does_not_depend_on_the_level_of_log_odds(slope, intercept, share):
    rng = np.random.default_rng(0)
    codes = (rng.random(2000) < share).astype(int)
    raw = rng.normal(size=2000) + 2 * codes
    weights = rng.uniform(0.5, 2.0, size=2000)

    def compute_loss(line):
        return np.average(np.logaddexp(0.0, (1 - 2 * codes) * (line[0] * raw + line[1])), weights=weights)

    expected = minimize(compute_loss, [1.0, 0.0], method="Nelder-Mead", options={"fatol": 1e-12, "xatol": 1e-9}).fun
    assert compute_calibrated_loss(slope * raw + intercept, codes, weights) == pytest.approx(expected, rel=1e-5)


def test_calibrated_loss_of_many_classes_is_better_for_better_predictions():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 2000)
    noise = rng.normal(size=(2000, 4))
    losses = [compute_calibrated_loss(noise + signal * np.eye(4)[codes], codes, None) for signal in (0.5, 1.0, 2.0)]
    assert losses == sorted(losses, reverse=True)
    shifted = compute_calibrated_loss(noise + 2.0 * np.eye(4)[codes] + 7.0, codes, np.ones(2000))
    assert shifted == pytest.approx(losses[-1], rel=1e-9)


@pytest.mark.parametrize("codes", [[0, 0, 1, 1], [0, 0, 0, 0]], ids=["separable", "one class"])
def test_calibrated_loss_of_rows_that_are_all_right_is_small(codes):
    loss = compute_calibrated_loss(np.array([-3.0, -2.0, 2.0, 3.0]), np.array(codes), None)
    assert 0 <= loss < 1e-3


def test_calibrated_loss_of_equal_predictions_is_that_of_the_shares():
    loss = compute_calibrated_loss(np.zeros(10), np.array([1] * 2 + [0] * 8), None)
    assert loss == pytest.approx(-(0.2 * np.log(0.2) + 0.8 * np.log(0.8)), rel=1e-6)
