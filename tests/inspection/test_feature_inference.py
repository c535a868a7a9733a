"""Feature inference finds useful features, leaves noise alone, and refuses what it cannot be valid for."""

import re
from html import escape

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mpboost import (
    BinnedDataset,
    FeatureInference,
    FeatureInferenceDisplay,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    infer_features,
)
from mpboost.inspection.drawing import COLOURS
from mpboost.inspection.feature_inference import _pair_rows, adjust_p_values

mpl.use("agg")


def make_table(kind="two classes", n_rows=300, n_features=8, seed=0):
    """Independent numbers, of which the first two tell the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    score = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_rows)
    if kind == "numbers":
        return X, score
    edges = [0.0] if kind == "two classes" else [-0.7, 0.7]
    return X, np.array(["low", "middle", "top"])[np.digitize(score, edges)]


def make_estimator(y, **params):
    cls = MPBoostRegressor if np.asarray(y).dtype.kind == "f" else MPBoostClassifier
    return cls(**{"n_estimators": 500, "random_state": 0} | params)


def make_inference(importance=(0.5, 0.1, -0.1), p_value=(0.0, 0.04, 0.9)):
    importance, p_value = np.array(importance), np.array(p_value)
    names = tuple(f"<{k}>" for k in range(len(importance)))
    errors = np.full(len(importance), 0.1)
    margins = 2 * errors
    adjusted = adjust_p_values(p_value)
    bounds = importance - margins, importance + margins
    return FeatureInference(names, importance, errors, *bounds, p_value, adjusted, 0.95, "R^2", 500, 1200)


@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
def test_inference_finds_the_features_that_tell_the_target(kind):
    X, y = make_table(kind)
    found = infer_features(make_estimator(y), X, y)
    assert set(np.flatnonzero(found.adjusted_p_value < 0.05)) == {0, 1}
    assert set(found.rank()[:2]) == {0, 1}
    assert found.importance[:2].min() > 5 * np.abs(found.importance[2:]).max()
    assert found.measure == ("R^2" if kind == "numbers" else "share of right votes")
    assert (found.n_samples, found.n_learners, len(found)) == (300, 500, 8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_inference_calls_few_noise_features_useful(kind):
    p_values = []
    for seed in range(25):
        X, y = make_table(kind, n_rows=200, n_features=12, seed=seed)
        p_values.append(infer_features(make_estimator(y, n_estimators=600, random_state=seed), X, y).p_value[2:])
    rejected = np.mean(np.array(p_values) < 0.05)
    assert 0.015 <= rejected <= 0.1  # of 250 tests at 5 %
    assert 0.35 <= np.mean(p_values) <= 0.65


def test_inference_interval_is_symmetric_and_wider_for_more_coverage():
    X, y = make_table()
    narrow, wide = (infer_features(make_estimator(y), X, y, coverage=coverage) for coverage in (0.8, 0.99))
    np.testing.assert_allclose(narrow.importance, wide.importance)
    np.testing.assert_allclose((narrow.high + narrow.low) / 2, narrow.importance)
    np.testing.assert_allclose(narrow.high - narrow.low, 2 * 1.2816 * narrow.standard_error, rtol=1e-4)
    np.testing.assert_allclose(wide.high - wide.low, 2 * 2.5758 * wide.standard_error, rtol=1e-4)


def test_inference_is_the_same_for_a_seed_and_any_number_of_threads():
    X, y = make_table()
    first, second = (infer_features(make_estimator(y, n_jobs=n_jobs), X, y) for n_jobs in (1, 2))
    np.testing.assert_allclose(first.importance, second.importance, rtol=1e-6)
    other = infer_features(make_estimator(y, random_state=1), X, y)
    assert not np.allclose(first.importance, other.importance)


def test_inference_leaves_the_estimator_as_it_was():
    X, y = make_table()
    estimator = make_estimator(y)
    before = estimator.get_params()
    infer_features(estimator, X, y)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "n_features_in_")


def test_inference_has_narrower_intervals_with_more_learners():
    X, y = make_table()
    few, many = (infer_features(make_estimator(y, n_estimators=n), X, y) for n in (400, 1600))
    assert many.standard_error.mean() < 0.9 * few.standard_error.mean()


@pytest.mark.slow
def test_inference_reads_frames_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 400)
    size = rng.normal(size=400)
    y = (colour == "red") + 0.5 * np.isnan(np.where(size > 1, np.nan, size)) + 0.1 * rng.normal(size=400)
    X = pd.DataFrame({"noise": rng.normal(size=400), "colour": colour, "size": np.where(size > 1, np.nan, size)})
    X["shape"] = pd.Categorical(rng.choice(["round", "flat", None], 400))
    found = infer_features(make_estimator(y), X, y)
    assert found.features == ("noise", "colour", "size", "shape")
    assert [found.features[k] for k in found.rank()[:2]] == ["colour", "size"]
    assert (found.adjusted_p_value < 0.01).tolist() == [False, True, True, False]
    polars = pytest.importorskip("polars")
    np.testing.assert_allclose(infer_features(make_estimator(y), polars.from_pandas(X), y).p_value, found.p_value)


def test_inference_uses_categories_that_are_named():
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.integers(0, 6, 400), rng.normal(size=(400, 3))]), rng.integers(0, 2, 400)
    y[np.isin(X[:, 0], [0, 2, 5])] = 1
    found = infer_features(make_estimator(y, categorical_features=[0]), X, y)
    assert found.rank()[0] == 0
    assert found.p_value[0] < 1e-3


def test_inference_reads_sparse_matrices_like_arrays():
    X, y = make_table()
    X[np.abs(X) < 0.5] = 0.0
    dense, thin = (infer_features(make_estimator(y), table, y) for table in (X, sparse.csc_matrix(X)))
    np.testing.assert_allclose(thin.importance, dense.importance, rtol=1e-5, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_inference_works_with_given_estimators(kind):
    X, y = make_table(kind)
    learner = DecisionTreeRegressor(max_depth=3) if kind == "numbers" else DecisionTreeClassifier(max_depth=3)
    found = infer_features(make_estimator(y, estimator=learner, n_estimators=300), X, y)
    assert set(found.rank()[:2]) == {0, 1}


def test_inference_reads_the_colours_of_oc():
    X, y = make_table("three classes")
    found = infer_features(make_estimator(y, multiclass="oc", n_estimators=800), X, y)
    assert set(np.flatnonzero(found.adjusted_p_value < 0.05)) == {0, 1}


def test_inference_of_a_single_feature():
    X, y = make_table()
    assert infer_features(make_estimator(y), X[:, :1], y).p_value[0] < 1e-4
    assert infer_features(make_estimator(y), X[:, 5:6], y).p_value[0] > 0.01


def test_groups_of_one_are_features():
    X, y = make_table()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    single = infer_features(make_estimator(y), frame, y)
    grouped = infer_features(make_estimator(y), frame, y, groups={"first": ["a"], "third": [2], "again": "a"})
    assert grouped.features == ("first", "third", "again")
    np.testing.assert_allclose(grouped.importance, single.importance[[0, 2, 0]], rtol=1e-6)


@pytest.mark.slow
def test_groups_show_what_features_that_say_the_same_hide():
    X, y = make_table("numbers")
    X[:, 2:4] = X[:, :1] + 0.1 * np.random.default_rng(1).normal(size=(300, 2))  # as good as the first one
    estimator = make_estimator(y, n_estimators=1500)
    single = infer_features(estimator, X, y)
    grouped = infer_features(estimator, X, y, groups={"same": [0, 2, 3], "noise": [5, 6, 7]})
    assert grouped.importance[0] > 1.5 * single.importance[[0, 2, 3]].max()
    assert grouped.p_value[0] < 1e-4 < 0.01 < grouped.p_value[1]


@pytest.mark.parametrize("class_weight", ["balanced", {"low": 0, "middle": 1, "top": 1}, {"low": 1e6}], ids=str)
def test_inference_does_not_use_class_weights(class_weight):
    X, y = make_table("three classes")
    plain, weighted = (infer_features(make_estimator(y, class_weight=each), X, y) for each in (None, class_weight))
    np.testing.assert_array_equal(weighted.importance, plain.importance)
    np.testing.assert_array_equal(weighted.p_value, plain.p_value)


class Unusable:
    """A rule of all kinds that must not be called."""

    def _refuse(self, *seen):
        raise AssertionError("called")

    log_weight = credit_features = update_probabilities = _refuse


class UnusableForRows:
    """A rule about rows that must not be called."""

    def log_weight_rows(self, rows):
        raise AssertionError("called")


@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
@pytest.mark.parametrize(
    "params",
    [{name: Unusable()} for name in ("weighting", "importance", "feature_update")] + [{"weighting": UnusableForRows()}],
    ids=["weighting", "importance", "feature_update", "weighting of rows"],
)
def test_inference_does_not_call_rules_of_the_user(kind, params):
    X, y = make_table(kind, n_rows=100, n_features=4)
    plain, ruled = (infer_features(make_estimator(y, n_estimators=200, **each), X, y) for each in ({}, params))
    np.testing.assert_array_equal(ruled.importance, plain.importance)


@pytest.mark.parametrize("params", [{"weighting": 3}, {"importance": 3}, {"class_weight": 3}], ids=str)
def test_inference_refuses_odd_parameters_that_it_does_not_use(params):
    X, y = make_table()
    with pytest.raises(ValueError, match=next(iter(params))):
        infer_features(make_estimator(y, **params), X, y)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 10, 11])
def test_rows_of_copies_change_places_in_pairs(n_rows):
    order = _pair_rows(n_rows, seed=3)
    assert order[order].tolist() == list(range(n_rows))
    assert np.count_nonzero(order == np.arange(n_rows)) == n_rows % 2


@pytest.mark.parametrize("cls", [MPGradientBoostingClassifier, MPGradientBoostingRegressor])
def test_inference_refuses_gradient_boosting(cls):
    X, y = make_table()
    instead = cls.__name__.replace("GradientBoosting", "Boost")
    with pytest.raises(
        TypeError, match=rf"{cls.__name__} cannot .* each of its trees depends .* Pass an {instead}\(\)"
    ):
        infer_features(cls(), X, y)


def test_inference_refuses_pipelines_and_datasets():
    X, y = make_table()
    with pytest.raises(TypeError, match=r"not Pipeline\. For a pipeline, pass the estimator inside it"):
        infer_features(make_pipeline(StandardScaler(), MPBoostClassifier()), X, y)
    with pytest.raises(TypeError, match="needs the table itself, not a BinnedDataset"):
        infer_features(MPBoostClassifier(), BinnedDataset.__new__(BinnedDataset), y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_features": 1.0}, "max_features=1.0 puts all features into every minipatch"),
        ({"max_features": 8}, "max_features=8 puts all features"),
        ({"max_samples": 300}, "max_samples=300 puts all rows into every minipatch"),
        ({"max_features": 9}, "max_features=9 is more than the 8"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_inference_refuses_sizes_that_leave_nothing_to_compare(params, message):
    X, y = make_table()
    with pytest.raises(ValueError, match=message):
        infer_features(make_estimator(y, **params), X, y)


def test_inference_tells_how_many_learners_it_needs():
    X, y = make_table()
    with pytest.raises(
        ValueError, match=r"Too few learners .* feature 0.* has 40 learners with 4 columns each"
    ) as refusal:
        infer_features(make_estimator(y, n_estimators=40), X, y)
    advised = int(re.search(r"choose n_estimators=(\d+) or more", str(refusal.value))[1])
    assert len(infer_features(make_estimator(y, n_estimators=advised), X, y)) == 8


def test_inference_refuses_groups_that_nearly_all_learners_have():
    X, y = make_table()
    with pytest.raises(ValueError, match=r"Too few learners .* for all\. .* put fewer features into a group"):
        infer_features(make_estimator(y, max_features=6), X, y, groups={"all": list(range(8))})


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ({}, ValueError, "groups is empty"),
        ({"none": []}, ValueError, "Group 'none' has no features"),
        ({"a": ["size"]}, ValueError, "'size', which X does not have"),
        ({"a": [8]}, ValueError, "column 8; columns are from 0 to 7"),
        ({"a": [-1]}, ValueError, "column -1"),
        ({"a": [True]}, TypeError, "names or columns of features, not True"),
        ({"a": [1.5]}, TypeError, "not 1.5"),
        ({1: [0], "1": [1]}, ValueError, "Two groups have the same name"),
        (["a"], ValueError, "groups"),
    ],
    ids=str,
)
def test_inference_refuses_odd_groups(groups, error, message):
    X, y = make_table()
    with pytest.raises(error, match=message):
        infer_features(make_estimator(y), X, y, groups=groups)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, "much"])
def test_inference_refuses_odd_coverage(coverage):
    X, y = make_table()
    with pytest.raises(ValueError, match="coverage"):
        infer_features(make_estimator(y), X, y, coverage=coverage)


def test_inference_refuses_targets_that_are_missing():
    X, y = make_table("numbers")
    y[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        infer_features(make_estimator(y), X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        infer_features(make_estimator(y), X, y[4:])


@pytest.mark.parametrize("value", [1.0, 0.1, 0.0])
def test_inference_refuses_numbers_that_are_all_the_same(value):
    X, _ = make_table("numbers")
    with pytest.raises(ValueError, match="All numbers in y are the same"):
        infer_features(MPBoostRegressor(n_estimators=500, random_state=0), X, np.full(len(X), value))


def test_adjusted_p_values_are_holm_s():
    p_values = np.array([0.01, 0.6, 0.02, 0.02, 0.9])
    np.testing.assert_allclose(adjust_p_values(p_values), [0.05, 1.0, 0.08, 0.08, 1.0])
    assert adjust_p_values(np.empty(0)).shape == (0,)


def test_inference_prints_the_most_significant_first():
    lines = str(make_inference(importance=(0.1, 0.5, -0.1), p_value=(0.04, 0.0, 0.9))).splitlines()
    assert lines[0] == "FeatureInference: loss in R^2 without each feature; 1 200 rows, 500 learners"
    assert [line.split()[0] for line in lines[1:]] == ["feature", "<1>", "<0>", "<2>"]
    assert lines[2].split() == ["<1>", "0.5000", "0.3000", "to", "0.7000", "<", "0.0001", "<", "0.0001"]
    assert len({len(line) for line in lines[1:]}) == 1
    many = make_inference(importance=np.zeros(25), p_value=np.full(25, 0.5))
    assert repr(many).endswith("... and 5 more")


def test_inference_shows_itself_in_notebooks_with_names_escaped():
    page = make_inference()._repr_html_()
    assert page.count("<tr>") == 4
    assert escape("<0>") in page
    assert "<0>" not in page


def test_inference_makes_a_frame_in_the_order_of_the_table():
    frame = make_inference().to_frame()
    assert frame["feature"].tolist() == ["<0>", "<1>", "<2>"]
    assert list(frame.columns)[1:] == ["importance", "standard_error", "low", "high", "p_value", "adjusted_p_value"]
    assert frame["adjusted_p_value"].tolist() == pytest.approx([0.0, 0.08, 0.9])


def test_display_draws_intervals_and_fills_clear_features():
    display = FeatureInferenceDisplay(make_inference()).plot()
    np.testing.assert_allclose(
        [line[:, 0] for line in display.intervals_.get_segments()], [[0.3, 0.7], [-0.1, 0.3], [-0.3, 0.1]]
    )
    clear, others = (line for line in display.ax_.get_lines() if line.get_marker() == "o")
    assert (clear.get_xdata().tolist(), others.get_xdata().tolist()) == ([0.5], [0.1, -0.1])
    assert to_hex(clear.get_markerfacecolor()).upper() == COLOURS[0]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["<0>", "<1>", "<2>"]
    assert display.ax_.get_xlabel() == "loss in R^2 without the feature"
    assert len(display.plot(n_features=2).intervals_.get_segments()) == 2
    mpl.pyplot.close("all")


def test_display_refuses_what_is_no_inference():
    with pytest.raises(TypeError, match="from infer_features"):
        FeatureInferenceDisplay([1.0])
