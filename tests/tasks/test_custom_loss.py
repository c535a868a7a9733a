"""Losses of the user's own: as good as ours, and told where they are broken."""

import pickle

import numpy as np
import pytest
from scipy.special import expit

from mpboost import MPGradientBoostingClassifier, MPGradientBoostingRegressor
from mpboost.tasks.custom_loss import CustomLoss
from mpboost.tasks.losses import ValueLoss

QUICK = {"n_estimators": 300, "learning_rate": 0.2, "max_samples": 0.5, "random_state": 0}


def make_numbers(n_samples=2000, seed=0):
    """Make numbers whose spread depends on X, and X."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, 3))
    return X, 10 * X[:, 0] + (1 + 4 * X[:, 1]) * rng.normal(size=n_samples)


class OwnSquares:
    """Half the squared error."""

    def gradient_hessian(self, y, raw):
        return raw - y, np.ones_like(raw)


class OwnLogLoss:
    """Log loss of two classes, with all that may be told."""

    def gradient_hessian(self, y, raw):
        shares = expit(raw)
        return shares - y, shares * (1 - shares)

    def loss(self, y, raw):
        return np.logaddexp(0, raw) - y * raw

    def baseline(self, y, sample_weight):
        share = np.average(y, weights=sample_weight)
        return np.log(share / (1 - share))

    def inverse_link(self, raw):
        return expit(raw)


class OwnSoftmax:
    """Log loss of many classes."""

    def gradient_hessian(self, y, raw):
        shares = np.exp(raw - raw.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares - np.eye(raw.shape[1])[y], shares * (1 - shares)


class OwnCounts:
    """Poisson loss with a log link."""

    def gradient_hessian(self, y, raw):
        return np.exp(raw) - y, np.exp(raw)

    def baseline(self, y, sample_weight):
        return np.log(np.average(y, weights=sample_weight))

    def inverse_link(self, raw):
        return np.exp(raw)


def make_weights(n_samples):
    return np.random.default_rng(5).uniform(0.5, 2.0, size=n_samples)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_own_squared_error_is_as_good_as_ours(weighted):
    X, y = make_numbers(1000)
    weights = make_weights(1000) if weighted else None
    own, ours = (
        MPGradientBoostingRegressor(**QUICK, loss=loss).fit(X, y, weights) for loss in (OwnSquares(), "squared_error")
    )
    assert own.oop_score_ == pytest.approx(ours.oop_score_, abs=0.01)
    assert np.corrcoef(own.predict(X), ours.predict(X))[0, 1] > 0.99


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_own_log_loss_learns_what_ours_does(weighted):
    X, y = make_numbers(1000)
    labels = np.where(y > 5, "high", "low")
    # In a round of several, trees are grown by the few gradients of the start: rounding decides among equal splits.
    fit = {**QUICK, "n_estimators": 30, "stopping": None, "oop_size": 0, "round_size": 1}
    weights = make_weights(1000) if weighted else None
    own, ours = (
        MPGradientBoostingClassifier(**fit, loss=loss).fit(X, labels, weights, X_val=X[:100], y_val=labels[:100])
        for loss in (OwnLogLoss(), "log_loss")
    )
    # Where rows have weights, rounding decides between splits that are as good as each other.
    np.testing.assert_allclose(own.validation_losses_, ours.validation_losses_, atol=0.03 if weighted else 1e-5)
    if not weighted:
        np.testing.assert_allclose(own.predict_proba(X), ours.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(own.baseline_, ours.baseline_, rtol=1e-6)
    assert own.predict_proba(X).shape == (1000, 2)


def test_own_loss_of_many_classes_learns():
    X, y = make_numbers(1000)
    labels = np.digitize(y, [2.0, 6.0])
    own, ours = (MPGradientBoostingClassifier(**QUICK, loss=loss).fit(X, labels) for loss in (OwnSoftmax(), "log_loss"))
    assert own.oop_score_ > ours.oop_score_ - 0.03
    assert own.predict_proba(X).shape == (1000, 3)


def test_own_link_is_used_in_all_predictions():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 2))
    y = rng.poisson(np.exp(2 * X[:, 0])).astype(float)
    model = MPGradientBoostingRegressor(**QUICK, loss=OwnCounts(), n_models=1, oop_size=0.2).fit(X, y)
    predicted = model.predict(X)
    assert predicted.mean() == pytest.approx(y.mean(), rel=0.05)
    assert list(model.staged_predict(X))[-1].tolist() == predicted.tolist()
    known = ~np.isnan(model.oop_prediction_)
    np.testing.assert_allclose(model.oop_prediction_[known], predicted[known], rtol=1e-4)


def test_own_loss_survives_copies_and_goes_on():
    X, y = make_numbers(300)
    model = MPGradientBoostingRegressor(
        **QUICK | {"n_estimators": 10}, loss=OwnSquares(), warm_start=True, stopping=None
    )
    model.fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.predict(X).tolist() == model.predict(X).tolist()
    model.set_params(n_estimators=20).fit(X, y)
    longer = MPGradientBoostingRegressor(**QUICK | {"n_estimators": 20}, loss=OwnSquares(), stopping=None).fit(X, y)
    assert model.predict(X).tolist() == longer.predict(X).tolist()


class Broken(OwnSquares):
    """Gives something else from a certain call on."""

    def __init__(self, broken, first=3):
        self.broken, self.first, self.n_calls = broken, first, 0

    def gradient_hessian(self, y, raw):
        self.n_calls += 1
        return super().gradient_hessian(y, raw) if self.n_calls < self.first else self.broken(y, raw)


BROKEN = {
    "nan": (lambda y, raw: (np.full_like(raw, np.nan), np.ones_like(raw)), "gradients .* must be finite"),
    "infinite": (lambda y, raw: (raw, np.full_like(raw, 1e300)), "hessians .* must be finite"),
    "shape": (lambda y, raw: (raw[:-1], np.ones_like(raw)), "gradients .* have shape"),
    "scalar": (lambda y, raw: (raw, 1.0), "hessians .* have shape"),
    "negative": (lambda y, raw: (raw, -np.ones_like(raw)), "must not be negative"),
    "one-array": (lambda y, raw: raw, "must return two arrays"),
    "three": (lambda y, raw: (raw, raw, raw), "must return two arrays"),
}


@pytest.mark.parametrize("first", [1, 5], ids=["at-once", "later"])
@pytest.mark.parametrize(("broken", "message"), BROKEN.values(), ids=BROKEN)
def test_own_loss_that_is_broken_is_told_and_leaves_no_model(broken, message, first):
    X, y = make_numbers(300)
    model = MPGradientBoostingRegressor(**QUICK, loss=Broken(broken, first))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("baseline", np.nan, "finite"),
        ("baseline", [1.0, 2.0], "1 finite number"),
        ("loss", 1.0, "each of"),
        ("loss", np.full(300, np.inf), "finite"),
        ("inverse_link", np.zeros((300, 2)), "shape"),
    ],
)
def test_own_extras_that_are_broken_are_told(name, given, message):
    X, y = make_numbers(300)
    own = type("Own", (OwnSquares,), {name: lambda self, *_: given})()
    with pytest.raises(ValueError, match=message):
        MPGradientBoostingRegressor(**QUICK, n_models=5, oop_size=0.2, loss=own).fit(X, y)


NOT_REAL = {
    "gradients": {"gradient_hessian": lambda self, y, raw: (raw + 1j, np.ones_like(raw))},
    "hessians": {"gradient_hessian": lambda self, y, raw: (raw, np.full(raw.shape, "a"))},
    "baseline": {"baseline": lambda self, y, weights: 1j},
    "loss": {"loss": lambda self, y, raw: raw + 1j},
    "inverse_link": {"inverse_link": lambda self, raw: raw + 1j},
}


@pytest.mark.parametrize(("what", "methods"), NOT_REAL.items(), ids=NOT_REAL)
def test_own_numbers_that_are_not_real_are_a_type_error(what, methods):
    X, y = make_numbers(300)
    own = type("Own", (OwnSquares,), methods)()
    with pytest.raises(TypeError, match=f"The {what} of .* must be real numbers"):
        MPGradientBoostingRegressor(**QUICK, n_models=5, oop_size=0.2, loss=own).fit(X, y)


@pytest.mark.parametrize("number", [np.finfo(np.longdouble).max, 1e308], ids=["long-double", "double"])
def test_own_derivatives_too_large_for_single_precision_are_told(number):
    X, y = make_numbers(300)
    own = Broken(lambda y, raw: (np.full(raw.shape, number), np.ones_like(raw)))
    with pytest.raises(ValueError, match=r"gradients .* must be finite"):
        MPGradientBoostingRegressor(**QUICK, loss=own).fit(X, y)


def test_own_probabilities_may_be_of_both_classes():
    class Both(OwnLogLoss):
        def inverse_link(self, raw):
            return np.stack([expit(-raw), expit(raw)], axis=1)

    X, y = make_numbers(300)
    one, both = (
        MPGradientBoostingClassifier(**QUICK | {"n_estimators": 5}, loss=loss).fit(X, y > 5).predict_proba(X)
        for loss in (OwnLogLoss(), Both())
    )
    np.testing.assert_allclose(both, one, rtol=1e-12)


def test_own_loss_without_a_baseline_starts_where_ours_does():
    like = ValueLoss("squared_error", make_numbers(100)[1], None, 0.5)
    assert CustomLoss(OwnSquares(), like, like.labels, None).baseline == pytest.approx(like.baseline, rel=1e-12)


@pytest.mark.parametrize("loss", ["exponential", None, object(), 3])
def test_other_losses_are_refused(loss):
    for estimator in (MPGradientBoostingClassifier, MPGradientBoostingRegressor):
        with pytest.raises(ValueError, match="'loss' parameter"):
            estimator(loss=loss).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300], ids=["nan", "inf", "huge"])
@pytest.mark.parametrize("estimator", [MPGradientBoostingRegressor, MPGradientBoostingClassifier])
def test_inverse_link_that_is_no_number_is_refused(estimator, value):
    class Odd:
        def gradient_hessian(self, y, raw):
            return raw - y, np.ones_like(raw)

        def inverse_link(self, raw):
            return np.full_like(raw, value)

    X = np.random.default_rng(0).normal(size=(60, 3))
    model = estimator(loss=Odd(), n_estimators=4, random_state=0)
    y = (X[:, 0] > 0).astype(int)
    if np.isfinite(value) and estimator is MPGradientBoostingRegressor:
        model.fit(X, y)  # no warning of numpy
    else:
        words = "between 0 and 1" if np.isfinite(value) else "must return finite numbers"
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
