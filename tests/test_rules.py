"""Rules of users: they see what they should, do what names do to the last bit, and are told where they are wrong."""

import pickle
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from mpboost import (
    Callback,
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    OOPSearch,
    load_model,
    save_model,
)
from mpboost.estimators.sharded import check_can_be_sharded
from mpboost.rules import PatchFeatures, update_probabilities
from mpboost.tasks.weightings import log_weighting
from tests.support.helpers import SMALL, describe_model, make_hard, make_integers
from tests.support.native.naive_value_outputs import RESIDUAL_WEIGHTINGS
from tests.support.oracle import WEIGHTINGS
from tests.support.rules import Bell, Costs, Hedge, Tilted

X, Y = make_integers(200)
NUMBERS = make_friedman1(200, random_state=0)
WAYS = ("margin", "m2", "mh", "oc")


class OwnMargins:
    """What a name does, by margins."""

    def __init__(self, name):
        self.name = name

    def log_weight(self, margins):
        return log_weighting(self.name, margins)


class OwnRows(OwnMargins):
    """The same by rows."""

    def log_weight_rows(self, rows):
        return log_weighting(self.name, rows.margins)


class OwnCredit:
    """What importance="out_of_patch" does."""

    def credit_features(self, learner):
        return learner.importances


class OwnMomentum:
    """What feature_momentum does: of mean importances, or of the last ones. Sums are made from left to right."""

    def __init__(self, momentum, remembers=True):
        self.momentum, self.remembers = momentum, remembers

    def update_probabilities(self, features):
        targets = features.importances
        if self.remembers:
            targets = np.maximum(features.mean_importances, 0.0)
            total = np.cumsum(targets)[-1]
            if total == 0:
                return features.probabilities
            targets = targets / total
        q = features.probabilities
        return (1.0 - self.momentum) * q + self.momentum * np.cumsum(q)[-1] * targets


def assert_same(one, other):
    assert describe_model(one) == describe_model(other)


def assert_same_but_for_history(one, other):
    """Compare models whose effective numbers of rows are summed in another order."""
    hashes = [describe_model(model) for model in (one, other)]
    assert hashes[0] | {"history_": None} == hashes[1] | {"history_": None}
    histories = [model.history_.effective_observations for model in (one, other)]
    np.testing.assert_allclose(*histories, rtol=1e-12)


# What a name does, a rule does.


@pytest.mark.parametrize("rule", [OwnMargins, OwnRows])
@pytest.mark.parametrize("learning_rate", ["auto", 1.0])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_own_weighting_of_two_classes_gives_the_same_bits(weighting, learning_rate, rule):
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(Y))
    fit = partial(MPBoostClassifier, **SMALL, learning_rate=learning_rate)
    for given in (None, weights):
        own, ours = (fit(weighting=each).fit(X, Y, given) for each in (rule(weighting), weighting))
        (assert_same if rule is OwnMargins else assert_same_but_for_history)(own, ours)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_own_weighting_of_many_classes_gives_the_same_bits(weighting, way):
    data, target = load_iris(return_X_y=True)
    fit = partial(MPBoostClassifier, **SMALL, multiclass=way)
    own, ours = (fit(weighting=each).fit(data, target) for each in (OwnMargins(weighting), weighting))
    assert_same(own, ours)


def test_own_weighting_of_rows_by_the_margin_of_many_classes_gives_the_same_bits():
    data, target = load_iris(return_X_y=True)
    own, ours = (
        MPBoostClassifier(**SMALL, weighting=each).fit(data, target) for each in (OwnRows("logistic"), "logistic")
    )
    assert_same(own, ours)


@pytest.mark.parametrize("weighting", RESIDUAL_WEIGHTINGS)
def test_own_weighting_of_residuals_gives_the_same_up_to_rounding(weighting):
    class Own:
        def log_weight(self, residuals):
            naive = np.array([RESIDUAL_WEIGHTINGS[weighting](r) for r in np.abs(residuals)])
            return np.log(np.maximum(naive, 1e-300))

    fit = partial(MPBoostRegressor, **SMALL)
    own, ours = (fit(weighting=each).fit(*NUMBERS) for each in (Own(), weighting))
    np.testing.assert_allclose(own.observation_probabilities_, ours.observation_probabilities_, rtol=1e-9)
    np.testing.assert_array_equal(own.predict(NUMBERS[0]), ours.predict(NUMBERS[0]))


