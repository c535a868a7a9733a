"""Effects of features are scikit-learn's partial dependence, for every model and table; the display draws them."""

import re
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import mpboost
from mpboost import (
    EffectsDisplay,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    compute_effects,
)
from mpboost.inspection.effects import MAX_CATEGORIES, MAX_POINTS, find_direction
from tests.support.pictures import draw, each_task, fit


def make_numbers(n_rows=300, dtype=np.float64):
    """Numbers, some of them missing or equal, and a target that depends on three of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6)).astype(dtype)
    X[:, 1] = rng.integers(0, 5, n_rows)
    y = X[:, 0] - X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.normal(size=n_rows)
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    return X, y


def make_frame(n_rows=400):
    """A frame with numbers, categories of text and missing values."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "colour": rng.choice(["red", "green", "blue"], n_rows, p=[0.6, 0.3, 0.1]),
            "town": rng.choice([f"town {k}" for k in range(40)], n_rows),
        }
    )
    y = np.where(X["size"] + (X["colour"] == "red") + 0.3 * rng.normal(size=n_rows) > 0.5, "yes", "no")
    X.loc[rng.random(n_rows) < 0.1, "colour"] = None
    return X.astype({"colour": "category", "town": "category"}), y


def average_by_scikit_learn(model, X, effect):
    """Compute the partial dependence at the points of an effect, of the classes of its curves."""
    column = effect.name if hasattr(X, "columns") else effect.feature
    values = np.array([np.nan if value is None else value for value in effect.values])
    response = "predict_proba" if hasattr(model, "classes_") else "auto"
    found = partial_dependence(
        model, X, [column], custom_values={column: values}, method="brute", response_method=response
    )["average"]
    if len(found) == 1:
        return found
    return found[np.searchsorted(model.classes_, [curve.label for curve in effect.curves])]


def assert_is_partial_dependence(model, X, effects):
    for effect in effects:
        means = [curve.means for curve in effect.curves]
        np.testing.assert_allclose(means, average_by_scikit_learn(model, X, effect), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [MPBoostRegressor, MPGradientBoostingRegressor])
def test_effects_of_numbers_are_partial_dependence(estimator):
    X, y = make_numbers()
    model = fit(estimator, X, y)
    assert_is_partial_dependence(model, X, compute_effects(model, X))


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_effects_on_two_classes_are_partial_dependence(estimator):
    X, y = make_numbers()
    model = fit(estimator, X, np.where(y > 0, "yes", "no"))
    effects = compute_effects(model, X)
    assert [curve.label for effect in effects for curve in effect.curves] == ["yes"] * 6
    assert_is_partial_dependence(model, X, effects)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (MPBoostClassifier, {}),
        (MPBoostClassifier, {"multiclass": "oc"}),
        (MPBoostClassifier, {"multiclass": "m2"}),
        (MPGradientBoostingClassifier, {}),
    ],
    ids=["margin", "colours", "confusion", "gradients"],
)
def test_effects_on_many_classes_are_partial_dependence_of_the_most_frequent(estimator, parameters):
    X, y = make_numbers()
    labels = np.array(list("abcde"))[np.searchsorted([-3, -2, 0, 1], y)]
    model = fit(estimator, X, labels, **parameters)
    effects = compute_effects(model, X, n_features=4)
    names, counts = np.unique(labels, return_counts=True)
    assert [curve.label for curve in effects[0].curves] == names[np.argsort(-counts, kind="stable")[:3]].tolist()
    assert_is_partial_dependence(model, X, effects)


@pytest.mark.parametrize(
    ("estimator", "weak", "target"),
    [
        (MPBoostClassifier, DecisionTreeClassifier(max_depth=3), lambda y: y > 0),
        (MPBoostClassifier, DecisionTreeClassifier(max_depth=3), lambda y: np.searchsorted([-2, 0, 1], y)),
        (MPBoostRegressor, LinearRegression(), lambda y: y),
    ],
    ids=["two classes", "many classes", "numbers"],
)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_effects_with_given_weak_learners_are_partial_dependence(estimator, weak, target, convert):
    X, y = make_numbers()
    X = np.nan_to_num(X).round(1)
    model = fit(partial(estimator, estimator=weak), convert(X), target(y), max_features=2)
    effects = compute_effects(model, convert(X))
    assert_is_partial_dependence(model, X, effects)


