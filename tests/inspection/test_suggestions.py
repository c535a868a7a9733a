"""Which rows to label next: those that models are unsure of, unlike each other."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mpboost import (
    BinnedDataset,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    load_model,
    save_model,
    suggest_rows,
)
from mpboost.inspection import suggestions
from mpboost.tasks.weightings import log_weighting

SMALL = {"n_estimators": 40, "stopping": None, "random_state": 0}
WORDS = np.array(["ape", "bee", "cat", "dog"])


def make_classes(n_classes, n_samples, seed=0):
    """Make clouds along a circle that overlap, with noise beside."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    angles = 2 * np.pi * y / n_classes
    X = rng.normal(size=(n_samples, 5))
    X[:, :2] += 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    return X, WORDS[y]


def make_numbers(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    return X, np.exp(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.random(n_samples)


def fit(booster, n_classes=None, **parameters):
    X, y = make_classes(n_classes, 100) if n_classes else make_numbers(100)
    return booster(**SMALL | parameters).fit(X, y)


MODELS = {
    "two classes": lambda: fit(MPBoostClassifier, 2),
    "four classes": lambda: fit(MPBoostClassifier, 4),
    "colours": lambda: fit(MPBoostClassifier, 4, multiclass="oc"),
    "numbers": lambda: fit(MPBoostRegressor),
    "gradients of two classes": lambda: fit(MPGradientBoostingClassifier, 2),
    "gradients of four classes": lambda: fit(MPGradientBoostingClassifier, 4),
    "gradients of numbers": lambda: fit(MPGradientBoostingRegressor),
    "one gradient model of classes": lambda: fit(MPGradientBoostingClassifier, 2, n_models=1),
    "trees of scikit-learn": lambda: fit(MPBoostClassifier, 4, estimator=DecisionTreeClassifier(max_depth=3)),
    "lines of scikit-learn": lambda: fit(MPBoostRegressor, estimator=LinearRegression()),
}
POOL = np.random.default_rng(1).normal(size=(300, 5))

each_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def models():
    """Fit a model of each kind."""
    return {name: make() for name, make in MODELS.items()}


def list_steps(model, X):
    """List what each learner adds to the total."""
    return np.diff(np.array(list(model._staged_total(X))), axis=0, prepend=0)


def compute_uncertainty(model, X):
    """Compute the uncertainty of each row the plain way."""
    if hasattr(model, "classes_"):
        ordered = np.sort(model.predict_proba(X), axis=1)
        return 1 - (ordered[:, -1] - ordered[:, -2])
    steps = list_steps(model, X)
    if hasattr(model, "n_models_"):
        steps = [model.baseline_[0] + 5 * sum(steps[k::5]) for k in range(5)]
    return np.std(steps, axis=0)


# Uncertainty


@each_model
def test_suggest_rows_without_diversity_ranks_by_uncertainty(models, name):
    model = models[name]
    suggested = suggest_rows(model, POOL, 300, diverse=False)
    assert sorted(suggested.row) == list(range(300))
    assert suggested.row.dtype == np.intp
    assert (np.diff(suggested.uncertainty) <= 0).all()
    np.testing.assert_allclose(suggested.uncertainty, compute_uncertainty(model, POOL)[suggested.row], rtol=1e-9)
    np.testing.assert_array_equal(suggested.predicted, model.predict(POOL)[suggested.row])
    np.testing.assert_array_equal(suggest_rows(model, POOL, 7, diverse=False).row, suggested.row[:7])


def test_uncertainty_of_gradient_models_is_in_units_of_the_target():
    model = fit(MPGradientBoostingRegressor, loss="poisson")
    steps = list_steps(model, POOL)
    each = [np.exp(model.baseline_[0] + 5 * steps[k::5].sum(axis=0)) for k in range(5)]
    suggested = suggest_rows(model, POOL, 300)
    np.testing.assert_allclose(suggested.uncertainty, np.std(each, axis=0)[suggested.row], rtol=1e-9)


def test_uncertainty_of_numbers_is_the_same_in_batches(models, monkeypatch):
    whole = suggest_rows(models["numbers"], POOL, 20)
    monkeypatch.setattr(suggestions, "BATCH_ROWS", 77)
    parts = suggest_rows(models["numbers"], POOL, 20)
    assert all(np.array_equal(whole[column], parts[column]) for column in whole)


def test_rows_that_p_would_draw_most_of_two_classes_are_the_least_sure(models):
    """The expected weight L of a row, over both labels by their probabilities, has the order of the uncertainty."""
    model = models["two classes"]
    margins = np.abs(model.decision_function(POOL))
    of_right, of_wrong = (np.exp(log_weighting(model.weighting, sign * margins)) for sign in (1, -1))
    is_right = model.predict_proba(POOL).max(axis=1)
    expected = is_right * of_right + (1 - is_right) * of_wrong
    assert (np.diff(expected[suggest_rows(model, POOL, 300, diverse=False).row]) <= 1e-12).all()


def test_rows_that_are_equally_unsure_come_in_a_random_order():
    X, y = make_classes(2, 100)
    model = MPBoostClassifier(n_estimators=1, random_state=0).fit(X, y)
    rows = suggest_rows(model, POOL, 300, diverse=False).row
    assert abs(np.corrcoef(rows, np.arange(300))[0, 1]) < 0.2
    assert rows.tolist() == suggest_rows(model, POOL, 300, diverse=False).row.tolist()


# Diversity


def assert_greedy(rows, uncertainty, traits, *, is_class):
    """Check naively that each row had the largest value when it was chosen, by all rows of the pool in its leaves."""
    n_pool, n_learners = traits.shape
    for k, row in enumerate(rows):
        chosen = rows[:k]
        assert row not in chosen
        values = np.zeros(n_pool)
        for i in set(range(n_pool)) - set(chosen):
            for t in range(n_learners):
                is_alike = traits[:, t] == traits[i, t]
                count = 1 + is_alike[chosen].sum()
                values[i] += uncertainty[is_alike].sum() / (count * (count + 1))
            values[i] *= uncertainty[i] if is_class else 1
        assert values[row] >= (1 - 1e-9) * values.max() > 0


def list_traits(model, X):
    """List the leaf of each row in each tree, or the vote, or the part of the values, of each other learner."""
    if getattr(model, "estimator", None) is None:
        return model.apply(X)
    values = list_steps(model, X)
    if hasattr(model, "classes_"):
        return values.argmax(axis=2).T
    octiles = np.quantile(values, np.arange(1, 8) / 8, axis=1)
    return (octiles[:, :, None] < values).sum(axis=0).T


@pytest.mark.slow
@each_model
def test_suggest_rows_chooses_as_the_naive_way(models, name):
    model, pool = models[name], POOL[:50]
    uncertainty = compute_uncertainty(model, pool)
    suggested = suggest_rows(model, pool, 6)
    assert_greedy(suggested.row, uncertainty, list_traits(model, pool), is_class=hasattr(model, "classes_"))
    assert suggested.row.dtype == np.intp
    np.testing.assert_allclose(suggested.uncertainty, uncertainty[suggested.row], rtol=1e-9)
    np.testing.assert_array_equal(suggested.predicted, model.predict(pool)[suggested.row])


@pytest.mark.slow
def test_suggest_rows_compares_a_hundred_learners_at_most():
    model, pool = fit(MPBoostRegressor, n_estimators=250), POOL[:30]
    traits = model.apply(pool)[:, [k * 250 // 100 for k in range(100)]]
    assert_greedy(suggest_rows(model, pool, 4).row, compute_uncertainty(model, pool), traits, is_class=False)


@pytest.mark.slow
def test_votes_of_two_classes_of_other_learners_are_traits():
    model, pool = fit(MPBoostClassifier, 2, estimator=DecisionTreeClassifier(max_depth=2)), POOL[:40]
    rows, votes = suggest_rows(model, pool, 6).row, list_steps(model, pool).T
    assert_greedy(rows, compute_uncertainty(model, pool), votes, is_class=True)


def test_suggest_rows_prefers_a_crowd_of_unsure_rows_to_a_single_one():
    traits = np.repeat([[0, 0], [1, 1], [2, 2]], [1, 9, 9], axis=0)
    uncertainty = np.repeat([1.0, 0.9, 0.1], [1, 9, 9])
    chosen = suggestions._choose_diverse(uncertainty, uncertainty, traits, 19)
    assert 1 <= chosen[0] <= 9  # stands for nine rows
    assert sorted(chosen) == list(range(19))
    numbers = suggestions._choose_diverse(uncertainty, np.ones(19), traits, 19)
    assert list(numbers).index(0) > 1
    assert {*numbers[:2]} & set(range(1, 10))


def test_suggest_rows_of_large_pools_chooses_among_rows_drawn_by_uncertainty(models, monkeypatch):
    monkeypatch.setattr(suggestions, "MAX_CANDIDATES", 60)
    model = models["four classes"]
    uncertainty = compute_uncertainty(model, POOL)
    rng = np.random.default_rng(0)
    drawn = [suggestions._draw(uncertainty, 60, rng)[0] for _ in range(300)]
    assert all(len(set(rows)) == 60 for rows in drawn)
    hits = np.bincount(np.concatenate(drawn), minlength=300)
    assert np.corrcoef(hits, uncertainty)[0, 1] > 0.9
    rows = suggest_rows(model, POOL, 6).row
    assert set(rows) <= set(suggestions._draw(uncertainty, 60, np.random.default_rng(suggestions.SEED))[0])
    assert len(set(suggest_rows(model, POOL, 100).row)) == 100  # more than MAX_CANDIDATES


def test_drawn_rows_stand_for_the_uncertainty_of_the_whole_pool():
    uncertainty = np.random.default_rng(0).uniform(size=400) ** 3
    sums, first_sums = [], []
    for seed in range(2000):
        rows, masses = suggestions._draw(uncertainty, 100, np.random.default_rng(seed))
        assert (masses >= uncertainty[rows]).all()
        sums.append(masses.sum())
        first_sums.append(masses[rows < 50].sum())  # and of each part of it
    for found, expected in ((sums, uncertainty.sum()), (first_sums, uncertainty[:50].sum())):
        assert abs(np.mean(found) - expected) < 4 * np.std(found) / np.sqrt(len(found))
        assert np.std(found) / np.sqrt(len(found)) < 0.01 * expected


@pytest.mark.parametrize("n_drawn", [400, 500])
def test_rows_that_are_all_taken_stand_for_themselves(n_drawn):
    uncertainty = np.random.default_rng(0).uniform(size=400)
    rows, masses = suggestions._draw(uncertainty, n_drawn, np.random.default_rng(0))
    assert sorted(rows) == list(range(400))
    np.testing.assert_array_equal(masses, uncertainty[rows])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rows_of_no_uncertainty_stand_for_nothing(scale):
    uncertainty = np.repeat([scale, 0.0], [5, 95])
    rows, masses = suggestions._draw(uncertainty, 10, np.random.default_rng(0))
    assert sorted(rows[:5]) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(masses, np.repeat([scale, 0.0], 5), atol=1e-12 * scale)


def test_many_rows_that_are_nearly_sure_outweigh_few_unsure_ones_in_large_pools():
    """Unsure rows are drawn more often, which must not count twice."""
    leaves = np.repeat([0, 1], [9000, 1000])
    uncertainty = np.where(leaves == 0, 0.1, 0.6)  # 900 in all, and 600
    rows, masses = suggestions._draw(uncertainty, 5000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(leaves[rows], masses), [900, 600], rtol=0.05)
    chosen = suggestions._choose_diverse(masses, np.ones(5000), leaves[rows][:, None], 1)
    assert leaves[rows[chosen]] == 0


def test_rows_of_a_sure_model_can_be_suggested():
    model = MPBoostClassifier(n_estimators=3, random_state=0).fit([[0.0]] * 20 + [[1.0]] * 20, [0] * 20 + [1] * 20)
    assert sorted(suggest_rows(model, np.ones((4, 1)), 4).row) == [0, 1, 2, 3]
    zeros = np.zeros(4)
    assert sorted(suggestions._choose_diverse(zeros, zeros, np.zeros((4, 2), int), 4)) == [0, 1, 2, 3]
    assert sorted(suggestions._draw(zeros, 4, np.random.default_rng(0))[0]) == [0, 1, 2, 3]


@each_model
def test_suggest_rows_suggests_few_copies(models, name):
    pool = np.tile(POOL[:60], (5, 1))
    diverse, alike = (
        len(set(suggest_rows(models[name], pool, 10, diverse=diverse).row % 60)) for diverse in (True, False)
    )
    assert diverse >= 8
    assert diverse > alike


@each_model
def test_suggest_rows_can_suggest_all(models, name):
    assert sorted(suggest_rows(models[name], POOL[:50], 50).row) == list(range(50))
    assert sorted(suggest_rows(models[name], np.tile(POOL[:1], (9, 1)), 9).row) == list(range(9))
    assert suggest_rows(models[name], POOL[:1], 1).row.tolist() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_suggested_digits_teach_more_than_random_ones(estimator):
    X, y = load_digits(return_X_y=True)
    gains = []
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(len(y))
        pool, test = rows[:1200], rows[1200:]
        is_known = np.arange(1200) < 40
        model = estimator(n_estimators=60, random_state=seed)
        while is_known.sum() < 200:
            unknown = np.flatnonzero(~is_known)
            model.fit(X[pool[is_known]], y[pool[is_known]])
            is_known[unknown[suggest_rows(model, X[pool[unknown]], 20).row]] = True
        chosen, at_random = (
            model.fit(X[known], y[known]).score(X[test], y[test]) for known in (pool[is_known], pool[:200])
        )
        gains.append(chosen - at_random)
    assert min(gains) > 0
    assert np.mean(gains) > 0.03


@pytest.mark.slow
def test_suggested_numbers_teach_more_than_random_ones():
    """A step that few rows of the pool are at: random rows miss it."""
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2500, 4))
        y = np.where(X[:, 0] > 1.5, 5 * X[:, 1], 0.1 * X[:, 2])
        is_known = np.arange(1500) < 30
        model = MPBoostRegressor(n_estimators=100, random_state=seed)
        while is_known.sum() < 130:
            unknown = np.flatnonzero(~is_known)
            model.fit(X[:1500][is_known], y[:1500][is_known])
            is_known[unknown[suggest_rows(model, X[unknown], 20).row]] = True
        chosen, at_random = (
            model.fit(X[known], y[known]).score(X[1500:], y[1500:])
            for known in (np.flatnonzero(is_known), np.arange(130))
        )
        gains.append(chosen - at_random)
    assert min(gains) > 0, gains


@pytest.mark.slow
def test_suggested_numbers_do_not_leave_out_the_easy_rows():
    """Rows with the largest spread alone are worse than random ones for a smooth function: all lie at its edges."""
    scores = {"diverse": [], "alike": [], "random": []}
    for seed in range(3):
        X, y = make_friedman1(2500, noise=0.5, random_state=seed)
        model = MPBoostRegressor(n_estimators=100, random_state=seed)
        for way, found in scores.items():
            is_known = np.arange(1500) < (130 if way == "random" else 30)
            while is_known.sum() < 130:
                unknown = np.flatnonzero(~is_known)
                model.fit(X[:1500][is_known], y[:1500][is_known])
                is_known[unknown[suggest_rows(model, X[unknown], 20, diverse=way == "diverse").row]] = True
            found.append(model.fit(X[:1500][is_known], y[:1500][is_known]).score(X[1500:], y[1500:]))
    means = {way: np.mean(found) for way, found in scores.items()}
    assert means["alike"] < means["random"] - 0.05, means
    assert means["diverse"] > means["random"] - 0.02, means


# Pools of all kinds


def assert_same(suggested, expected):
    assert list(suggested) == list(expected) == ["row", "uncertainty", "predicted"]
    for column, values in expected.items():
        np.testing.assert_array_equal(suggested[column], values)


@pytest.mark.parametrize("name", ["four classes", "numbers", "gradients of numbers", "trees of scikit-learn"])
@pytest.mark.parametrize("convert", [np.asfortranarray, np.ndarray.tolist, sparse.csr_matrix, sparse.csc_array])
def test_suggest_rows_takes_pools_as_predict_does(models, name, convert):
    assert_same(suggest_rows(models[name], convert(POOL), 15), suggest_rows(models[name], POOL, 15))


def test_suggest_rows_takes_a_dataset(tmp_path):
    X, y = make_classes(4, 300)
    dataset = BinnedDataset.from_arrays(X, y, file=tmp_path / "pool.mpd")
    model = MPBoostClassifier(**SMALL).fit(dataset)
    assert_same(suggest_rows(model, dataset, 15), suggest_rows(model, X, 15))


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPBoostRegressor, MPGradientBoostingClassifier])
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_suggest_rows_takes_frames_with_categories_and_missing_values(estimator, library):
    rng = np.random.default_rng(0)
    size = np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400))
    kind = WORDS[rng.integers(0, 4, 400)]
    y = (np.nan_to_num(size) > 0) ^ (kind == "cat")
    frame = library.DataFrame({"size": size, "kind": kind})
    model = estimator(**SMALL).fit(frame[:100], y[:100].astype(int))
    suggested = suggest_rows(model, frame[100:], 10)
    assert len(set(suggested.row)) == 10
    np.testing.assert_array_equal(suggested.predicted, model.predict(frame[100:])[suggested.row])
    coded = pd.DataFrame({"size": size, "kind": pd.Categorical(kind)})
    assert_same(suggest_rows(model, coded[100:], 10), suggested)