@pytest.mark.parametrize("importance", ["out_of_patch", "impurity"])
def test_own_momentum_gives_the_same_bits(importance):
    fit = partial(MPBoostClassifier, **SMALL, importance=importance, feature_momentum=0.4)
    rule = OwnMomentum(0.4, remembers=importance == "out_of_patch")
    own, ours = (fit(feature_update=each).fit(X, Y) for each in (rule, None))
    assert_same(own, ours)


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (MPBoostClassifier, (X, Y)),
        pytest.param(
            partial(MPBoostClassifier, estimator=DecisionTreeClassifier(max_depth=2)), (X, Y), marks=pytest.mark.slow
        ),
        (MPBoostClassifier, load_iris(return_X_y=True)),
        (partial(MPBoostClassifier, multiclass="oc"), load_iris(return_X_y=True)),
        (MPBoostClassifier, (csr_array(X.astype(float)), Y)),
        (MPBoostRegressor, NUMBERS),
    ],
    ids=["two classes", "given estimator", "many classes", "colours", "sparse", "numbers"],
)
def test_own_credit_of_what_was_measured_gives_the_same_bits(make, data):
    own, ours = (make(**SMALL, importance=each).fit(*data) for each in (OwnCredit(), "out_of_patch"))
    assert_same(own, ours)


# What rules see.


class Witness:
    """Keeps what it was shown."""

    def __init__(self):
        self.seen = []

    def log_weight_rows(self, rows):
        self.seen.append(rows)
        return np.zeros(len(rows))

    def credit_features(self, learner):
        self.seen.append(learner)
        return learner.importances

    def update_probabilities(self, features):
        self.seen.append(features)
        return features.probabilities


#: The last state is the best one: the model is what the rule was shown at last.
WATCHED = SMALL | {"stopping": None, "round_size": 1}


def watch(make, data, *weights, **rules):
    """Fit a model with a rule that keeps what it is shown; return both."""
    (witness,) = {id(rule): rule for rule in rules.values()}.values()
    return make(**WATCHED, **rules).fit(*data, *weights), witness.seen


@pytest.mark.parametrize("data", [(X, Y), load_iris(return_X_y=True)], ids=["two classes", "many classes"])
def test_rule_sees_the_outputs_of_classes(data):
    model, seen = watch(MPBoostClassifier, data, weighting=Witness())
    first, last, codes = seen[0], seen[-1], np.searchsorted(model.classes_, data[1])
    assert (first.n_learners, last.n_learners) == (0, 25)
    assert not first.outputs.any()
    rate = model.learning_rate_
    decisions = model.decision_function(data[0])
    np.testing.assert_allclose(np.rint(last.outputs / rate), np.trunc(np.rint(2 * decisions / rate) / 2), atol=0.6)
    np.testing.assert_array_equal(last.oop_outputs, model.oop_decision_function_)
    np.testing.assert_array_equal(last.targets, codes)
    if last.outputs.ndim == 1:
        margins = np.where(codes == 1, 1, -1) * last.outputs
    else:
        own = last.outputs[np.arange(len(codes)), codes]
        margins = own - np.where(np.arange(3) == codes[:, None], -1.0, last.outputs).max(axis=1)
    np.testing.assert_allclose(last.margins, margins, atol=1e-12)


def test_rule_sees_the_outputs_of_numbers():
    model, seen = watch(MPBoostRegressor, NUMBERS, weighting=Witness())
    np.testing.assert_allclose(seen[0].outputs, NUMBERS[1].mean())
    np.testing.assert_allclose(seen[-1].outputs, model.predict(NUMBERS[0]))
    np.testing.assert_array_equal(seen[-1].margins, NUMBERS[1] - seen[-1].outputs)
    np.testing.assert_array_equal(seen[-1].oop_outputs, model.oop_prediction_)


def test_rule_sees_which_rows_are_left():
    weights = np.where(np.arange(len(Y)) % 3 == 0, 0.0, 1.0 + np.arange(len(Y)) % 2)
    rules = Witness()
    _, seen = watch(MPBoostClassifier, (X, Y), weights, weighting=rules, importance=rules)
    left = np.flatnonzero(weights)
    rows = [each for each in seen if hasattr(each, "n_samples")]
    learners = [each for each in seen if not hasattr(each, "n_samples")]
    assert rows[0].n_samples == len(Y)
    np.testing.assert_array_equal(rows[0].positions, left)
    np.testing.assert_allclose(rows[0].sample_weight, weights[left] / weights[left].mean())
    for learner in learners:
        assert np.isin(learner.positions, left).all()
        np.testing.assert_array_equal(learner.targets, Y[learner.positions])


