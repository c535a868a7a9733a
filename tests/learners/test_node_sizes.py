"""The sizes of nodes that trees split, given or learned."""

import numpy as np
import pytest

from mpboost import MPBoostClassifier, MPBoostRegressor
from mpboost.learners.node_sizes import MEMORY, N_SIZES, N_WARM_UP, NodeSizes

#: The first iteration whose limit is learned.
FIRST = N_WARM_UP + 1
USELESS, USEFUL, UNCLEAR = (100.0, 1.0, 0.25), (100.0, 20.0, 1.0), (100.0, 1.0, 9.0)


def make_gains(**kinds):
    """Make the gains of a tree's splits, given what they are like in nodes of 2, 4, 8, ... rows."""
    gains = np.zeros((N_SIZES, 3))
    for size, kind in kinds.items():
        gains[int(size.removeprefix("of_")).bit_length() - 1] = kind
    return gains


def learn_limit(sizes, iteration, n_rows=1000):
    """Learn from earlier iterations; give the limit of the next round."""
    sizes.learn(iteration)
    return sizes.limit(n_rows)


def find_limit(gains, min_samples_split="auto", min_samples_leaf=1, n_rows=1000):
    sizes = NodeSizes(min_samples_split, min_samples_leaf)
    sizes.add(1, gains)
    return learn_limit(sizes, FIRST, n_rows)


def test_limit_is_2_while_nothing_is_known():
    assert learn_limit(NodeSizes("auto", 1), FIRST) == 2


@pytest.mark.parametrize(
    ("gains", "limit"),
    [
        pytest.param(make_gains(of_2=USEFUL, of_4=USEFUL), 2, id="all useful"),
        pytest.param(make_gains(of_2=USELESS, of_4=USEFUL), 4, id="smallest useless"),
        pytest.param(make_gains(of_2=USELESS, of_4=USELESS, of_8=USEFUL), 8, id="two useless"),
        pytest.param(make_gains(of_2=UNCLEAR, of_4=UNCLEAR), 2, id="all unclear"),
        pytest.param(make_gains(of_2=UNCLEAR, of_4=USELESS), 8, id="smallest unclear"),
        pytest.param(make_gains(of_2=USELESS, of_4=UNCLEAR, of_8=USELESS), 16, id="useless above unclear"),
        pytest.param(make_gains(of_2=UNCLEAR, of_4=USEFUL, of_8=USELESS), 2, id="useless above useful"),
        pytest.param(make_gains(of_2=USELESS), 4, id="no larger nodes"),
    ],
)
def test_limit_is_above_clearly_useless_sizes_and_below_useful_ones(gains, limit):
    assert find_limit(gains) == limit


def test_limit_leaves_trees_some_splits():
    useless = make_gains(**{f"of_{2**k}": USELESS for k in range(1, 10)})
    assert find_limit(useless, n_rows=800) == 100
    assert find_limit(useless, n_rows=8) == 2


@pytest.mark.parametrize(("min_samples_leaf", "first"), [(1, 2), (2, 4), (3, 4), (4, 8), (2**31 - 2, 125)])
def test_limit_starts_with_the_first_nodes_that_can_be_split(min_samples_leaf, first):
    assert find_limit(make_gains(), min_samples_leaf=min_samples_leaf) == first


def test_given_limit_stays():
    assert find_limit(make_gains(of_2=USELESS), min_samples_split=2) == 2
    assert find_limit(make_gains(of_2=USEFUL), min_samples_split=5000) == 5000


def test_what_is_not_measured_again_becomes_unclear():
    sizes = NodeSizes("auto", 1)
    sizes.add(1, make_gains(of_2=USELESS, of_4=USEFUL))
    limits = []
    for iteration in range(FIRST, 1000):
        limits.append(learn_limit(sizes, iteration))
        sizes.add(iteration, make_gains(of_4=USEFUL))
    # kept + 2 deviations = 1 a + 2 * 0.5 sqrt(a) < 3 a, where a is what is left, until a is a quarter.
    n_clear = int(np.ceil(np.log(1 / 4) / np.log(MEMORY)))
    assert limits == [4] * n_clear + [2] * (len(limits) - n_clear)