@each_model
def test_suggest_rows_of_a_model_that_was_kept_are_the_same(models, name, tmp_path):
    model = models[name]
    expected = suggest_rows(model, POOL, 15)
    assert_same(suggest_rows(pickle.loads(pickle.dumps(model)), POOL, 15), expected)
    if getattr(model, "estimator", None) is None:
        save_model(model, tmp_path / "model")
        assert_same(suggest_rows(load_model(tmp_path / "model"), POOL, 15), expected)


@each_model
def test_suggest_rows_is_the_same_for_any_number_of_threads(models, name):
    model = pickle.loads(pickle.dumps(models[name])).set_params(n_jobs=2)
    assert_same(suggest_rows(model, POOL, 15), suggest_rows(models[name], POOL, 15))


# Bad input


@pytest.mark.parametrize(
    ("name", "value"), [("n_rows", 0), ("n_rows", 1.5), ("n_rows", "all"), ("n_rows", None), ("diverse", "yes")]
)
def test_suggest_rows_refuses_odd_parameters(models, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of suggest_rows"):
        suggest_rows(models["two classes"], POOL, **{"n_rows": 5, name: value})


def test_suggest_rows_refuses_more_rows_than_there_are(models):
    with pytest.raises(ValueError, match="n_rows=301 is more than the 300 rows of X_pool"):
        suggest_rows(models["two classes"], POOL, 301)


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (POOL[:, :4], "4 features"),
        (POOL[0], "1D|one-dimensional|dimension"),
        (POOL[:0], "0 sample|no rows|at least one"),
        (np.full((3, 5), "word"), "contains text"),
    ],
    ids=["columns", "one row", "no rows", "text"],
)
def test_suggest_rows_refuses_pools_that_predict_refuses(models, pool, words):
    for refuse in (models["two classes"].predict, lambda X: suggest_rows(models["two classes"], X, 1)):
        with pytest.raises(ValueError, match=words):
            refuse(pool)