def test_rule_cannot_change_what_it_sees():
    class Vandal:
        def log_weight_rows(self, rows):
            for array in (rows.positions, rows.targets, rows.outputs, rows.margins, rows.oop_outputs):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 1
            return rows.margins

    MPBoostClassifier(**SMALL, weighting=Vandal()).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (MPBoostClassifier, (X, Y)),
        pytest.param(partial(MPBoostClassifier, estimator=LogisticRegression()), (X, Y), marks=pytest.mark.slow),
        (MPBoostClassifier, load_iris(return_X_y=True)),
        (MPBoostClassifier, (csr_array(X.astype(float)), Y)),
        (MPBoostRegressor, NUMBERS),
    ],
    ids=["two classes", "given estimator", "many classes", "sparse", "numbers"],
)
def test_rule_for_credits_can_ask_the_learner(make, data):
    class Curious:
        def credit_features(self, learner):
            assert learner.X.shape == (len(learner.positions), len(learner.features))
            asked[learner.iteration] = learner.positions, learner.predict(learner.X), learner.predict(learner.X[::-1])
            return learner.importances

    class Votes(Callback):
        def on_iteration_end(self, run):
            state = run.parts.task.state
            totals.append(state["votes" if "votes" in state else "sums"].astype(float))

    asked, totals = {}, []
    make(**WATCHED, importance=Curious(), callbacks=[Votes()]).fit(*data)
    assert len(asked) > 20
    for iteration, (positions, outputs, reversed_outputs) in asked.items():
        added = totals[iteration - 1] - (totals[iteration - 2] if iteration > 1 else 0.0)
        if make is not MPBoostRegressor:  # votes of -1 and +1, or for classes
            added = (added + 1) / 2 if added.ndim == 1 else added.argmax(axis=1)
        np.testing.assert_allclose(outputs, added[positions], atol=1e-9)
        np.testing.assert_array_equal(reversed_outputs, outputs[::-1])


def test_rule_for_credits_is_told_of_other_shapes():
    class Narrow:
        def credit_features(self, learner):
            return learner.predict(learner.X[:, :1])

    with pytest.raises(ValueError, match="predict needs 3 columns, as X has"):
        MPBoostClassifier(**SMALL, importance=Narrow()).fit(X, Y)


@pytest.mark.parametrize(
    "change",
    [
        lambda codes: codes + 0.5,
        lambda codes: codes.astype(int) - 256,
        lambda codes: codes.astype(int) + 256,
        lambda codes: np.full(codes.shape, np.nan),
        lambda codes: codes.astype(str),
    ],
    ids=["fractions", "negative", "too large", "missing", "words"],
)
def test_rule_for_credits_is_told_of_what_is_no_bin(change):
    class Odd:
        def credit_features(self, learner):
            return learner.predict(change(learner.X))

    with pytest.raises(ValueError, match=r"predict needs numbers of bins, 0 to 255, as X has: 255 stands for a"):
        MPBoostClassifier(**SMALL, importance=Odd()).fit(X, Y)


def test_rule_for_credits_may_pass_bins_of_any_type():
    class Wide:
        def credit_features(self, learner):
            outputs = learner.predict(learner.X)
            for kind in (int, float):
                np.testing.assert_array_equal(learner.predict(learner.X.astype(kind)), outputs)
            missing = np.full_like(learner.X, 255)
            np.testing.assert_array_equal(learner.predict(missing.astype(float)), learner.predict(missing))
            return learner.importances

    MPBoostClassifier(**SMALL, importance=Wide()).fit(X, Y)


def test_rule_for_credits_judges_by_the_minipatch_if_nothing_is_left():
    witness = Witness()
    parameters = SMALL | {"max_samples": 200, "stopping": None, "n_estimators": 3, "importance": witness}
    MPBoostClassifier(**parameters).fit(X, Y)
    np.testing.assert_array_equal(witness.seen[0].positions, np.arange(200))


