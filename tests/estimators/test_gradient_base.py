"""What the gradient estimators do beside the battery: reserved rows, limits of trees, and odd data."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from mpboost import Callback, MPGradientBoostingClassifier, MPGradientBoostingRegressor
from mpboost.estimators.gradient_assembly import choose_step_lengths, count_models, draw_shares
from mpboost.learners.splits import SPLIT_DTYPE
from mpboost.tasks.losses import BinaryLogLoss

QUICK = {"n_estimators": 60, "learning_rate": 0.3, "stopping": None, "random_state": 0}
ESTIMATORS = [MPGradientBoostingClassifier, MPGradientBoostingRegressor]


def make_data(n_samples=400, seed=0, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n_samples)


def make_target(estimator, y):
    return (y > np.median(y)).astype(int) if estimator is MPGradientBoostingClassifier else y


def fit(estimator=MPGradientBoostingRegressor, n_samples=400, **parameters):
    X, y = make_data(n_samples)
    return estimator(**QUICK | parameters).fit(X, make_target(estimator, y))


def get_oop(model):
    return model.oop_decision_function_ if hasattr(model, "classes_") else model.oop_prediction_


class OwnLoss:
    """Log loss of two classes, given by its derivatives."""

    def gradient_hessian(self, y, raw):
        shares = expit(raw)
        return shares - y, shares * (1 - shares)


class Watcher(Callback):
    """Keeps the task of a run, and the rows of its minipatches."""

    def __init__(self):
        self.patches = []

    def on_iteration_end(self, run):
        self.task = run.parts.task
        self.patches.append(((run.iteration - 1) % len(self.task.predictors), run.rows.copy()))


# Lengths of steps


def list_leaf_values(model):
    """List the values of the leaves of each tree."""
    forest = model._ensemble.forest
    return [forest.tree(k).leaf_values for k in range(len(model._ensemble))]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_first_steps_of_models_that_take_turns_are_longer(n_classes):
    X, y = make_data()
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    parameters = {"n_models": 3, "n_estimators": 3, "stopping": None, "random_state": 0}
    longer = MPGradientBoostingClassifier(**parameters).fit(X, labels)
    fixed = MPGradientBoostingClassifier(**parameters, learning_rate=0.1).fit(X, labels)
    for values, others in zip(list_leaf_values(longer), list_leaf_values(fixed), strict=True):
        np.testing.assert_allclose(values, 2 * others, rtol=1e-6)


def test_steps_are_as_long_as_the_learning_rate_after_30_trees_of_each_model():
    steps = choose_step_lengths("auto", BinaryLogLoss(np.array([-1, 1], dtype=np.int8), None), 3)
    lengths = [steps.find(n_before) for n_before in range(40)]
    assert lengths[0] == 0.2
    np.testing.assert_allclose(np.diff(lengths[:31]), -0.1 / 30)
    assert lengths[30:] == [0.1] * 10


@pytest.mark.parametrize("parameters", [{"n_models": 1}, {"n_models": 3, "loss": OwnLoss()}], ids=["one", "own loss"])
def test_all_steps_are_equal_without_turns_and_with_a_loss_of_ones_own(parameters):
    X, y = make_data()
    labels = make_target(MPGradientBoostingClassifier, y)
    auto, fixed = (
        MPGradientBoostingClassifier(**QUICK | parameters | rate).fit(X, labels)
        for rate in ({"learning_rate": "auto"}, {"learning_rate": 0.1})
    )
    np.testing.assert_array_equal(auto.decision_function(X), fixed.decision_function(X))


# Reserved rows


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "n_models"),
    [
        (3, 2, None, 3),
        (5000, 400, 2, 5),
        (5000, 401, 2, 2),
        (5000, 200, 4, 2),
        (5001, 10, None, 3),
        (50_000, 40, 2, 3),
        (50_000, 41, 2, 1),
        (50_001, 2, 2, 1),
        (16_000, 16, 26, 1),
    ],
)
def test_number_of_models_follows_from_the_size_of_the_table(n_rows, n_columns, n_classes, n_models):
    table = SimpleNamespace(n_rows=n_rows, n_columns=n_columns)
    classes = None if n_classes is None else range(n_classes)
    assert (
        count_models(SimpleNamespace(examples=SimpleNamespace(n_rows=n_rows, table=table), classes=classes)) == n_models
    )


@pytest.mark.parametrize("n_models", [401, 10**30])
def test_more_models_than_rows_are_refused(n_models):
    with pytest.raises(ValueError, match="more than the number of rows, 400"):
        fit(n_models=n_models, oop_size=0)


def test_without_refit_and_reserved_rows_trees_judge_what_they_never_saw():
    X, y = make_data()
    watcher = Watcher()
    parameters = QUICK | {"leaf_refit": False, "oop_size": 0, "max_samples": 100, "callbacks": [watcher]}
    model = MPGradientBoostingRegressor(**parameters).fit(X, y)
    stages = np.array([np.full(len(y), model.baseline_[0]), *model.staged_predict(X)])
    expected = np.full(len(y), model.baseline_[0])
    for (_, rows), step in zip(watcher.patches, np.diff(stages, axis=0), strict=True):
        step[rows] = 0.0
        expected += step
    np.testing.assert_allclose(model.oop_prediction_, expected, atol=1e-4)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("parameters", "n_models", "n_reserved"),
    [
        ({"oop_size": 0.25}, 1, 100),
        ({"oop_size": 80}, 1, 80),
        ({"oop_size": np.int64(80)}, 1, 80),
        ({"oop_size": 1e-9}, 1, 1),
        ({"oop_size": 0}, 1, 0),
        ({"oop_size": 0.2, "n_models": 5}, 5, 400),
        ({"oop_size": 0.1, "n_models": 3}, 3, 120),
        ({"n_models": 1}, 1, None),
        ({"n_models": 4}, 4, None),
        ({"n_models": 400}, 400, 400),
        ({}, None, None),
        ({"leaf_refit": False, "oop_size": 0.25}, 1, 100),
        ({"leaf_refit": False, "oop_size": 0}, 1, 400),
    ],
    ids=str,
)
def test_reserved_rows_have_out_of_patch_predictions(estimator, parameters, n_models, n_reserved):
    model = fit(estimator, **parameters)
    known = ~np.isnan(get_oop(model))
    assert model.n_models_ == n_models or (n_models is None and model.n_models_ >= 1)
    assert known.sum() == n_reserved or (n_reserved is None and known.any())
    np.testing.assert_array_equal(known, ~np.isnan(model.observation_difficulty_))
    assert np.isnan(model.oop_score_) == (not known.any())
    assert np.isnan(model.oop_losses_).all() == (not known.any())
    assert len(model.oop_losses_) == 60


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_models_never_draw_their_reserved_rows(estimator):
    X, y = make_data()
    watcher = Watcher()
    estimator(**QUICK, n_models=4, oop_size=0.25, callbacks=[watcher]).fit(X, make_target(estimator, y))
    reserved = watcher.task.out_of_patch.reserved
    assert sorted(np.concatenate(reserved)) == list(range(400))  # no row is lost
    assert [turn for turn, _ in watcher.patches[:8]] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert not any(np.isin(rows, reserved[turn]).any() for turn, rows in watcher.patches)


@pytest.mark.parametrize("leaf_refit", [True, False], ids=["refit", "patch"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_models_learn_nothing_from_their_reserved_rows(loss, leaf_refit):
    X, y = make_data()
    parameters = QUICK | {"oop_size": 0.25, "loss": loss, "leaf_refit": leaf_refit}
    one = MPGradientBoostingRegressor(**parameters).fit(X, y)
    reserved = np.flatnonzero(~np.isnan(one.oop_prediction_))
    shuffled = y.copy()
    shuffled[reserved] = shuffled[reserved][::-1]  # which leaves the baseline as it is
    other = MPGradientBoostingRegressor(**parameters).fit(X, shuffled)
    assert other.predict(X).tolist() == one.predict(X).tolist()
    assert other.oop_score_ < one.oop_score_ - 0.5


def test_reserved_rows_have_every_class_as_often_as_all():
    X, _ = make_data(1000)
    y = np.repeat([0, 1, 2], [700, 290, 10])
    model = MPGradientBoostingClassifier(**QUICK | {"n_estimators": 1, "oop_size": 0.1}).fit(X, y)
    known = ~np.isnan(model.observation_difficulty_)
    assert np.bincount(y[known]).tolist() == [70, 29, 1]


@pytest.mark.filterwarnings("ignore:This model is no better")
@pytest.mark.parametrize("leaf_refit", [True, False], ids=["refit", "patch"])
def test_out_of_patch_score_is_honest_about_noise(leaf_refit):
    X, _ = make_data(1000)
    y = np.random.default_rng(1).integers(0, 2, size=1000)
    parameters = QUICK | {"leaf_refit": leaf_refit, "max_samples": 300, "max_leaf_nodes": 31, "n_estimators": 200}
    model = MPGradientBoostingClassifier(**parameters).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.train_scores_[-1] > 0.8
    assert 0.44 < model.oop_score_ < 0.56


@pytest.mark.parametrize("leaf_refit", [True, False], ids=["refit", "patch"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_out_of_patch_score_is_near_that_on_new_rows(estimator, leaf_refit):
    X, y = make_data(3000, seed=1)
    model = fit(estimator, 2000, leaf_refit=leaf_refit, n_estimators=200, max_samples=300, random_state=1)
    assert model.oop_score_ == pytest.approx(model.score(X, make_target(estimator, y)), abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"oop_size": 400}, "cannot reserve 400 of 400"),
        ({"oop_size": 0.5, "n_models": 3}, "3 model\\(s\\)"),
        ({"oop_size": 500}, "cannot reserve 500 of 400"),
        ({"oop_size": 0, "stopping": "patience"}, "another oop_size"),
        ({"leaf_refit": False, "oop_size": 0, "n_models": 2}, "positive oop_size"),
        ({"oop_size": 1.0}, "'oop_size' parameter"),
        ({"oop_size": -1}, "'oop_size' parameter"),
        ({"oop_size": "all"}, "'oop_size' parameter"),
        ({"n_models": 0}, "'n_models' parameter"),
        ({"n_models": "all"}, "'n_models' parameter"),
        ({"n_models": 401}, "more than the number of rows"),
        ({"max_leaf_nodes": 1}, "'max_leaf_nodes' parameter"),
        ({"max_leaf_nodes": 65_536}, "'max_leaf_nodes' parameter"),
        ({"l2_regularization": -1.0}, "'l2_regularization' parameter"),
        ({"learning_rate": 0.0}, "'learning_rate' parameter"),
        ({"importance": "impurity"}, "'importance' parameter"),
        ({"stopping": "paper"}, "'stopping' parameter"),
        ({"max_samples": 401}, "max_samples=401"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    for estimator in ESTIMATORS:
        with pytest.raises(ValueError, match=message):
            fit(estimator, **parameters)


def test_validation_data_spare_reserved_rows():
    X, y = make_data()
    model = MPGradientBoostingRegressor(random_state=0, n_estimators=20).fit(X, y, X_val=X, y_val=y)
    assert np.isnan(model.oop_score_)
    assert model.n_models_ == 1
    assert (model.validation_losses_[1:] < model.validation_losses_[:-1]).all()


def test_stopping_is_not_late_where_there_is_nothing_to_learn():
    X, _ = make_data()
    model = MPGradientBoostingClassifier(random_state=0).fit(X, np.random.default_rng(3).integers(2, size=400))
    assert model.best_iteration_ <= 5 * 10  # ten trees of each model
    assert model.n_iter_ <= 5 * (10 + model.n_iter_no_change)


def test_stopping_cuts_to_the_least_loss():
    X, y = make_data()
    model = MPGradientBoostingRegressor(
        random_state=0, n_models=1, oop_size=0.3, n_iter_no_change=40, learning_rate=0.1
    )
    model.fit(X, y + np.random.default_rng(2).normal(size=400))
    assert model.stop_reason_ == "no better out-of-patch loss for 40 iterations"
    means = np.convolve(model.oop_losses_, np.full(2, 0.5), "valid")  # of the last twentieth of 40
    assert model.best_iteration_ == 2 + np.argmin(means)
    assert len(model._ensemble) == model.best_iteration_ < model.n_iter_
    np.testing.assert_allclose(
        model.oop_prediction_[~np.isnan(model.oop_prediction_)],
        model.predict(X)[~np.isnan(model.oop_prediction_)],
        atol=1e-5,
    )


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_stopping_publishes_the_state_of_the_best_tree(estimator, n_models):
    X, y = make_data()
    y = make_target(estimator, y + np.random.default_rng(2).normal(size=400))
    cut = estimator(random_state=0, n_models=n_models, n_iter_no_change=10, learning_rate=0.3).fit(X, y)
    assert 2 * n_models < cut.best_iteration_ < cut.n_iter_ - n_models
    ended = estimator(
        random_state=0, n_models=n_models, n_estimators=cut.best_iteration_, stopping=None, learning_rate=0.3
    ).fit(X, y)
    np.testing.assert_array_equal(cut.observation_probabilities_, ended.observation_probabilities_)
    np.testing.assert_array_equal(get_oop(cut), get_oop(ended))


# Trees


def find_shapes(model):
    """Give the number of leaves, and the depth, of each tree."""
    forest = model._ensemble.forest
    shapes = []
    for splits in np.split(np.frombuffer(forest.splits.tobytes(), dtype=SPLIT_DTYPE), forest.split_offsets[1:-1]):
        depths = np.zeros(len(splits) + 1, dtype=int)
        for k, split in enumerate(splits):
            for child in (split["left"], split["right"]):
                if child >= 0:
                    depths[child] = depths[k] + 1
        shapes.append((len(splits) + 1, depths[: len(splits)].max(initial=-1) + 1))
    return np.array(shapes)


def test_limits_of_trees_are_kept():
    assert find_shapes(fit(max_leaf_nodes=7))[:, 0].max() == 7
    assert find_shapes(fit(max_depth=2))[:, 1].max() == 2
    assert find_shapes(fit(max_leaf_nodes=None, min_samples_leaf=1))[:, 0].max() > 100
    assert find_shapes(fit(min_samples_leaf=150, oop_size=0, max_samples=400))[:, 0].max() <= 2


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"adaptive_observations": False},
        {"adaptive_features": False},
        {"importance": "gain"},
        {"leaf_refit": False},
        {"l2_regularization": 0.0},
        {"max_leaf_nodes": None},
        {"observation_exploration": 0.0},
        {"max_samples": 1.0, "n_models": 1},
    ],
    ids=str,
)
def test_models_learn_with(estimator, parameters):
    model = fit(estimator, 1000, max_features=2, n_estimators=200, **parameters)
    X, y = make_data(1000, seed=1)
    assert model.score(X, make_target(estimator, y)) > 0.8
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert sorted(np.argsort(model.feature_importances_)[-2:]) == [0, 1]
    uniform = np.ptp(model.feature_probabilities_) == 0
    assert uniform == ("adaptive_features" in parameters)


def test_rows_are_drawn_alike_unless_they_adapt():
    X, y = make_data()
    y[:20] += 1000.0
    shares = []
    for adaptive in (True, False):
        watcher = Watcher()
        parameters = QUICK | {"max_samples": 40, "oop_size": 0, "n_models": 1, "loss": "squared_error"}
        MPGradientBoostingRegressor(**parameters, adaptive_observations=adaptive, callbacks=[watcher]).fit(X, y)
        shares.append(np.mean([np.mean(rows < 20) for _, rows in watcher.patches]))
    assert shares[0] > 0.15
    assert shares[1] == pytest.approx(0.05, abs=0.02)


def test_importances_where_all_rows_are_drawn_are_those_of_the_minipatch():
    X, y = make_data(60)
    parameters = QUICK | {"adaptive_observations": False, "max_samples": 1.0, "oop_size": 0, "n_estimators": 5}
    by_others, by_gain = (
        MPGradientBoostingRegressor(**parameters, importance=importance).fit(X, y)
        for importance in ("out_of_patch", "gain")
    )
    np.testing.assert_array_equal(by_others.feature_importances_, by_gain.feature_importances_)


# Odd data


@pytest.mark.parametrize("leaf_refit", [True, False], ids=["refit", "patch"])
@pytest.mark.parametrize("n_samples", [2, 3, 4, 7])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_few_rows_are_enough(estimator, n_samples, leaf_refit):
    X = np.arange(n_samples, dtype=float)[:, None]
    model = estimator(n_estimators=30, random_state=0, leaf_refit=leaf_refit).fit(X, np.arange(n_samples) % 2)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.oop_score_)


def test_one_row_is_enough_where_nothing_stops():
    with pytest.raises(ValueError, match="n_samples=1"):
        MPGradientBoostingRegressor().fit([[0.0]], [3.0])
    for leaf_refit in (True, False):
        model = MPGradientBoostingRegressor(n_estimators=3, stopping=None, leaf_refit=leaf_refit).fit([[0.0]], [3.0])
        assert model.predict([[1.0]]) == 3.0


def test_features_that_are_constant_teach_the_mean():
    X, y = np.zeros((50, 2)), np.arange(50) % 5 == 0
    np.testing.assert_allclose(fit_to(MPGradientBoostingClassifier, X, y).predict_proba(X)[:, 1], 0.2, atol=1e-3)
    np.testing.assert_allclose(fit_to(MPGradientBoostingRegressor, X, y).predict(X), 0.2, atol=1e-3)


def fit_to(estimator, X, y, **parameters):
    return estimator(**QUICK | {"oop_size": 0} | parameters).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma"])
@pytest.mark.parametrize("value", [0.1, 1e30, 1e-300])
def test_numbers_that_are_all_the_same_are_learned(loss, value):
    X, _ = make_data(50)
    model = MPGradientBoostingRegressor(random_state=0, n_estimators=30, loss=loss).fit(X, np.full(50, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-6)
    assert model.oop_score_ == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
@pytest.mark.parametrize(
    ("scale", "shift"), [(1e30, 0.0), (1e-300, 0.0), (1e-310, 0.0), (1e-3, 1e6), (1e99, 0.0)], ids=str
)
def test_numbers_of_any_size_are_learned(loss, scale, shift):
    X, y = make_data(300)
    model = MPGradientBoostingRegressor(random_state=0, loss=loss, n_estimators=300).fit(X, scale * y + shift)
    assert np.corrcoef((model.predict(X) - shift) / scale, y)[0, 1] > 0.95


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        MPGradientBoostingClassifier().fit(np.zeros((5, 1)), np.ones(5))


def test_classes_of_one_row_are_known():
    X, _ = make_data(200)
    y = np.r_[np.arange(198) % 2, 2, 3]
    X[:, 0] = y
    for n_models in ("auto", 1):
        model = fit_to(MPGradientBoostingClassifier, X, y, oop_size="auto", n_models=n_models)
        assert model.predict_proba(X).shape == (200, 4)
        assert (model.predict(X)[:-2] == y[:-2]).all()
        assert np.isfinite(model.oop_losses_).all()


@pytest.mark.slow
def test_hundreds_of_classes_are_learned():
    rng = np.random.default_rng(0)
    y = np.arange(1800) % 300
    X = np.column_stack([y % 20, y // 20, rng.normal(size=1800)]).astype(float)
    parameters = {"n_models": 1, "oop_size": 300, "n_estimators": 60, "learning_rate": 0.5, "max_leaf_nodes": None}
    model = fit_to(MPGradientBoostingClassifier, X, y, **parameters, min_samples_leaf=1)
    np.testing.assert_allclose(model.predict_proba(X[:10]).sum(axis=1), 1.0)
    assert model.oop_score_ > 0.2  # by chance it were a third of a percent


def test_weights_that_hardly_differ_from_nothing_do_no_harm():
    X, y = make_data(300)
    weights = np.where(np.arange(300) < 150, 1e-200, 1.0)
    y[:150] = 1e50
    model = MPGradientBoostingRegressor(random_state=0, n_estimators=200).fit(X, y, weights)
    assert model.score(X[150:], y[150:]) > 0.7


def test_fits_that_differ_in_their_seed_differ():
    X, _ = make_data()
    one, other = (fit(random_state=seed).predict(X) for seed in (0, 1))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(("n_samples", "n_drawn"), [(10, 10), (1000, 100), (997, 331), (50, 0)])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_draw_shares_takes_about_the_same_share_of_each_class(n_samples, n_drawn, n_classes):
    codes = np.random.default_rng(0).integers(n_classes, size=n_samples).astype(np.uint16)
    rows = draw_shares(codes, n_samples, n_drawn, seed=3)
    assert len(set(rows.tolist())) == len(rows) == n_drawn
    sizes = np.bincount(codes, minlength=n_classes)
    assert (np.abs(np.bincount(codes[rows], minlength=n_classes) - sizes * n_drawn / n_samples) < 1).all()
    assert (np.diff(codes[rows].astype(int)) >= 0).all()
    assert n_drawn in (0, n_samples) or set(rows) != set(draw_shares(codes, n_samples, n_drawn, seed=4))
