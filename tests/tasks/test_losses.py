"""Losses: their derivatives, the values of leaves, and what models learn by them."""

import numpy as np
import pytest

from mpboost import MPGradientBoostingClassifier, MPGradientBoostingRegressor, _native
from mpboost.tasks.losses import BinaryLogLoss, Position, SoftmaxLoss, Step, ValueLoss, predict_values

THREADS = _native.Threads(1)
QUICK = {"n_estimators": 300, "learning_rate": 0.2, "max_samples": 0.5, "random_state": 0}
VALUE_LOSSES = ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"]


def make_loss(name, n_samples=200, weights=None):
    """Make a loss on labels that it is made for."""
    rng = np.random.default_rng(0)
    if name == "two-classes":
        return BinaryLogLoss(rng.choice([-1, 1], n_samples, p=[0.3, 0.7]).astype(np.int8), weights)
    if name == "three-classes":
        return SoftmaxLoss(rng.choice(3, n_samples, p=[0.2, 0.3, 0.5]).astype(np.uint16), weights, 3)
    return ValueLoss(name, 50 * rng.gamma(2.0, size=n_samples), weights, 0.7)


def take_position(loss, raw, weights=None):
    """Derive the loss at raw predictions in the engine's units."""
    raw = raw.astype(np.float32)
    weights = None if weights is None else weights.astype(np.float32)
    now = Position(raw, weights, np.empty_like(raw), np.empty_like(raw))
    loss.move(now, None, THREADS)
    return now


def compute_losses(loss, raw):
    """Give the loss of each row at raw predictions in the engine's units."""
    labels = loss.labels.astype(np.float64) * loss.scale + loss.offset if isinstance(loss, ValueLoss) else loss.labels
    if isinstance(loss, ValueLoss) and loss.is_log:
        labels = loss.labels.astype(np.float64) * np.exp(loss.offset)
    raw = loss.offset + loss.scale * raw
    return np.array([loss.compute_loss(raw[i : i + 1], labels[i : i + 1], None) for i in range(len(raw))])


def make_raw(loss, seed=1):
    shape = len(loss.labels) if loss.n_outputs == 1 else (len(loss.labels), loss.n_outputs)
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32).astype(np.float64)


# Derivatives


@pytest.mark.parametrize("name", ["two-classes", "three-classes", *VALUE_LOSSES])
def test_gradients_are_the_slopes_of_the_loss(name):
    loss = make_loss(name)
    raw, step = make_raw(loss), 1e-4
    gradients = take_position(loss, raw).gradients.reshape(len(raw), -1)
    for k in range(loss.n_outputs):
        move = step * (np.arange(loss.n_outputs) == k) if raw.ndim == 2 else step
        slopes = (compute_losses(loss, raw + move) - compute_losses(loss, raw - move)) / (2 * step)
        smooth = np.abs(raw - loss.labels) > 2 * step if name in ("absolute_error", "quantile") else slice(None)
        np.testing.assert_allclose(gradients[smooth, k], slopes[smooth], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["two-classes", "three-classes", "squared_error", "poisson", "gamma"])