def test_rule_for_q_sees_the_learners_so_far():
    model, seen = watch(MPBoostClassifier, (X, Y), feature_update=Witness())
    sums, counts = np.zeros(5), np.zeros(5, dtype=int)
    assert [each.iteration for each in seen] == [*range(1, 26)]
    for each in seen:
        sums[each.features] += each.importances
        counts[each.features] += 1
        np.testing.assert_array_equal(each.counts, counts[each.features])
        np.testing.assert_allclose(each.mean_importances, (sums / np.maximum(counts, 1))[each.features])
        np.testing.assert_allclose(each.probabilities, 0.2)
        assert each.n_features == 5
    np.testing.assert_allclose(model.feature_probabilities_, 0.2)


# What rules do.


def test_rows_of_weight_zero_are_not_drawn():
    class Even:
        def log_weight_rows(self, rows):
            return np.where(rows.positions % 2 == 0, 0.0, -np.inf)

    class Rows(Callback):
        def on_iteration_end(self, run):
            assert (run.rows % 2 == 0).all()

    for make, data in ((MPBoostClassifier, (X, Y)), (partial(MPBoostRegressor, observation_exploration=0.0), NUMBERS)):
        model = make(**SMALL, weighting=Even(), callbacks=[Rows()]).fit(*data)
        p = model.observation_probabilities_
        np.testing.assert_allclose(p[::2], 0.01)
        np.testing.assert_allclose(p[1::2], 0.0, atol=1e-300)


def test_rows_of_weight_zero_are_explored_by_regressors():
    class Even:
        def log_weight_rows(self, rows):
            return np.where(rows.positions % 2 == 0, 0.0, -np.inf)

    model = MPBoostRegressor(**SMALL, weighting=Even(), observation_exploration=0.25).fit(*NUMBERS)
    np.testing.assert_allclose(model.observation_probabilities_[1::2].sum(), 0.125)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_rows_of_weight_zero_fill_minipatches_up(weighted):
    class Few:
        def log_weight_rows(self, rows):
            return np.where(rows.positions < 10, 0.0, -np.inf)

    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(Y)) if weighted else None
    for max_samples in (40, 200):
        parameters = SMALL | {"max_samples": max_samples, "stopping": None}
        model = MPBoostClassifier(**parameters, weighting=Few()).fit(X, Y, weights)
        assert model.observation_probabilities_[:10].sum() == pytest.approx(1.0)
        assert model.score(X, Y) > 0.6


def test_rule_may_leave_out_a_class():
    class One:
        def log_weight_rows(self, rows):
            return np.where(rows.targets == 1, 0.0, -np.inf)

    model = MPBoostClassifier(**SMALL, weighting=One()).fit(X, Y)
    assert model.n_iter_ == 25


def test_rules_are_not_asked_where_nothing_adapts():
    witness = Witness()
    parameters = {"adaptive_observations": False, "adaptive_features": False}
    model = MPBoostClassifier(**SMALL, **parameters, weighting=witness, feature_update=witness).fit(X, Y)
    assert witness.seen == []
    assert_same(model, MPBoostClassifier(**SMALL, **parameters).fit(X, Y))


@pytest.mark.filterwarnings("ignore:This model is no better:UserWarning")  # all rows count in its score
def test_rule_follows_a_change_that_names_cannot_see():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1000, 4))
    is_new = np.arange(1000) >= 800
    target = (table[:, 0] > 0) ^ is_new  # what was right is wrong since row 800

    class Recent:
        def log_weight_rows(self, rows):
            return -np.logaddexp(0.0, rows.margins) - (rows.n_samples - rows.positions) / 50

    quick = {"n_estimators": 100, "max_samples": 100, "max_features": 4, "random_state": 0}
    own, ours = (
        MPBoostClassifier(**quick, weighting=each).fit(table, target).score(table[is_new], target[is_new])
        for each in (Recent(), "logistic")
    )
    assert own > 0.95
    assert ours < 0.7


@pytest.mark.slow
def test_sums_of_probabilities_stay_one_after_many_updates():
    class Noisy:
        def update_probabilities(self, features):
            return np.random.default_rng(features.iteration).uniform(size=len(features.features)) ** 8

    parameters = SMALL | {"n_estimators": 3000, "max_samples": 5, "stopping": None}
    for rule in (Noisy(), OwnMomentum(0.9)):
        model = MPBoostClassifier(**parameters, feature_update=rule).fit(X, Y)
        assert model.feature_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)
        assert (model.feature_probabilities_ >= 0).all()