@pytest.mark.parametrize(
    "convert",
    [sparse.csr_array, sparse.csc_array, np.asfortranarray, np.float32, pd.DataFrame],
    ids=["csr", "csc", "fortran", "single", "frame"],
)
def test_effects_are_those_of_the_dense_table(convert):
    X, y = make_numbers(dtype=np.float32)
    X = X.astype(np.float64)
    X[:, 3:] = 0.0
    X[::7, 4] = 1.0
    model = fit(MPGradientBoostingRegressor, X, y)
    expected = compute_effects(model, X)
    given = convert(X)
    for one, other in zip(compute_effects(fit(MPGradientBoostingRegressor, given, y), given), expected, strict=True):
        assert one.feature == other.feature
        assert one.values == other.values
        np.testing.assert_array_equal(one.curves[0].means, other.curves[0].means)


def test_effect_of_a_feature_that_no_tree_uses_is_flat():
    X, y = make_numbers()
    X[:, 5] = 0.0
    for table in (X, sparse.csr_array(np.nan_to_num(X))):
        effect = compute_effects(fit(MPBoostRegressor, table, y), table, 5)[0]
        assert (effect.values, effect.shares.tolist(), effect.curves[0].direction) == ((0.0,), [1.0], "flat")


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_effects_of_categories_are_partial_dependence(estimator):
    X, y = make_frame()
    model = fit(estimator, X, y)
    effect = compute_effects(model, X, "colour")[0]
    assert effect.kind == "category"
    assert effect.values == ("red", "green", "blue", None)
    counts = X["colour"].value_counts()
    assert effect.shares.tolist() == [counts[name] / len(X) for name in effect.values[:3]] + [X["colour"].isna().mean()]
    for value, mean in zip(effect.values, effect.curves[0].means, strict=True):
        changed = X.assign(colour=pd.Categorical([value] * len(X), categories=["red", "green", "blue"]))
        assert mean == pytest.approx(model.predict_proba(changed)[:, 1].mean(), abs=1e-12)
    assert effect.curves[0].direction == "differs"


def test_effects_of_many_categories_are_those_of_the_most_frequent():
    X, y = make_frame()
    effect = compute_effects(fit(MPBoostClassifier, X, y), X, "town")[0]
    counts = X["town"].value_counts(sort=False).sort_values(ascending=False, kind="stable")
    assert effect.values == tuple(counts.index[:MAX_CATEGORIES])
    assert effect.shares.sum() < 1


def test_effects_know_categories_that_were_too_rare():
    X, y = make_frame()
    effect = compute_effects(fit(MPBoostClassifier, X, y, max_bins=5), X, "town")[0]
    assert len(effect.values) == 5
    assert effect.values[0] == "(other)"
    assert effect.shares.sum() == pytest.approx(1)


def test_effects_of_categories_that_are_all_missing_are_flat():
    X, y = make_frame()
    X["colour"] = pd.Categorical([None] * len(X), categories=["red"])
    effect = compute_effects(fit(MPBoostClassifier, X, y), X, "colour")[0]
    assert (effect.kind, effect.values, effect.curves[0].direction) == ("category", (None,), "flat")


