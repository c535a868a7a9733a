"""How hard rows are for learners that never saw them, and the wrong labels that are found by it."""

import copy
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
    estimate_label_noise,
    find_label_issues,
    load_model,
    save_model,
)
from mpboost.inspection.label_issues import LabelIssues, _estimate_noise
from mpboost.outputs.statistics import estimate_share_interval
from tests.support.helpers import PatchKeeper

SMALL = {"n_estimators": 60, "max_samples": 40, "max_features": 4, "stopping": None, "random_state": 0}
WORDS = np.array(["ape", "bee", "cat", "dog"])


def make_classes(n_classes, n_samples=300, seed=0):
    """Make clouds along a circle, with noise beside."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    angles = 2 * np.pi * y / n_classes
    X = rng.normal(size=(n_samples, 5))
    X[:, :2] += 3 * np.column_stack([np.cos(angles), np.sin(angles)])
    return X, y


def make_numbers(n_samples=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    return X, 3 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n_samples)


def flip(y, n_flipped=30, seed=1):
    """Give some rows another class; tell which."""
    rng = np.random.default_rng(seed)
    n_classes, rows = y.max() + 1, rng.choice(len(y), n_flipped, replace=False)
    noisy = y.copy()
    noisy[rows] = (y[rows] + rng.integers(1, n_classes, n_flipped)) % n_classes
    return noisy, np.isin(np.arange(len(y)), rows)


def fit_flipped(n_classes=3, **parameters):
    """Fit words as labels, some of them wrong."""
    X, y = make_classes(n_classes)
    noisy, is_flipped = flip(y)
    return MPBoostClassifier(**SMALL | parameters).fit(X, WORDS[noisy]), y, noisy, is_flipped


# Difficulty


@pytest.mark.parametrize("options", [{}, {"learning_rate": 1.0}, {"weighted": True}], ids=["plain", "fast", "weighted"])
@pytest.mark.parametrize(("n_classes", "way"), [(2, "margin"), (3, "margin"), (4, "mh"), (4, "oc")])
def test_difficulty_is_that_of_the_votes_of_learners_that_never_saw_the_row(n_classes, way, options):
    X, y = make_classes(n_classes)
    options = dict(options)
    weights = np.random.default_rng(2).integers(0, 4, len(y)) if options.pop("weighted", False) else np.ones(len(y))
    kept = np.flatnonzero(weights)  # rows of minipatches are counted among these
    keeper = PatchKeeper()
    model = MPBoostClassifier(**SMALL | options, multiclass=way, callbacks=[keeper]).fit(X, y, weights)
    totals = list(model._staged_total(X))
    expected = np.full(len(y), np.nan)
    for place, i in enumerate(kept):
        counts, before = np.zeros(n_classes), 0
        for rows, total in zip(keeper.rows, totals, strict=True):
            step, before = total[i] - before, total[i]
            if place not in rows:
                counts += [step < 0, step > 0] if n_classes == 2 else step
        others = max(counts[k] for k in range(n_classes) if k != y[i])
        expected[i] = (others + 1) / (counts[y[i]] + others + 2)
    np.testing.assert_allclose(model.observation_difficulty_, expected, rtol=1e-12)


def test_difficulty_of_numbers_is_that_of_the_oop_prediction():
    X, y = make_numbers()
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    model = MPBoostRegressor(**SMALL).fit(X, y, weights)
    residuals = np.abs(y - model.oop_prediction_)
    repeated = np.sort(np.repeat(residuals, weights.astype(int)))
    median = repeated[(len(repeated) - 1) // 2]
    np.testing.assert_allclose(model.observation_difficulty_, residuals / (residuals + median), rtol=1e-9)
    assert np.array_equal(np.isnan(model.observation_difficulty_), weights == 0)


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPBoostRegressor])
def test_difficulty_is_a_half_where_every_learner_saw_the_row(estimator):
    X, y = make_classes(2)
    keeper = PatchKeeper()
    patches = {"n_estimators": 2, "max_samples": 200, "adaptive_observations": False}
    model = estimator(**SMALL | patches, callbacks=[keeper]).fit(X, y)
    seen = np.isin(np.arange(len(y)), np.intersect1d(*keeper.rows))
    assert 0 < seen.sum() < len(y)
    assert (model.observation_difficulty_[seen] == 0.5).all()


def test_difficulty_after_warm_start_is_that_of_a_single_fit():
    X, y = make_classes(3)
    model = MPBoostClassifier(**SMALL | {"n_estimators": 20}, warm_start=True).fit(X, y)
    before = model.observation_difficulty_
    model.set_params(n_estimators=60).fit(X, y)
    whole = MPBoostClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(model.observation_difficulty_, whole.observation_difficulty_)
    assert not np.array_equal(before, model.observation_difficulty_)


# Issues


@pytest.mark.parametrize("way", ["margin", "oc"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_find_label_issues_finds_flipped_labels(n_classes, way):
    model, y, noisy, is_flipped = fit_flipped(n_classes, multiclass=way, n_estimators=200)
    assert roc_auc_score(is_flipped, model.observation_difficulty_) > 0.95
    issues = find_label_issues(model)
    assert is_flipped[issues.row].mean() > 0.8
    assert is_flipped[issues.row].sum() > 0.4 * is_flipped.sum()
    np.testing.assert_array_equal(issues.given, WORDS[noisy[issues.row]])
    assert (issues.suggested != issues.given).all()
    right = issues.suggested == WORDS[y[issues.row]]
    assert right[is_flipped[issues.row]].mean() > 0.8


@pytest.mark.slow
def test_find_label_issues_finds_few_where_labels_are_right():
    X, y = load_digits(return_X_y=True)
    model = MPBoostClassifier(n_estimators=100, stopping=None, random_state=0).fit(X, y)
    assert len(find_label_issues(model).row) < 0.02 * len(y)
    noisy, is_flipped = flip(y, n_flipped=180)
    issues = find_label_issues(model.fit(X, noisy))
    assert is_flipped[issues.row].mean() > 0.95
    assert is_flipped[issues.row].sum() > 0.6 * 180


def test_find_label_issues_ranks_by_difficulty_then_row():
    model, *_ = fit_flipped()
    difficulty = model.observation_difficulty_
    everything = find_label_issues(model, threshold=0)
    assert everything.row.tolist() == sorted(range(300), key=lambda i: (-difficulty[i], i))
    np.testing.assert_array_equal(everything.difficulty, difficulty[everything.row])
    assert find_label_issues(model, n=300).row.tolist() == everything.row.tolist()
    assert find_label_issues(model, n=7).row.tolist() == everything.row[:7].tolist()
    assert find_label_issues(model, n=1000).row.tolist() == everything.row.tolist()
    issues = find_label_issues(model)
    assert issues.row.tolist() == [i for i in everything.row if i in set(issues.row)]


def test_find_label_issues_keeps_to_the_threshold():
    model, *_ = fit_flipped()
    edge = float(np.sort(model.observation_difficulty_)[-10])
    assert find_label_issues(model, threshold=edge).difficulty.min() == edge
    assert len(find_label_issues(model, threshold=edge).row) >= 10
    assert len(find_label_issues(model, threshold=edge, n=4).row) == 4
    assert len(find_label_issues(model, threshold=1.0).row) == 0


def test_find_label_issues_by_default_lists_labels_that_are_more_likely_wrong_than_right():
    model, _, noisy, _ = fit_flipped()
    counts = np.rint(model.oop_decision_function_ / model.learning_rate_)
    shares = model._calibration.predict(counts, counts.argmax(axis=1))
    own, most, winners = shares[np.arange(300), noisy], shares.max(axis=1), counts.argmax(axis=1)
    expected = (winners != noisy) & (estimate_label_noise(model) / 2 * most / own >= 0.5)
    issues = find_label_issues(model)
    assert sorted(issues.row) == np.flatnonzero(expected).tolist()
    np.testing.assert_array_equal(issues.suggested, WORDS[winners[issues.row]])


def make_noisy_by_nature(n_samples, seed=0):
    """Draw each label by chance, from probabilities between 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    return X, (rng.random(n_samples) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_find_label_issues_lists_few_labels_that_are_noisy_by_nature(estimator):
    X, y = make_noisy_by_nature(2000)
    cross = {} if estimator is MPBoostClassifier else {"n_models": 5, "oop_size": 0.2}
    model = estimator(random_state=0, **cross).fit(X, y)
    assert model.oop_score_ < 0.85
    assert len(find_label_issues(model).row) < 0.02 * len(y)
    assert estimate_label_noise(model) < 0.1


def test_find_label_issues_suggests_the_given_label_where_it_wins():
    model, *_ = fit_flipped(2)
    everything = find_label_issues(model, threshold=0)
    is_draw = everything.difficulty == 0.5
    np.testing.assert_array_equal(
        (everything.suggested != everything.given)[~is_draw], (everything.difficulty > 0.5)[~is_draw]
    )


def test_find_label_issues_of_numbers_finds_those_that_were_changed():
    X, y = make_numbers()
    rows = np.arange(0, 300, 20)
    noisy = y.copy()
    noisy[rows] += 20
    model = MPBoostRegressor(**SMALL | {"n_estimators": 300}).fit(X, noisy)
    issues = find_label_issues(model)
    assert set(rows) <= set(issues.row)
    assert len(issues.row) < 30
    np.testing.assert_array_equal(issues.given, noisy[issues.row])
    np.testing.assert_array_equal(issues.suggested, model.oop_prediction_[issues.row])
    residuals = np.abs(noisy - model.oop_prediction_)
    assert sorted(issues.row) == np.flatnonzero(residuals >= 5 * np.median(residuals)).tolist()


@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPBoostRegressor])
def test_find_label_issues_leaves_out_rows_of_weight_zero(estimator):
    X, y = make_classes(3)
    y[:50] = 9  # a class that only rows of no weight have
    model = estimator(**SMALL).fit(X, y, np.r_[np.zeros(50), np.ones(250)])
    issues = find_label_issues(model, threshold=0)
    assert sorted(issues.row) == list(range(50, 300))
    np.testing.assert_array_equal(issues.given, y[issues.row])
    assert not np.isin(find_label_issues(model, n=300).row, range(50)).any()
    assert not np.isin(find_label_issues(model).row, range(50)).any()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_find_label_issues_goes_into_a_data_frame(frame):
    model, _, noisy, _ = fit_flipped()
    table = frame(find_label_issues(model, n=5))
    assert list(table.columns) == ["row", "difficulty", "given", "suggested"]
    assert list(table["given"]) == WORDS[noisy[list(table["row"])]].tolist()