def test_suggest_rows_refuses_what_is_no_fitted_model():
    X, y = make_classes(2, 100)
    with pytest.raises(NotFittedError):
        suggest_rows(MPBoostClassifier(), POOL, 5)
    with pytest.raises(TypeError, match="not DecisionTreeClassifier"):
        suggest_rows(DecisionTreeClassifier().fit(X, y), POOL, 5)
    with pytest.raises(TypeError, match="pass the model inside"):
        suggest_rows(make_pipeline(StandardScaler(), MPBoostClassifier(**SMALL)).fit(X, y), POOL, 5)


def test_suggest_rows_refuses_a_single_gradient_model_of_numbers():
    with pytest.raises(ValueError, match=r"single model.*n_models=5 and oop_size=0.2"):
        suggest_rows(fit(MPGradientBoostingRegressor, n_models=1), POOL, 5)


# The table


def test_suggested_rows_look_like_a_table(models):
    suggested = suggest_rows(models["two classes"], POOL, 12)
    lines = repr(suggested).splitlines()
    assert lines[0] == "SuggestedRows: 12 rows, the best to label first"
    assert lines[1].split() == ["row", "uncertainty", "predicted"]
    assert lines[-1] == "... and 2 more"
    assert "<th>uncertainty</th>" in suggested._repr_html_()
    assert suggested.to_frame()["row"].tolist() == suggested.row.tolist()