def test_effects_count_all_rows_at_their_points():
    X, y = make_numbers(2000)
    for effect in compute_effects(fit(MPBoostRegressor, X, y), X):
        assert len(effect.values) <= MAX_POINTS + 1
        assert len(effect.values) == len(effect.shares) == len(effect.curves[0].means)
        assert effect.shares.sum() == pytest.approx(1)
        known = [value for value in effect.values if value is not None]
        assert known == sorted(set(known))
        assert set(known) <= set(X[:, effect.feature].tolist())
    assert compute_effects(fit(MPBoostRegressor, X, y), X, 1)[0].values == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_effects_have_a_point_for_missing_values_where_they_occur():
    X, y = make_numbers()
    model = fit(MPBoostRegressor, X, y)
    effect = compute_effects(model, X, 2)[0]
    assert effect.values[-1] is None
    assert effect.shares[-1] == np.isnan(X[:, 2]).mean()
    assert None not in compute_effects(model, np.nan_to_num(X), 2)[0].values


def test_effects_are_computed_from_the_same_rows_whatever_the_random_state():
    X, y = make_numbers(3000)
    model = fit(MPBoostRegressor, X, y)
    first = compute_effects(model, X, 0)[0]
    np.random.seed(7)  # noqa: NPY002
    second = compute_effects(model.set_params(random_state=5), X, 0)[0]
    np.testing.assert_array_equal(first.curves[0].means, second.curves[0].means)
    assert np.allclose(first.shares * 1000, (first.shares * 1000).round())


@each_task
def test_effects_are_the_same_for_any_number_of_threads(models, data, task):
    model, X = models[task], data[task][1]
    one = compute_effects(model.set_params(n_jobs=1), X, n_features=4)
    three = compute_effects(model.set_params(n_jobs=3), X, n_features=4)
    model.set_params(n_jobs=None)
    for a, b in zip(one, three, strict=True):
        for left, right in zip(a.curves, b.curves, strict=True):
            np.testing.assert_array_equal(left.means, right.means)
            np.testing.assert_array_equal(left.low, right.low)


@each_task
def test_effects_leave_the_model_as_it_was(models, data, task):
    model, X = models[task], data[task][1]
    before = model.predict(X)
    compute_effects(model, X, n_features=2)
    np.testing.assert_array_equal(model.predict(X), before)


def test_effects_take_the_likeliest_features_and_then_the_most_important():
    X, y = make_numbers()
    model = fit(MPBoostRegressor, X, y)
    ranked = np.argsort(-model.feature_probabilities_, kind="stable")
    assert [effect.feature for effect in compute_effects(model, X, n_features=3)] == ranked[:3].tolist()
    model = fit(MPBoostRegressor, X, y, adaptive_features=False)
    ranked = np.argsort(-model.feature_importances_, kind="stable")
    assert [effect.feature for effect in compute_effects(model, X, n_features=3)] == ranked[:3].tolist()


def test_effects_have_the_names_of_the_table():
    X, y = make_frame()
    model = fit(MPBoostClassifier, X, y)
    assert [effect.name for effect in compute_effects(model, X, ["town", 0])] == ["town", "size"]
    X, y = make_numbers()
    assert compute_effects(fit(MPBoostRegressor, X, y), X, 3)[0].name == "feature 3"


def test_spread_is_wide_where_features_interact():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (500, 3))
    model = fit(MPGradientBoostingRegressor, X, X[:, 0] * X[:, 1] + X[:, 2], n_estimators=100)
    first, _, third = compute_effects(model, X, [0, 1, 2])
    width, mean = first.curves[0].high - first.curves[0].low, np.ptp(first.curves[0].means)
    assert mean < 0.5 < 1.0 < width.min()
    assert np.max(third.curves[0].high - third.curves[0].low) < 0.5 < np.ptp(third.curves[0].means)


def test_spread_of_probabilities_stays_between_0_and_1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    model = fit(MPGradientBoostingClassifier, X, X[:, 0] + X[:, 1] > 0, n_estimators=200)
    for effect in compute_effects(model, X):
        assert effect.curves[0].low.min() == 0.0
        assert effect.curves[0].high.max() == 1.0


def test_direction_does_not_count_missing_values():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (500, 2))
    y = X[:, 0].copy()
    X[::5, 0], y[::5] = np.nan, -1.0
    effect = compute_effects(fit(MPGradientBoostingRegressor, X, y, n_estimators=200), X, 0)[0]
    assert effect.curves[0].means[-1] < effect.curves[0].means[:-1].min()
    assert effect.curves[0].direction == "rises"