@pytest.mark.parametrize("numbers", [[1e308, 1e308], [1e-320, 0.0], [0.1, 0.3]])
def test_probabilities_of_any_size_are_scaled(numbers):
    rule = type("Given", (), {"update_probabilities": lambda self, features: numbers})()
    features = PatchFeatures(1, 9, np.array([2, 4]), np.array([0.1, 0.2]), *np.ones((2, 2)), np.array([1, 1]))
    shares = update_probabilities(rule, features)
    assert shares.sum() == pytest.approx(0.3)
    assert shares[0] * numbers[1] == pytest.approx(shares[1] * numbers[0])


def test_rule_for_q_may_prune_features():
    class Prune:
        def update_probabilities(self, features):
            masses.append(features.probabilities.sum())
            q = np.where(features.mean_importances < 0, 0.0, features.probabilities)
            return q if q.any() else features.probabilities

    masses = []
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 30))
    target = table[:, 0] + rng.normal(size=300) > 0
    parameters = SMALL | {"n_estimators": 300, "max_features": 3, "stopping": None}
    model = MPBoostClassifier(**parameters, feature_update=Prune()).fit(table, target)
    assert min(masses) == 0.0  # only features that were pruned before
    assert (model.feature_probabilities_ == 0).any()
    assert model.feature_probabilities_.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("numbers", [[0.0, 0.0], [1.0, 3.0], [1e-320, 0.0]])
def test_probabilities_of_zero_stay_zero(numbers):
    rule = type("Given", (), {"update_probabilities": lambda self, features: numbers})()
    features = PatchFeatures(1, 9, np.array([2, 4]), np.zeros(2), *np.ones((2, 2)), np.array([1, 1]))
    np.testing.assert_array_equal(update_probabilities(rule, features), [0.0, 0.0])


@pytest.mark.slow
def test_rules_work_with_all_else():
    rules = {"weighting": Tilted(), "importance": Costs(), "feature_update": Hedge()}
    one, two = (MPBoostClassifier(**SMALL, **rules, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 3))
    assert_same(one, two)
    scored = MPBoostClassifier(**SMALL, **rules, scoring="roc_auc").fit(X, Y, X_val=X, y_val=Y)
    assert scored.validation_score_ > 0.7
    validated = MPBoostRegressor(**SMALL, **rules, scoring="neg_mean_absolute_error").fit(*NUMBERS)
    assert validated.oop_score_ < 0


@pytest.mark.slow
def test_rule_goes_through_a_trial_of_sizes():
    data = make_hard()
    own, ours = (
        MPBoostClassifier(n_estimators=60, random_state=0, weighting=each).fit(*data)
        for each in (OwnRows("logistic"), "logistic")
    )
    assert own.max_samples_ > 8 * 1600**0.5  # the trial has chosen larger minipatches
    assert_same_but_for_history(own, ours)


# Rules that are wrong.


def make_rule(method, give, first):
    """Make a rule that gives something else from a certain call on."""

    class Odd:
        n_calls = 0

        def answer(self, seen):
            type(self).n_calls += 1
            good = {
                "log_weight": lambda: -np.asarray(seen),
                "log_weight_rows": lambda: -seen.margins,
                "credit_features": lambda: seen.importances,
                "update_probabilities": lambda: seen.probabilities,
            }[method]()
            return good if self.n_calls < first else give(good)

    setattr(Odd, method, Odd.answer)
    return Odd()