@pytest.mark.parametrize("n_classes", [2, 3, None])
def test_find_label_issues_of_a_model_that_was_kept_are_the_same(tmp_path, n_classes):
    X, y = make_classes(n_classes) if n_classes else make_numbers()
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    model = (MPBoostClassifier if n_classes else MPBoostRegressor)(**SMALL).fit(X, y, weights)
    save_model(model, tmp_path / "model")
    expected = find_label_issues(model, threshold=0.3)
    assert len(expected.row)
    for kept in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        issues = find_label_issues(kept, threshold=0.3)
        assert issues.keys() == expected.keys()
        for name, values in issues.items():
            np.testing.assert_array_equal(values, expected[name])


def test_find_label_issues_works_with_other_weak_learners():
    model, *_, is_flipped = fit_flipped(estimator=DecisionTreeClassifier(max_depth=4))
    assert is_flipped[find_label_issues(model).row].mean() > 0.6


@pytest.mark.filterwarnings("ignore:This model is no better")
def test_find_label_issues_lists_nothing_if_the_model_has_learned_nothing():
    X, _ = make_noisy_by_nature(1000)
    model = MPBoostClassifier(random_state=0).fit(X, np.random.default_rng(1).integers(0, 2, 1000))
    assert estimate_label_noise(model) > 0.4
    assert not len(find_label_issues(model).row)
    assert len(find_label_issues(model, n=5).row) == 5