@pytest.mark.parametrize(
    ("means", "direction"),
    [
        ([1, 2, 3], "rises"),
        ([1, 2.9, 2.6, 3], "rises"),
        ([3, 2, 1], "falls"),
        ([3, 2.7, 2.9, 1], "falls"),
        ([1, 2, 3, 2, 1], "rises then falls"),
        ([3, 1, 1.2, 2.9], "falls then rises"),
        ([1, 3, 1, 3], "mixed"),
        ([2, 2.04], "flat"),
        ([2], "flat"),
        ([], "flat"),
    ],
)
def test_direction_follows_its_rule(means, direction):
    assert find_direction(np.array(means, dtype=float), 1.0) == direction


def test_directions_of_known_targets_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 4))
    y = 2 * X[:, 0] - 2 * X[:, 1] - 4 * X[:, 2] ** 2
    model = fit(MPGradientBoostingRegressor, X, y, n_estimators=200)
    found = [effect.curves[0].direction for effect in compute_effects(model, X, [0, 1, 2, 3])]
    assert found == ["rises", "falls", "rises then falls", "flat"]


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ("depth", ValueError, "no feature 'depth'. It has \\['size', 'colour', 'town'\\]"),
        (3, ValueError, "from 0 to 2, not 3"),
        ([], ValueError, "features is empty"),
        ([1.5], TypeError, "names or columns of features, not 1.5"),
        ([True], TypeError, "names or columns of features, not True"),
    ],
    ids=["name", "column", "none", "number", "mask"],
)
def test_effects_refuse_features_that_the_model_does_not_have(features, error, message):
    X, y = make_frame()
    with pytest.raises(error, match=message):
        compute_effects(fit(MPBoostClassifier, X, y), X, features)


def test_effects_refuse_names_for_a_model_without_names():
    X, y = make_numbers()
    with pytest.raises(ValueError, match="trained on a table without names: pass columns"):
        compute_effects(fit(MPBoostRegressor, X, y), X, "size")


def test_effects_refuse_what_is_no_fitted_model():
    X, y = make_numbers()
    with pytest.raises(NotFittedError):
        compute_effects(MPBoostRegressor(), X)
    with pytest.raises(TypeError, match="not LinearRegression"):
        compute_effects(LinearRegression().fit(np.nan_to_num(X), y), X)
    with pytest.raises(ValueError, match="6 features"):
        compute_effects(fit(MPBoostRegressor, X, y), X[:, :4])


def test_effects_of_a_loaded_model_are_the_same(tmp_path):
    X, y = make_frame()
    model = fit(MPBoostClassifier, X, y)
    mpboost.save_model(model, tmp_path / "model.mpb")
    for one, other in zip(
        compute_effects(model, X), compute_effects(mpboost.load_model(tmp_path / "model.mpb"), X), strict=True
    ):
        assert one.values == other.values
        np.testing.assert_array_equal(one.curves[0].means, other.curves[0].means)


@each_task
def test_display_draws_a_curve_for_each_feature_and_class(models, data, task):
    display = EffectsDisplay.from_estimator(models[task], data[task][1], n_features=4)
    draw(display)
    n_curves = 3 if task == "many classes" else 1
    assert [len(lines) for lines in display.lines_] == [n_curves] * 4
    assert bool(display.figure_.legends) == (n_curves > 1)
    assert len(display.ax_) == 4
    for lines, effect in zip(display.lines_, display.effects, strict=True):
        for line, curve in zip(lines, effect.curves, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), effect.values)
            np.testing.assert_array_equal(line.get_ydata(), curve.means)


