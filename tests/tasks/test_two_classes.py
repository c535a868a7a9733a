"""The two-class task: ties, patches of one class, outputs and scores."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.sampling.observations import complete_classes
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights, compute_logs
from mpboost.tasks.rates import MAX_AUTO_RATE
from mpboost.tasks.two_classes import MAX_SHORT_SUM, BinaryTask
from mpboost.tasks.weightings import log_weighting
from tests.support.native.naive_tree import as_columns, make_random_codes, make_random_splits, make_tree
from tests.support.oracle import TABLE_I, WEIGHTINGS, is_completion


def complete(labels, log_weights, rows, iteration, threads):
    """Complete a minipatch as the sampler does it."""
    question = Labels(np.array(labels, dtype=np.int8), LogWeights(np.array(log_weights, dtype=np.float64)))
    return complete_classes(np.array(rows), question, 0, iteration)


def make_task(labels, **options):
    options = {"weighting": "logistic", "learning_rate": 1.0, "adaptive": True, **options}
    return BinaryTask(np.array(labels, dtype=np.int8), **options)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param([1, 1, -1], 1, id="more positive"),
        pytest.param([1, -1, -1], -1, id="more negative"),
        pytest.param([1, -1, -1, 1], 1, id="equal: the second class"),
        pytest.param([-1, 1], 1, id="one of each"),
    ],
)
def test_tie_label_is_the_more_frequent_class(labels, expected):
    assert make_task(labels).tie_label == expected


@pytest.mark.parametrize("n_negative", range(1, 60))
def test_tie_label_is_not_decided_by_rounding(n_negative):
    labels = np.repeat([-1, 1], [n_negative, 30]).astype(np.int8)
    weights = np.where(labels < 0, 1 / n_negative, 1 / 30)  # the classes weigh the same, but for the last bits
    assert make_task(labels, sample_weights=weights).tie_label == 1
    heavier = np.where(labels < 0, 1.001 * weights, weights)
    assert make_task(labels, sample_weights=heavier).tie_label == -1


class TestComplete:
    """Patches of one class get a row of the other one."""

    LABELS = (-1, -1, -1, -1, 1, 1, 1)
    LOG_WEIGHTS = (0.0, -3.0, 2.0, 5.0, 1.0, 4.0, -9.0)

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            pytest.param([0, 4], [0, 4], id="two classes stay"),
            pytest.param([0, 1, 2, 3, 6], [0, 1, 2, 3, 6], id="an unlikely row of the other class is enough"),
            pytest.param([0, 1, 2], [0, 2, 5], id="the least likely row makes room for the likeliest positive"),
            pytest.param([0, 2, 3], [2, 3, 5], id="not the first row but the least likely one"),
            pytest.param([4, 5, 6], [3, 4, 5], id="the likeliest negative"),
            pytest.param([0, 1, 2, 3], [0, 2, 3, 5], id="a whole class"),
            pytest.param([0], [0], id="a single row stays"),
        ],
    )
    def test_complete_swaps_in_the_likeliest_row_of_the_missing_class(self, threads, rows, expected):
        completed = complete(self.LABELS, self.LOG_WEIGHTS, rows, 1, threads)
        assert completed.tolist() == expected

    def test_complete_matches_naive_twin(self, threads):
        rng = np.random.default_rng(0)
        n_swapped = 0
        for t in range(300):
            labels = np.where(rng.permutation(30) < 3, 1, -1)
            log_weights = rng.permutation(30) if t % 2 else rng.integers(3, size=30)
            rows = np.sort(rng.permutation(30)[: rng.integers(1, 8)])
            completed = complete(labels, log_weights, rows, t, threads)
            assert is_completion(rows, completed, labels, log_weights)
            n_swapped += completed.tolist() != rows.tolist()
        assert n_swapped > 50

    def test_complete_settles_ties_by_lot(self, threads):
        labels, rows = np.repeat([-1, 1], 50), np.arange(20)
        patches = [complete(labels, np.zeros(100), rows, t, threads) for t in range(400)]
        swapped_in = np.bincount([patch[-1] for patch in patches], minlength=100)[50:]
        assert swapped_in.max() < 25  # 8 each are expected
        assert np.count_nonzero(swapped_in) > 45
        assert len({tuple(patch[:-1]) for patch in patches}) == 20  # any of them may go


@pytest.mark.parametrize("learning_rate", [1.0, 0.1])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_update_keeps_outputs_weights_and_scores(threads, weighting, learning_rate):
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 1], 101)
    task = make_task(labels, weighting=weighting, learning_rate=learning_rate)
    F, G = np.zeros(101, dtype=int), np.zeros(101, dtype=int)
    for _ in range(20):
        votes, rows = rng.choice([-1, 1], 101).astype(np.int8), np.sort(rng.permutation(101)[:30])
        task.update(votes, rows, threads)
        F += votes
        G += np.where(np.isin(np.arange(101), rows), 0, votes)
        np.testing.assert_array_equal(task.votes, F)
        np.testing.assert_array_equal(task.votes - task.in_patch_votes, G)
        expected = np.log(TABLE_I[weighting](labels, learning_rate * F))
        np.testing.assert_allclose(task.log_weights, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(task.compute_log_weights(task.state), task.log_weights)
        assert task.oop_score == np.mean(np.sign(G) == labels)
        assert task.train_score == np.mean(np.where(F == 0, task.tie_label, np.sign(F)) == labels)


def test_update_adapts_the_rate_to_votes_of_learners_that_never_saw_the_rows(threads):
    # The learners are right about all rows but those of their minipatch, which they get wrong.
    labels = np.tile([-1, 1], 30).astype(np.int8)
    liars, experts = (make_task(labels, learning_rate="auto") for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows = np.sort(rng.permutation(60)[:40])
        inside = np.isin(np.arange(60), rows)
        experts.update(np.where(inside, -labels, labels), rows, threads)
        liars.update(np.where(inside, labels, -labels), rows, threads)
    assert (experts.votes * labels).mean() < 0 < (liars.votes * labels).mean()
    assert experts.learning_rate.value == MAX_AUTO_RATE
    assert liars.learning_rate.value < MAX_AUTO_RATE / 10


def test_update_weighs_all_votes_by_the_rate_of_now(threads):
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 1], 60)
    task, rates, states = make_task(labels, learning_rate="auto"), [], []
    for _ in range(40):
        task.update(rng.choice([-1, 1], 60).astype(np.int8), np.sort(rng.permutation(60)[:20]), threads)
        rates.append(task.learning_rate.value)
        states.append({name: array.copy() for name, array in task.state.items()})
        np.testing.assert_allclose(task.log_weights, log_weighting("logistic", rates[-1] * labels * task.votes))
    assert len(set(rates)) > 20
    for rate, state in zip(rates, states, strict=True):  # also of a state long ago
        np.testing.assert_allclose(
            task.compute_log_weights(state), log_weighting("logistic", rate * labels * state["votes"])
        )


def test_update_keeps_the_rate_if_weights_do_not_adapt(threads):
    task = make_task([-1, 1, 1, -1], learning_rate="auto", adaptive=False)
    for t in range(50):
        task.update(-task.labels, np.array([t % 4]), threads)
    assert task.learning_rate.value == MAX_AUTO_RATE


def test_update_leaves_weights_alone_if_they_do_not_adapt(threads):
    task = make_task([-1, 1, 1], adaptive=False)
    task.update(np.array([1, 1, -1], dtype=np.int8), np.array([0]), threads)
    assert task.votes.tolist() == [1, 1, -1]
    assert task.log_weights.tolist() == [0.0] * 3
    assert task.compute_log_weights(task.state).tolist() == [0.0] * 3


def test_update_changes_the_weights_that_the_next_question_shows(threads):
    task = make_task([-1, 1])
    assert compute_logs(task.pose(range(1, 2), threads)[0].weights).tolist() == [-np.log(2)] * 2
    task.update(np.array([1, 1], dtype=np.int8), np.array([0]), threads)
    log_weights = compute_logs(task.pose(range(2, 3), threads)[0].weights)
    assert log_weights[0] > log_weights[1]


def test_update_takes_more_votes_than_fit_in_16_bits(threads):
    task = make_task([-1, 1, 1], learning_rate=1e-3)
    task._n_learners = MAX_SHORT_SUM - 1
    task.votes[:] = task.in_patch_counts[:] = MAX_SHORT_SUM - 1
    task.in_patch_votes[:] = -(MAX_SHORT_SUM - 1)
    ones, dtypes = np.ones(3, dtype=np.int8), []
    for t in range(3):
        task.update(ones, np.arange(3), threads)
        n_votes = MAX_SHORT_SUM + t
        assert task.votes.tolist() == task.in_patch_counts.tolist() == [n_votes] * 3
        np.testing.assert_allclose(task.log_weights, log_weighting("logistic", 1e-3 * n_votes * np.array([-1, 1, 1])))
        dtypes.append(task.votes.dtype)
    assert dtypes == [np.int16, np.int32, np.int32]
    assert task.in_patch_votes.tolist() == [-MAX_SHORT_SUM + 4] * 3


@pytest.mark.parametrize("n_learners", [5, MAX_SHORT_SUM, 2 * MAX_SHORT_SUM])
def test_count_oop_votes_counts_all_learners_that_never_saw_a_row(n_learners):
    task, dtype = make_task([-1, 1, 1]), np.int16 if n_learners <= MAX_SHORT_SUM else np.int32
    state = {
        "votes": np.array([n_learners, -n_learners, 3], dtype=dtype),
        "in_patch_votes": np.array([0, 0, -2], dtype=dtype),
        "in_patch_counts": np.array([0, 0, n_learners - 5], dtype=dtype),
    }
    assert task.count_oop_votes(state, n_learners).tolist() == [[0, n_learners], [n_learners, 0], [0, 5]]
    assert task.count_oop_learners(state, n_learners).tolist() == [n_learners, n_learners, 5]


def test_update_with_a_tree_is_that_with_its_votes(threads):
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 1], 300)
    by_votes, by_trees = (make_task(labels, learning_rate="auto") for _ in range(2))
    columns = as_columns(make_random_codes(rng, 9, 300))
    for _ in range(10):
        tree = make_tree(make_random_splits(rng, 30, 9), rng.choice([-1.0, 1.0], 31), 9)
        votes, rows = np.empty(300, dtype=np.int8), np.sort(rng.permutation(300)[:50])
        tree.apply_votes(columns, votes, threads)
        by_votes.update(votes, rows, threads)
        by_trees.update(_native.AppliedTree(tree, columns), rows, threads)
        for name, array in by_votes.state.items():
            np.testing.assert_array_equal(by_trees.state[name], array)
        assert (by_trees.train_score, by_trees.oop_score) == (by_votes.train_score, by_votes.oop_score)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_update_weighs_any_number_of_votes(threads, weighting):
    # All votes of a row agree, so the margins are as large as they can be after so many iterations.
    task = make_task([-1, 1], weighting=weighting)
    ones, patch = np.ones(2, dtype=np.int8), np.array([0])
    for t in range(1, 1101):
        task.update(ones, patch, threads)
        np.testing.assert_array_equal(task.log_weights, log_weighting(weighting, np.array([-t, t], dtype=np.float64)))