def test_useless_nodes_can_become_useful():
    sizes = NodeSizes("auto", 1)
    sizes.add(1, make_gains(of_2=USELESS))
    assert learn_limit(sizes, FIRST) == 4
    sizes.add(FIRST, make_gains(of_2=USEFUL))
    assert learn_limit(sizes, FIRST + 1) == 2


def test_iteration_that_is_repeated_counts_once():
    sizes, other = NodeSizes("auto", 1), NodeSizes("auto", 1)
    sizes.add(FIRST, make_gains(of_2=USEFUL))  # interrupted, so that its tree is not in the model
    assert learn_limit(sizes, FIRST) == 2
    for learned in (sizes, other):
        learned.add(FIRST, make_gains(of_2=USELESS))
    assert learn_limit(sizes, FIRST + 1) == learn_limit(other, FIRST + 1) == 4


def test_first_trees_split_all_nodes():
    sizes = NodeSizes("auto", 1)
    sizes.add(1, make_gains(of_2=USELESS))
    assert [learn_limit(sizes, t) for t in (2, N_WARM_UP, FIRST)] == [2, 2, 4]


def test_trees_of_a_round_count_in_their_order():
    one, other = NodeSizes("auto", 1), NodeSizes("auto", 1)
    gains = [make_gains(of_2=USELESS), make_gains(of_2=UNCLEAR), make_gains(of_2=USEFUL)]
    for t in (1, 2, 3):
        one.add(t, gains[t - 1])
        other.add(4 - t, gains[3 - t])
    one.learn(4)
    other.learn(4)
    np.testing.assert_array_equal(one._gains, other._gains)
    np.testing.assert_allclose(one._gains[1], MEMORY**2 * gains[0][1] + MEMORY * gains[1][1] + gains[2][1])


def make_data(noise, n_samples=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 8))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3])
    return X, signal + noise * rng.normal(size=n_samples)


def count_leaves(model):
    forest = model._ensemble.forest
    return np.mean([len(forest.tree(k).leaf_values) for k in range(len(forest))])


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_are_smaller_if_classes_are_noisy(n_classes):
    ratios = []
    for noise in (0.0, 3.0):
        X, values = make_data(noise)
        y = np.searchsorted(np.quantile(values, np.arange(1, n_classes) / n_classes), values)
        options = {"n_estimators": 200, "max_samples": 800, "stopping": None, "random_state": 0}
        auto, full = (MPBoostClassifier(**options, min_samples_split=s).fit(X, y) for s in ("auto", 2))
        ratios.append(count_leaves(auto) / count_leaves(full))
    assert ratios[0] > 0.9
    assert ratios[1] < 0.7


@pytest.mark.slow
def test_trees_are_smaller_if_numbers_are_noisy():
    ratios = []
    for noise in (0.0, 4.0):
        X, y = make_data(noise)
        options = {"n_estimators": 150, "stopping": None, "random_state": 0}
        auto, full = (MPBoostRegressor(**options, min_samples_split=s).fit(X, y) for s in ("auto", 2))
        ratios.append(count_leaves(auto) / count_leaves(full))
    assert ratios[0] > 0.9
    assert ratios[1] < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("max_samples", ["auto", 800])
def test_continued_fit_learns_the_sizes_that_one_fit_does(max_samples):
    X, values = make_data(3.0)
    y = values > np.median(values)
    options = {"max_samples": max_samples, "stopping": None, "random_state": 0}
    whole = MPBoostClassifier(**options, n_estimators=160).fit(X, y)
    parts = MPBoostClassifier(**options, n_estimators=30, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=160).fit(X, y)
    np.testing.assert_array_equal(whole.decision_function(X), parts.decision_function(X))
    assert count_leaves(whole) < 0.8 * count_leaves(whole.set_params(min_samples_split=2).fit(X, y))