# Noise


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("estimator", [MPBoostClassifier, MPGradientBoostingClassifier])
def test_estimate_label_noise_is_a_little_more_than_the_share_of_flipped_labels(estimator, rate):
    X, y = make_classes(2, 2000)
    noisy, _ = flip(y, round(rate * 2000))
    cross = {} if estimator is MPBoostClassifier else {"n_models": 5, "oop_size": 0.2}
    model = estimator(n_estimators=100, random_state=0, **cross).fit(X, noisy)
    assert rate - 0.02 < estimate_label_noise(model) < 1.3 * rate + 0.05


def test_estimate_label_noise_is_the_least_share_of_disagreements_among_confident_rows():
    confidences = np.linspace(1, 0.5, 1000)
    is_wrong = np.zeros(1000, dtype=bool)
    is_wrong[:30:10] = is_wrong[200:1000:2] = True  # 3 of the first 200 rows
    assert _estimate_noise(confidences, is_wrong) == estimate_share_interval(3, 200)[1]


def test_estimate_label_noise_counts_all_rows_that_are_as_confident():
    is_wrong = np.repeat([True, False], 500)
    expected = estimate_share_interval(500, 1000)[1]
    assert _estimate_noise(np.ones(1000), is_wrong) == _estimate_noise(np.ones(1000), is_wrong[::-1]) == expected


