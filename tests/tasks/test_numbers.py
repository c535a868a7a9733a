"""The task for numbers: weights from residuals, means, scores, and what one outlier may do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score

from mpboost.outputs.statistics import compute_median, compute_r2
from mpboost.sampling.draws import probabilities_from_logs
from mpboost.tasks.numbers import ValueTask
from tests.support.value_oracle import RESIDUAL_WEIGHTINGS

each_weighting = pytest.mark.parametrize("weighting", RESIDUAL_WEIGHTINGS)


def make_task(labels, **options):
    options = {"weighting": "linear", "exploration": 0.25, "adaptive": True, **options}
    return ValueTask(np.array(labels, dtype=np.float64), **options)


def update(task, outputs, rows, threads):
    task.update(np.array(outputs, dtype=np.float64), np.array(rows, dtype=np.int64), threads)


@each_weighting
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_update_keeps_means_and_scores(threads, weighting, weighted):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=60)
    weights = rng.uniform(0.1, 3.0, 60) if weighted else None
    task = make_task(labels, weighting=weighting, sample_weights=weights)
    everything, outside = [], []
    for t in range(1, 13):
        outputs, rows = rng.normal(size=60), np.sort(rng.permutation(60)[:35])
        before = outputs.copy()
        update(task, outputs, rows, threads)
        np.testing.assert_array_equal(outputs, before)
        everything.append(outputs)
        outside.append(~np.isin(np.arange(60), rows))
        counts = np.sum(outside, axis=0)
        means = np.sum(np.where(outside, everything, 0), axis=0)[counts > 0] / counts[counts > 0]
        np.testing.assert_allclose(task.sums / t, np.mean(everything, axis=0), atol=1e-12)
        oop = task.predict_oop(task.state)
        np.testing.assert_allclose(oop[counts > 0], means, atol=1e-12)
        assert np.isnan(oop[counts == 0]).all()
        assert task.train_score == pytest.approx(r2_score(labels, np.mean(everything, axis=0), sample_weight=weights))
        known = np.where(counts > 0, np.nan_to_num(oop), np.average(labels, weights=weights))
        assert task.oop_score == pytest.approx(r2_score(labels, known, sample_weight=weights))
        np.testing.assert_array_equal(task.log_weights, task.compute_log_weights(task.state))


@each_weighting
def test_weights_are_large_where_the_mean_is_wrong(threads, weighting):
    task = make_task([0.0, 0.0, 0.0, 0.0, 0.0], weighting=weighting)
    update(task, [0.0, 0.5, 1.0, 2.0, 2.9], [0], threads)
    p = probabilities_from_logs(task.log_weights)
    assert np.all(np.diff(p) >= 0)
    assert p[-1] > 2 * p[0] > 0


@pytest.mark.parametrize("exploration", [0.0, 0.1, 0.5, 1.0])
@each_weighting
def test_exploration_is_a_share_of_the_uniform_distribution(threads, weighting, exploration):
    rng = np.random.default_rng(0)
    labels, outputs = rng.normal(size=(2, 50))
    alone, mixed = (
        make_task(labels, weighting=weighting, exploration=0.0),
        make_task(labels, weighting=weighting, exploration=exploration),
    )
    for task in (alone, mixed):
        update(task, outputs, [0, 1], threads)
    p, mixture = (probabilities_from_logs(task.log_weights) for task in (alone, mixed))
    np.testing.assert_allclose(mixture, (1 - exploration) * p + exploration / 50, rtol=1e-12, atol=1e-300)


@each_weighting
def test_one_outlier_does_not_own_p(threads, weighting):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=100)
    labels[0] = 1e12
    task = make_task(labels, weighting=weighting)
    update(task, np.zeros(100), [0], threads)
    p = probabilities_from_logs(task.log_weights)
    assert p[0] == p.max() < 0.06
    assert np.sort(p)[-50] > 0.005  # the others still tell right from wrong


@each_weighting
@pytest.mark.parametrize("exploration", [0.0, 0.25])
def test_p_is_uniform_where_all_is_right(threads, weighting, exploration):
    task = make_task([1.0, 2.0, 3.0], weighting=weighting, exploration=exploration)
    update(task, [1.0, 2.0, 3.0], [0], threads)
    np.testing.assert_allclose(probabilities_from_logs(task.log_weights), 1 / 3, rtol=1e-12)
    assert task.train_score == 1.0


@each_weighting
def test_p_finds_the_few_rows_that_are_wrong(threads, weighting):
    # More than half of the residuals are zero, and so is their median.
    task = make_task(np.zeros(10), weighting=weighting, exploration=0.1)
    update(task, [1.0] + [0.0] * 9, [0], threads)
    p = probabilities_from_logs(task.log_weights)
    assert p[0] > 0.9
    assert p[1:].min() > 0.005


def test_update_leaves_weights_alone_if_they_do_not_adapt(threads):
    weights = np.array([0.5, 1.0, 1.5])
    task = make_task([1.0, 2.0, 3.0], adaptive=False, sample_weights=weights)
    update(task, [0.0, 5.0, 0.0], [0], threads)
    np.testing.assert_array_equal(task.log_weights, np.log(weights))
    np.testing.assert_array_equal(task.compute_log_weights(task.state), np.log(weights))


def test_update_changes_the_weights_that_a_sampler_holds(threads):
    task = make_task([1.0, 2.0, 3.0])
    held = task.log_weights
    update(task, [1.0, 2.0, 5.0], [0], threads)
    assert task.log_weights is held
    assert held[2] > held[1]


def test_oop_sums_do_not_keep_what_rounding_leaves(threads):
    task = make_task([0.0, 0.0])
    for output in (1e16, 1.0, 0.1):
        update(task, [output, output], [0], threads)
    assert task.oop_sums[0] == 0.0
    assert task.oop_counts.tolist() == [0, 3]


def test_pose_gives_the_numbers_of_which_any_rows_will_do(threads):
    task = make_task([1.0, 1.0, 2.0])
    question = task.pose(range(1, 2), threads)[0]
    assert question.values is task.labels
    assert not question.are_classes


@pytest.mark.parametrize(
    ("predictions", "labels", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 1.0),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0], 0.0),
        ([3.0, 2.0, 1.0], [1.0, 2.0, 3.0], -3.0),
        ([5.0, 5.0], [5.0, 5.0], 1.0),
        ([5.0, 6.0], [5.0, 5.0], 0.0),
        ([0.1, 0.1 - 1e-17], [0.1, 0.1], 1.0),
        ([0.0, 0.0], [0.0, 5e-324], 1.0),
    ],
    ids=["right", "mean", "worse", "constant and right", "constant and wrong", "constant but for rounding", "tiny"],
)
def test_find_r2_by_hand(predictions, labels, expected):
    assert compute_r2(np.array(predictions), np.array(labels)) == pytest.approx(expected)


rows = st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([0.25, 0.5, 1.0, 2.0])), min_size=1, max_size=20)


@given(rows)
def test_find_median_halves_the_weight(pairs):
    values, weights = np.array(pairs, dtype=float).T
    median = compute_median(values, weights)
    assert weights[values <= median].sum() >= weights.sum() / 2
    assert weights[values < median].sum() < weights.sum() / 2
    assert compute_median(values) == np.median(values)