def test_hessians_are_the_slopes_of_the_gradients(name):
    loss = make_loss(name)
    raw, step = make_raw(loss), 1e-2
    hessians = take_position(loss, raw).hessians.reshape(len(raw), -1)
    for k in range(loss.n_outputs):
        move = step * (np.arange(loss.n_outputs) == k) if raw.ndim == 2 else step
        ends = [take_position(loss, raw + sign * move).gradients.reshape(len(raw), -1)[:, k] for sign in (1, -1)]
        np.testing.assert_allclose(hessians[:, k], (ends[0] - ends[1]) / (2 * step), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", ["two-classes", "three-classes", *VALUE_LOSSES])
def test_baseline_is_the_best_constant(name):
    weights = np.random.default_rng(2).uniform(0.2, 3.0, size=200)
    loss = make_loss(name, weights=weights)

    def compute_mean_loss(move):
        raw = np.tile(loss.start.astype(float), (200, 1))
        raw[:, 0] += move
        return np.average(compute_losses(loss, raw if loss.n_outputs > 1 else raw[:, 0]), weights=weights)

    step = 0.5 if name == "huber" else 0.1  # which begins with the median, for want of a formula
    assert compute_mean_loss(0.0) < min(compute_mean_loss(step), compute_mean_loss(-step))


@pytest.mark.parametrize("name", ["two-classes", "three-classes", *VALUE_LOSSES])
def test_move_adds_the_values_of_leaves_and_multiplies_derivatives_by_weights(name):
    rng = np.random.default_rng(3)
    weights = rng.uniform(size=200).astype(np.float32)
    loss = make_loss(name, weights=weights.astype(np.float64))
    raw = make_raw(loss)
    leaves = rng.integers(4, size=200).astype(np.uint16)
    values = rng.normal(size=(4, *raw.shape[1:])).astype(np.float32)
    moved = take_position(loss, raw.astype(np.float32) + values[leaves])
    now = take_position(loss, raw, weights)
    quality = loss.move(now, Step(leaves, values), THREADS)
    np.testing.assert_array_equal(now.raw, moved.raw)
    for one, other in ((now.gradients, moved.gradients), (now.hessians, moved.hessians)):
        np.testing.assert_allclose(one, (other.T * weights).T, rtol=1e-5, atol=1e-12)
    score = loss.score_training(quality, loss.compute_total(weights))
    labels = loss.labels
    if isinstance(loss, ValueLoss):
        labels = labels.astype(float) * (np.exp(loss.offset) if loss.is_log else loss.scale)
        labels = labels if loss.is_log else labels + loss.offset
    users = loss.offset + loss.scale * now.raw.astype(np.float64)
    expected = loss.compute_score(users, labels, weights.astype(np.float64))
    assert score == pytest.approx(expected, rel=1e-5)


# Values of leaves


@pytest.mark.parametrize("name", ["squared_error", "poisson", "gamma"])
def test_leaf_values_are_the_best_there_are(name):
    loss = make_loss(name)
    now = take_position(loss, make_raw(loss))
    sums = np.array([[[now.gradients.sum(dtype=float), now.hessians.sum(dtype=float)]]])
    best = loss.fit_leaves([sums], 0.0)[0][0, 0]
    around = [compute_losses(loss, now.raw + best + move).mean() for move in (-0.01, 0.0, 0.01)]
    assert around[1] < min(around[0], around[2])
    shrunken = loss.fit_leaves([sums], 100.0)[0][0, 0]
    assert 0 < shrunken / best < 0.95


def test_leaf_values_of_nothing_are_zero():
    for name in ("two-classes", "three-classes", *VALUE_LOSSES):
        loss = make_loss(name)
        assert not loss.fit_leaves([np.zeros((2, loss.n_outputs, 2))], 0.0)[0].any()


def test_leaf_values_of_counts_of_zero_are_bounded():
    loss = make_loss("poisson")
    assert loss.fit_leaves([np.array([[[5.0, 5.0]]])], 0.0)[0][0, 0] == -10.0


# What models learn


def make_numbers(n_samples=2000, seed=0):
    """Make numbers whose spread depends on X, and X."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, 3))
    return X, 10 * X[:, 0] + (1 + 4 * X[:, 1]) * rng.normal(size=n_samples)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_quantiles_cover_their_share_of_new_rows(alpha):
    model = MPGradientBoostingRegressor(**QUICK, loss="quantile", alpha=alpha).fit(*make_numbers())
    X, y = make_numbers(seed=1)
    covered = y <= model.predict(X)
    assert covered.mean() == pytest.approx(alpha, abs=0.04)
    noisy = X[:, 1] > 0.7  # a constant shift would not do
    assert covered[noisy].mean() == pytest.approx(alpha, abs=0.08)


@pytest.mark.filterwarnings("ignore:This model is no better")
def test_absolute_error_is_blind_to_outliers():
    X, y = make_numbers()
    clean = 10 * X[:, 0]
    y[np.random.default_rng(2).choice(len(y), 100, replace=False)] = 1e9
    by_size, by_square = (
        MPGradientBoostingRegressor(**QUICK, loss=loss).fit(X, y).predict(X)
        for loss in ("absolute_error", "squared_error")
    )
    assert np.abs(by_size - clean).mean() < 1.0
    assert np.abs(by_square - clean).mean() > 1e6


def test_huber_is_hardly_moved_by_outliers():
    X, y = make_numbers()
    y[np.random.default_rng(2).choice(len(y), 100, replace=False)] = 1e9
    model = MPGradientBoostingRegressor(**QUICK, loss="huber", alpha=0.8).fit(X, y)
    assert np.abs(model.predict(X) - 10 * X[:, 0]).mean() < 1.5


def test_absolute_error_predicts_medians_and_squared_error_means():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(3000, 1)).astype(float)
    y = rng.exponential(1 + X[:, 0])
    groups = [y[X[:, 0] == value] for value in range(3)]
    grid = np.arange(3.0)[:, None]
    fit = {**QUICK, "l2_regularization": 0.0, "oop_size": 0, "stopping": None}
    for loss, find in (("absolute_error", np.median), ("squared_error", np.mean)):
        predicted = MPGradientBoostingRegressor(**fit, loss=loss).fit(X, y).predict(grid)
        np.testing.assert_allclose(predicted, [find(group) for group in groups], rtol=1e-3)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_log_links_predict_positive_means(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 3))
    means = np.exp(2 * X[:, 0] - 1)
    y = rng.poisson(means) if loss == "poisson" else rng.gamma(2.0, means / 2)
    model = MPGradientBoostingRegressor(**QUICK, loss=loss).fit(X, y + 0.0)
    predicted = model.predict(X)
    assert (predicted > 0).all()
    assert predicted.mean() == pytest.approx(means.mean(), rel=0.03)
    assert np.corrcoef(predicted, means)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", [0.0, 1.0, -1.0], "at least 0, but y contains negative"),
        ("poisson", [0.0, 0.0, 0.0], "all 0"),
        ("gamma", [1.0, 2.0, 0.0], "positive numbers, but y contains others"),
    ],
)
def test_log_links_refuse_numbers_that_they_are_not_made_for(loss, y, message):
    with pytest.raises(ValueError, match=message):
        MPGradientBoostingRegressor(loss=loss).fit(np.zeros((3, 1)), y)


def test_log_links_refuse_such_numbers_among_validation_data_too():
    X, y = np.zeros((3, 1)), np.ones(3)
    for loss, y_val in (("gamma", [0.0]), ("poisson", [-1.0])):
        with pytest.raises(ValueError, match="y_val contains"):
            MPGradientBoostingRegressor(loss=loss).fit(X, y, X_val=X[:1], y_val=y_val)
    MPGradientBoostingRegressor(loss="poisson", n_estimators=2).fit(X, y, X_val=X[:1], y_val=[0.0])


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
@pytest.mark.parametrize(("scale", "shift"), [(2.0**90, 0.0), (2.0**-900, 0.0), (2.0**-10, 2.0**20)])
def test_units_of_numbers_do_not_matter(loss, scale, shift):
    X, y = make_numbers(300)
    y = np.round(y * 64) / 64  # so that a shift costs no bits
    one, other = (
        MPGradientBoostingRegressor(**QUICK, loss=loss, stopping=None).fit(X, target).predict(X)
        for target in (y, scale * y + shift)
    )
    np.testing.assert_allclose((other - shift) / scale, one, rtol=1e-4, atol=1e-4)


def test_losses_are_published_in_the_units_of_the_numbers():
    X, y = make_numbers(500)
    for loss, find in (("squared_error", lambda r: 0.5 * r**2), ("absolute_error", np.abs)):
        model = MPGradientBoostingRegressor(**QUICK, loss=loss, n_models=5, oop_size=0.2).fit(X, y, X_val=X, y_val=y)
        stages = list(model.staged_predict(X))
        expected = [find(y - stage).mean() for stage in stages]
        np.testing.assert_allclose(model.validation_losses_[: len(stages)], expected, rtol=1e-9)
        residuals = y - model.oop_prediction_
        assert model.oop_losses_[model.best_iteration_ - 1] == pytest.approx(find(residuals).mean(), rel=1e-6)


def test_too_large_a_learning_rate_is_told():
    X, y = make_numbers(300)
    with pytest.raises(ValueError, match="smaller learning_rate"):
        MPGradientBoostingRegressor(learning_rate=1e6, stopping=None, random_state=0).fit(X, y)


# Weights of classes


def test_class_weight_moves_the_border():
    X, y = make_numbers(1000)
    labels = (y > 9).astype(int)
    plain, balanced, heavy = (
        MPGradientBoostingClassifier(**QUICK, class_weight=weight).fit(X, labels).predict(X).mean()
        for weight in (None, "balanced", {0: 1.0, 1: 50.0})
    )
    assert plain < balanced < heavy


def test_class_weight_is_as_sample_weight():
    X, y = make_numbers(300)
    labels = np.digitize(y, [2.0, 6.0])
    by_class = MPGradientBoostingClassifier(**QUICK, stopping=None, class_weight={0: 1, 1: 2, 2: 4}).fit(X, labels)
    by_row = MPGradientBoostingClassifier(**QUICK, stopping=None).fit(X, labels, sample_weight=2.0**labels)
    assert by_class.decision_function(X).tolist() == by_row.decision_function(X).tolist()


def test_predict_values_never_overflow():
    assert np.isfinite(predict_values("poisson", np.array([-1e10, 1e10]))).all()


@pytest.mark.parametrize("heavy", [1e16, 1e-16, 1e200])
def test_log_loss_starts_at_the_log_odds_of_classes_whose_share_rounds_to_one(heavy):
    labels = np.array([-1, 1], dtype=np.int8)
    assert BinaryLogLoss(labels, np.array([1.0, heavy])).start[0] == pytest.approx(np.log(heavy), rel=1e-6)


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"])
def test_losses_of_rows_far_away_are_finite(name):
    loss = ValueLoss(name, np.array([1e-300, 2e-300, 3e-300]), None, 0.5)
    raw, labels = np.array([0.0, 1e-300, -600.0]), np.array([1e100, 1e9, 1e99])
    assert np.isfinite(loss.compute_loss(raw, labels, None))
    assert np.isfinite(loss.compute_loss(raw, labels, np.array([1.0, 2.0, 3.0])))


@pytest.mark.parametrize("name", ["absolute_error", "quantile", "huber"])
def test_loss_clips_outliers_too_far_away_for_its_unit(name):
    loss = ValueLoss(name, np.array([1e39, -5e-324, 5e-324, -5e-324, 5e-324, 5e-324]), None, 0.5)
    assert loss.labels.tolist()[0] == np.float32(1e15)
    assert np.abs(loss.labels[1:]).max() <= 2.0