def test_display_sorts_categories_by_effect_and_names_missing_values():
    X, y = make_frame()
    display = EffectsDisplay.from_estimator(fit(MPGradientBoostingClassifier, X, y, n_estimators=60), X, ["colour"])
    draw(display)
    effect, axes = display.effects[0], display.ax_[0]
    order = np.argsort(effect.curves[0].means)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["missing" if effect.values[k] is None else effect.values[k] for k in order]
    assert display.lines_[0][0].get_xdata().tolist() == sorted(effect.curves[0].means)
    assert axes.get_title() == "colour: differs"


def test_display_has_one_scale_for_all_features():
    X, y = make_frame()
    display = EffectsDisplay.from_estimator(fit(MPBoostClassifier, X, y), X)
    draw(display)
    kinds = {effect.name: axes for effect, axes in zip(display.effects, display.ax_, strict=True)}
    assert kinds["colour"].get_xlim() == kinds["town"].get_xlim()
    assert kinds["size"].get_ylim()[1] == kinds["town"].get_xlim()[1]
    low, high = kinds["town"].get_xlim()
    for effect in display.effects:
        assert low <= effect.curves[0].low.min() <= effect.curves[0].high.max() <= high


def test_display_draws_missing_values_beside_the_curve():
    X, y = make_numbers()
    display = EffectsDisplay.from_estimator(fit(MPBoostRegressor, X, y), X, [2])
    draw(display)
    axes, curve = display.ax_[0], display.effects[0].curves[0]
    marks = [line for line in axes.lines if line.get_marker() == "D"]
    assert [line.get_ydata()[0] for line in marks] == [curve.means[-1]]
    assert marks[0].get_xdata()[0] > display.lines_[0][0].get_xdata().max()
    assert "missing" in [text.get_text() for text in axes.texts]


def test_display_of_many_zeros_begins_at_zero():
    _, y = make_numbers()
    X = np.c_[np.r_[np.zeros(200), np.geomspace(1, 1e6, 100)], y]
    axes = EffectsDisplay.from_estimator(fit(MPGradientBoostingRegressor, X, y), X, 0).ax_[0]
    assert axes.get_xscale() == "function"
    assert axes.get_xlim()[0] == 0.0


@pytest.mark.parametrize(
    "column",
    [
        np.where(np.arange(300) % 3, np.inf, -np.inf),
        np.full(300, np.nan),
        np.geomspace(1e-300, 1e300, 300),
        np.r_[np.zeros(200), np.geomspace(1, 1e6, 100)],
        np.arange(300) + 1.7e18,
        np.arange(300) % 2 == 0,
    ],
    ids=["infinite", "missing", "huge", "many zeros", "times", "true or false"],
)
def test_display_and_report_draw_odd_numbers(column):
    _, y = make_numbers()
    X = pd.DataFrame({"odd": column, "y": y})
    model = fit(MPGradientBoostingRegressor, X, y)
    draw(EffectsDisplay.from_estimator(model, X, "odd"))
    page = mpboost.report(model, X, y).html()
    assert not re.search(r'[",]-?(nan|inf)\b', page[page.index('id="effects"') : page.index('id="rows"')])


def test_display_takes_axes_of_the_user():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = make_numbers()
    model = fit(MPBoostRegressor, X, y)
    figure, (left, right) = plt.subplots(1, 2)
    display = EffectsDisplay.from_estimator(model, X, [0, 1], ax=[left, right])
    assert display.figure_ is figure
    assert EffectsDisplay.from_estimator(model, X, 0, ax=left).ax_[0] is left
    with pytest.raises(ValueError, match="1 axes for 2 features"):
        display.plot(ax=left)


def test_display_refuses_what_are_no_effects():
    with pytest.raises(ValueError, match="one or more FeatureEffect"):
        EffectsDisplay([])
    with pytest.raises(ValueError, match="one or more FeatureEffect"):
        EffectsDisplay(["size"])


def test_display_says_what_to_install(monkeypatch):
    X, y = make_numbers()
    effects = compute_effects(fit(MPBoostRegressor, X, y), X, 0)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mpboost\[plot\]'"):
        EffectsDisplay(effects).plot()