def test_estimate_label_noise_of_few_rows_is_not_zero():
    assert _estimate_noise(np.linspace(0.5, 1, 8), np.zeros(8, dtype=bool)) == estimate_share_interval(0, 8)[1] > 0.3


def test_estimate_label_noise_refuses_numbers():
    model = MPBoostRegressor(**SMALL).fit(*make_numbers())
    with pytest.raises(TypeError, match="classifiers, not for MPBoostRegressor"):
        estimate_label_noise(model)


# Gradient models

CROSSED = {"n_estimators": 100, "n_models": 5, "oop_size": 0.2, "random_state": 0}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_find_label_issues_of_gradient_models_finds_flipped_labels(tmp_path, n_classes):
    X, y = make_classes(n_classes, 1000)
    noisy, is_flipped = flip(y, 60)
    model = MPGradientBoostingClassifier(**CROSSED).fit(X, WORDS[noisy])
    issues = find_label_issues(model)
    assert is_flipped[issues.row].mean() > 0.6
    assert is_flipped[issues.row].sum() > 20
    assert (issues.given != issues.suggested).all()
    assert (issues.given == WORDS[noisy][issues.row]).all()
    right = is_flipped[issues.row]
    assert np.mean(issues.suggested[right] == WORDS[y][issues.row[right]]) > 0.9
    save_model(model, tmp_path / "model")
    assert find_label_issues(load_model(tmp_path / "model")).row.tolist() == issues.row.tolist()


def test_find_label_issues_of_gradient_models_finds_wrong_numbers():
    X, y = make_numbers(1000)
    wrong = np.random.default_rng(1).choice(1000, 20, replace=False)
    y[wrong] += 20.0
    model = MPGradientBoostingRegressor(**CROSSED, loss="absolute_error").fit(X, y)
    issues = find_label_issues(model, n=20)
    assert set(issues.row) == set(wrong)
    np.testing.assert_array_equal(issues.suggested, model.oop_prediction_[issues.row])


@pytest.mark.parametrize("n_classes", [2, 3, None])
def test_find_label_issues_of_gradient_models_judges_reserved_rows_only(n_classes):
    X, y = make_classes(n_classes) if n_classes else make_numbers()
    estimator = MPGradientBoostingClassifier if n_classes else MPGradientBoostingRegressor
    model = estimator(n_estimators=10, oop_size=0.1, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"Only the 30 rows .* n_models=5 and oop_size=0.2"):
        issues = find_label_issues(model, threshold=0.0)
    assert sorted(issues.row) == np.flatnonzero(~np.isnan(model.observation_difficulty_)).tolist()
    assert len(issues.row) == 30
    with pytest.warns(UserWarning, match="Only the 30 rows"):
        assert set(find_label_issues(model).row) <= set(issues.row)