def put(value):
    def give(good):
        good = good.copy()
        good[len(good) // 2] = value
        return good

    return give


SHAPES = {
    "short": (lambda good: good[:-1], ValueError, r"must return an array of shape \(\d+,\), but .* of shape"),
    "column": (lambda good: good[:, None], ValueError, "must return an array of shape"),
    "number": (lambda good: 1.0, ValueError, r"of shape \(\)"),
    "none": (lambda good: None, ValueError, r"of shape \(\)"),
    "complex": (lambda good: good + 1j, TypeError, "must be real numbers, not complex128"),
    "words": (lambda good: good.astype(str), TypeError, "must be real numbers"),
    "ragged": (
        lambda good: [[1.0], [1.0, 2.0]],
        ValueError,
        r"What \w+ of Odd returned (after|for) .* is no array of numbers",
    ),
    "a word": (
        lambda good: np.array([1.0, "a"], object),
        ValueError,
        r"of Odd returned (after|for) .* is no array of numbers",
    ),
    "a set": (
        lambda good: np.array([1.0, {2}], object),
        TypeError,
        r"of Odd returned (after|for) .* is no array of numbers",
    ),
}
NUMBERS_OF = {
    "log_weight": [np.nan, np.inf, -np.inf, 1e13],
    "log_weight_rows": [np.nan, np.inf, 1e13],
    "credit_features": [np.nan, np.inf, -np.inf],
    "update_probabilities": [np.nan, np.inf, -0.1],
}
PARAMETERS = {
    "log_weight": "weighting",
    "log_weight_rows": "weighting",
    "credit_features": "importance",
    "update_probabilities": "feature_update",
}
ESTIMATORS = {
    "two": (MPBoostClassifier, (X, Y)),
    "many": (MPBoostClassifier, load_iris(return_X_y=True)),
    "oc": (partial(MPBoostClassifier, multiclass="oc"), load_iris(return_X_y=True)),
    "numbers": (MPBoostRegressor, NUMBERS),
}


def assert_fails(method, give, error, message, make, data, first):
    if method == "log_weight" and make is not MPBoostRegressor:
        first = 1  # one table may do for all of a fit
    model = make(**SMALL, **{PARAMETERS[method]: make_rule(method, give, first)})
    with pytest.raises(error, match=message) as caught:
        model.fit(*data)
    assert set(vars(model)) == set(model.get_params())  # nothing of a model is left
    return caught.value


@pytest.mark.parametrize("first", [1, 4], ids=["at once", "later"])
@pytest.mark.parametrize(("make", "data"), ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.parametrize(("give", "error", "message"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("method", PARAMETERS)
def test_rule_of_a_wrong_shape_or_kind_is_told(method, give, error, message, make, data, first):
    assert_fails(method, give, error, message, make, data, first)


@pytest.mark.parametrize("first", [1, 4], ids=["at once", "later"])
@pytest.mark.parametrize(("make", "data"), ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.parametrize(
    ("method", "value"), [(method, value) for method, values in NUMBERS_OF.items() for value in values]
)
def test_rule_with_wrong_numbers_is_told(method, value, make, data, first):
    message = f"{method} of Odd must return .*{'' if value == 1e13 else value}"
    assert_fails(method, put(value), ValueError, message, make, data, first)


@pytest.mark.parametrize(("make", "data"), [(MPBoostClassifier, (X, Y)), (MPBoostRegressor, NUMBERS)])
def test_message_names_the_margin_or_the_residual(make, data):
    message = r"but is nan at a margin or residual of -?[\d.e-]+: for a weight"
    assert_fails("log_weight", put(np.nan), ValueError, message, make, data, 1)


def test_rule_that_leaves_no_row_or_no_feature_is_told():
    nothing = partial(np.full_like, fill_value=-np.inf)
    assert_fails("log_weight_rows", nothing, ValueError, "gave all rows a weight of 0", MPBoostClassifier, (X, Y), 2)
    assert_fails("update_probabilities", np.zeros_like, ValueError, "only zeros after", MPBoostClassifier, (X, Y), 2)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", PARAMETERS)
def test_exception_of_a_rule_gets_a_note(method, n_jobs):
    def fail(good):
        raise ZeroDivisionError("by nothing")

    make = partial(MPBoostClassifier, n_jobs=n_jobs)
    error = assert_fails(method, fail, ZeroDivisionError, "by nothing", make, (X, Y), 3)
    (note,) = error.__notes__
    assert note.startswith(f"This was raised by {method} of Odd, a rule of your own, ")


def test_message_names_row_and_time():
    class Odd:
        def log_weight_rows(self, rows):
            return np.where((rows.positions == 7) & (rows.n_learners == 2), np.nan, 0.0)

    weights = np.where(np.arange(len(Y)) == 3, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"but after 2 learners returned nan for row 7\."):
        MPBoostClassifier(**SMALL, round_size=1, weighting=Odd()).fit(X, Y, weights)


def test_failed_rule_leaves_the_old_model():
    model = MPBoostClassifier(**SMALL).fit(X, Y)
    before = describe_model(model)
    model.set_params(weighting=make_rule("log_weight_rows", put(np.nan), 2))
    with pytest.raises(ValueError, match="returned nan"):
        model.fit(X, 1 - Y)
    assert describe_model(model) == before


@pytest.mark.parametrize("parameter", [{"weighting": Bell}, {"importance": Costs}, {"feature_update": Hedge}])
def test_class_in_place_of_an_instance_is_told(parameter):
    with pytest.raises(TypeError, match="is a class: pass an instance"):
        MPBoostClassifier(**SMALL, **parameter).fit(X, Y)


# Rules beside all else that estimators can do.


class Power(BaseEstimator):
    """A rule with a parameter, as searches find them."""

    def __init__(self, power=1.0):
        self.power = power

    def log_weight(self, margins):
        return -self.power * np.logaddexp(0.0, margins)


def test_rules_are_cloned_pickled_and_shown():
    model = MPBoostClassifier(**SMALL, weighting=Power(2.0), importance=Costs(), feature_update=Hedge()).fit(X, Y)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.weighting.power == 2.0
    assert_same(copied, model)
    assert_same(clone(model).fit(X, Y), model)
    assert model.get_params()["weighting__power"] == 2.0
    assert "Power(power=2.0)" in repr(model)
    assert "weighting" in model._repr_html_()


def test_parameters_of_rules_are_searched():
    model = MPBoostClassifier(**SMALL, weighting=Power())
    found = OOPSearch(model, {"weighting__power": [0.5, 1.0, 4.0]}).fit(X, Y)
    assert found.best_params_["weighting__power"] in (0.5, 1.0, 4.0)
    crossed = GridSearchCV(model, {"weighting": ["logistic", Power(2.0), Bell()]}, cv=2).fit(X, Y)
    assert crossed.best_score_ > 0.6


def test_fit_with_rules_goes_on():
    rules = {"weighting": Tilted(), "importance": Costs(), "feature_update": Hedge()}
    parameters = SMALL | {"stopping": None}
    model = MPBoostClassifier(**parameters | {"n_estimators": 11}, **rules, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=25).fit(X, Y)
    assert_same(model, MPBoostClassifier(**parameters, **rules).fit(X, Y))
    with pytest.raises(ValueError, match="needs the same weighting"):
        model.set_params(weighting=Bell(), n_estimators=30).fit(X, Y)


def test_rules_that_hold_arrays_go_on():
    @dataclass
    class Fixed:
        logs: np.ndarray

        def log_weight_rows(self, rows):
            return self.logs[rows.positions]

    first, second = (Fixed(np.arange(200) / number) for number in (50, 60))
    model = MPBoostClassifier(**SMALL, weighting=first, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=30).fit(X, Y)
    assert model.n_iter_ == 30
    with pytest.raises(ValueError, match="needs the same weighting"):  # the dataclass cannot compare arrays
        model.set_params(weighting=second).fit(X, Y)


@pytest.mark.parametrize(("make", "data"), [(MPBoostClassifier, (X, Y)), (MPBoostRegressor, NUMBERS)])
def test_model_file_is_without_rules(make, data, tmp_path):
    model = make(**SMALL, weighting=Tilted(), importance=Costs(), feature_update=Hedge()).fit(*data)
    message = r"not saved \(feature_update=Hedge, importance=Costs, weighting=Tilted\)"
    with pytest.warns(UserWarning, match=message):
        save_model(model, tmp_path / "model.mpb")
    loaded = load_model(tmp_path / "model.mpb")
    np.testing.assert_array_equal(loaded.predict(data[0]), model.predict(data[0]))
    defaults = make()
    assert [loaded.weighting, loaded.importance, loaded.feature_update] == [
        defaults.weighting,
        defaults.importance,
        None,
    ]


@pytest.mark.parametrize(
    "rules", [{"weighting": Bell()}, {"weighting": Tilted()}, {"importance": Costs()}, {"feature_update": Hedge()}]
)
def test_rules_are_refused_in_several_places(rules):
    ((parameter, rule),) = rules.items()
    with pytest.raises(ValueError, match=f"{parameter}={type(rule).__name__}, .* choose placement='one'"):
        check_can_be_sharded(MPBoostClassifier(**rules))


def test_gradient_models_have_no_rules():
    with pytest.raises(TypeError, match="weighting"):
        MPGradientBoostingClassifier(weighting=Bell())
    with pytest.raises(ValueError, match="'importance' parameter"):
        MPGradientBoostingClassifier(importance=Costs()).fit(X, Y)