def test_find_label_issues_of_gradient_models_without_reserved_rows_are_refused():
    X, y = make_classes(2)
    model = MPGradientBoostingClassifier(n_estimators=3, oop_size=0, stopping=None).fit(X, y)
    with pytest.raises(ValueError, match="positive oop_size"):
        find_label_issues(model)


# Bad input


def test_find_label_issues_refuses_models_that_cannot_tell():
    X, y = make_classes(2)
    with pytest.raises(NotFittedError):
        find_label_issues(MPBoostClassifier())
    with pytest.raises(TypeError, match="not DecisionTreeClassifier"):
        find_label_issues(DecisionTreeClassifier().fit(X, y))
    with pytest.raises(TypeError, match="pass the model inside"):
        find_label_issues(make_pipeline(StandardScaler(), MPBoostClassifier(**SMALL)).fit(X, y))
    for estimator in (MPBoostClassifier, MPBoostRegressor):
        with pytest.raises(ValueError, match="smaller max_samples"):
            find_label_issues(estimator(**SMALL | {"max_samples": 1.0, "n_estimators": 3}).fit(X, y))


@pytest.mark.parametrize(
    "options",
    [{"n": 0}, {"n": 1.5}, {"n": "all"}, {"threshold": -0.1}, {"threshold": 2}, {"threshold": np.nan}],
    ids=str,
)
def test_find_label_issues_refuses(options):
    model, *_ = fit_flipped(n_estimators=3)
    with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter of find_label_issues"):
        find_label_issues(model, **options)


# The table


def make_issues(n):
    return LabelIssues(
        row=np.arange(n) * 100,
        difficulty=np.linspace(1, 0.5, n),
        given=WORDS[np.arange(n) % 4],
        suggested=WORDS[(np.arange(n) + 1) % 4],
    )


def test_label_issues_have_columns_by_name_and_by_key():
    issues = make_issues(3)
    assert issues.row is issues["row"]
    assert list(issues) == ["row", "difficulty", "given", "suggested"]
    assert len(issues) == 3


def test_label_issues_look_like_a_table():
    assert repr(make_issues(2)).splitlines() == [
        "LabelIssues: 2 rows, the most suspect first",
        "row  difficulty  given  suggested",
        "  0           1    ape        bee",
        "100         0.5    bee        cat",
    ]


def test_label_issues_show_only_the_first():
    lines = repr(make_issues(25)).splitlines()
    assert (len(lines), lines[-1]) == (13, "... and 15 more")
    assert make_issues(25)._repr_html_().count("<tr>") == 11


def test_no_label_issues_are_one_line():
    assert repr(make_issues(0)) == "LabelIssues: no rows"


def test_label_issues_in_notebooks_do_not_run_what_labels_contain():
    issues = make_issues(1)
    issues.given = np.array(["<script>"])
    assert "<td>&lt;script&gt;</td>" in issues._repr_html_()


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_label_issues_are_what_data_frames_take(frame, n):
    table = frame(make_issues(n))
    assert list(table.columns) == ["row", "difficulty", "given", "suggested"]
    assert len(table) == n


@pytest.mark.parametrize(("hidden", "module"), [((), "pandas"), (("pandas",), "polars")], ids=["pandas", "polars"])
def test_label_issues_become_a_frame_of_what_is_installed(monkeypatch, hidden, module):
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    frame = make_issues(3).to_frame()
    assert type(frame).__module__.split(".")[0] == module
    assert frame["given"].to_list() == ["ape", "bee", "cat"]


def test_label_issues_need_a_library_for_frames(monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="to_frame needs pandas or polars"):
        make_issues(3).to_frame()


def test_label_issues_can_be_pickled_and_copied():
    issues = make_issues(3)
    for other in (pickle.loads(pickle.dumps(issues)), copy.deepcopy(issues)):
        assert repr(other) == repr(issues)
