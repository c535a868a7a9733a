"""The tasks for many classes: votes, weights and scores, colours, and counts that outgrow their type."""

import numpy as np
import pytest
from scipy.special import logsumexp

from mpboost.sampling.observations import complete_classes
from mpboost.tasks import many_classes as class_tasks
from mpboost.tasks.many_classes import TASKS
from mpboost.tasks.weightings import log_weighting
from tests.support.class_oracle import ClassOracle
from tests.support.oracle import WEIGHTINGS, is_completion

N_ROWS, N_CLASSES = 101, 5
WAYS = list(TASKS)
each_way = pytest.mark.parametrize("way", WAYS)


def draw_labels(seed=0):
    return np.random.default_rng(seed).integers(0, N_CLASSES, N_ROWS).astype(np.uint16)


def complete(task, rows, iteration, threads):
    """Complete a minipatch as the sampler does it."""
    return complete_classes(rows, task.pose(range(iteration, iteration + 1), threads)[0], 0, iteration)


def make_task(way, labels=None, **options):
    labels = draw_labels() if labels is None else np.array(labels, dtype=np.uint16)
    options = {"weighting": "logistic", "learning_rate": 1.0, "adaptive": True, **options}
    return TASKS[way](labels, N_CLASSES, **options)


def feed(task, n_learners, threads, seed=0):
    """Pose, complete and update as the loop does, with votes at random; yield after each learner."""
    rng = np.random.default_rng(seed)
    for t in range(1, n_learners + 1):
        task.pose(range(t, t + 1), threads)
        rows = np.sort(rng.permutation(N_ROWS)[:30])
        is_coloured = isinstance(task, class_tasks.ColourTask)
        votes = rng.choice([-1, 1], N_ROWS) if is_coloured else rng.integers(0, N_CLASSES, N_ROWS)
        task.update(votes.astype(task.outputs.dtype), rows, threads)
        yield t, votes, rows


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@each_way
def test_update_keeps_outputs_weights_and_scores(threads, way, weighting, weighted):
    labels = draw_labels()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, N_ROWS) if weighted else None
    task = make_task(way, labels, weighting=weighting, learning_rate=0.3, sample_weights=weights, score_weights=weights)
    naive = ClassOracle(
        np.zeros((1, N_ROWS), dtype=np.uint8),
        labels,
        mu=0.5,
        way=way,
        weighting=weighting,
        learning_rate=0.3,
        ranks=task.ranks,
        sample_weights=weights,
    )
    winners = np.arange(N_CLASSES)[np.argsort(task.ranks)[::-1]]
    for t, votes, rows in feed(task, 20, threads):
        voted = votes[:, None] == (task.colours[-1] if way == "oc" else np.arange(N_CLASSES))
        naive.t, naive.F = t, naive.F + voted
        naive.G = naive.G + (voted & ~np.isin(np.arange(N_ROWS), rows)[:, None])
        np.testing.assert_array_equal(task.votes, naive.F)
        np.testing.assert_array_equal(task.oop_votes, naive.G)
        np.testing.assert_array_equal(task.count_oop_votes(task.state, t), naive.G)
        expected = np.log(naive.w * naive.weigh())
        np.testing.assert_allclose(task.compute_log_weights(task.state), expected, rtol=1e-12, atol=1e-12)
        if way != "oc":
            np.testing.assert_array_equal(task.compute_log_weights(task.state), task.log_weights)
        first = winners[np.argmax(naive.F[:, winners], axis=1)]
        assert task.train_score == pytest.approx(naive.share(first == labels), rel=1e-12)
        is_right = naive.find_own(naive.G) > naive.count_rival_votes(naive.G)
        assert task.oop_score == pytest.approx(naive.share(is_right), rel=1e-12)
        assert task.score(naive.F, t, labels, weights) == pytest.approx(task.train_score, rel=1e-12)


@each_way
def test_update_leaves_weights_alone_if_they_do_not_adapt(threads, way):
    weights = np.random.default_rng(1).uniform(0.1, 3.0, N_ROWS)
    task = make_task(way, adaptive=False, sample_weights=weights)
    for _ in feed(task, 3, threads):
        np.testing.assert_allclose(task.log_weights, np.log(weights), rtol=1e-14)
        np.testing.assert_allclose(task.compute_log_weights(task.state), np.log(weights), rtol=1e-14)
    assert task.votes.any()


@pytest.mark.parametrize("way", ["margin", "m2", "mh"])
def test_update_changes_the_weights_that_a_sampler_holds(threads, way):
    task = make_task(way)
    held = task.log_weights
    for _ in feed(task, 2, threads):
        pass
    task.pose(range(3, 4), threads)
    assert task.log_weights is held
    assert len(set(held.tolist())) > 1


def test_questions_of_colours_keep_weights_of_their_own(threads):
    task = make_task("oc")
    for _ in feed(task, 2, threads):
        pass
    questions = [task.pose(range(t, t + 1), threads)[0] for t in (3, 4, 5)]
    again = [task.pose(range(t, t + 1), threads)[0].weights.logs for t in (3, 4, 5)]
    for question, expected in zip(questions, again, strict=True):
        np.testing.assert_array_equal(question.weights.logs, expected)
    assert not np.array_equal(again[0], again[1])


@pytest.mark.slow
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("way", ["margin", "m2", "mh"])
def test_update_weighs_any_number_of_votes(threads, way, weighting):
    # All votes of a row agree, so the margins are as large as they can be after so many iterations.
    task = make_task(way, [0, 1], weighting=weighting)
    for t in range(1, 601):
        task.update(np.array([1, 1], dtype=np.uint16), np.array([0]), threads)
        wrong, right, level = log_weighting(weighting, np.array([-t, t, 0.0]))
        expected = {
            "margin": [wrong, right],
            "m2": [logsumexp([wrong, *[level] * 3]), logsumexp([right] * 4)],
            "mh": [logsumexp([wrong, wrong, *[right] * 3]), logsumexp([right] * 5)],
        }
        np.testing.assert_allclose(task.log_weights, expected[way], rtol=1e-12)


@each_way
def test_counts_that_outgrow_16_bits_go_on(monkeypatch, threads, way):
    short, long = make_task(way), make_task(way)
    before = [(t, short.votes.copy(), short.oop_score) for t, *_ in feed(short, 30, threads)]
    assert short.votes.dtype == np.uint16
    monkeypatch.setattr(class_tasks, "MAX_SHORT_COUNT", 10)
    for (t, *_), (_, votes, score) in zip(feed(long, 30, threads), before, strict=True):
        assert long.votes.dtype == long.oop_votes.dtype == (np.uint16 if t <= 10 else np.int32)
        np.testing.assert_array_equal(long.votes, votes)
        assert long.oop_score == score
    np.testing.assert_array_equal(long.oop_votes, short.oop_votes)
    np.testing.assert_array_equal(long.log_weights, short.log_weights)


@pytest.mark.parametrize("way", ["margin", "m2", "mh"])
def test_pose_gives_the_labels(threads, way):
    task = make_task(way)
    assert task.pose(range(1, 2), threads)[0].values is task.labels


class TestColours:
    """AdaBoost.OC: half of the classes against the others, drawn anew for each learner."""

    def test_pose_colours_half_of_the_classes(self, threads):
        task = make_task("oc")
        for t in range(1, 200):
            posed = task.pose(range(t, t + 1), threads)[0].values
            assert np.sum(task.colours[-1] == 1) == N_CLASSES // 2
            assert posed.dtype == np.int8
            np.testing.assert_array_equal(posed, task.colours[-1][task.labels])
        means = np.mean(task.colours, axis=0)
        np.testing.assert_allclose(means, -0.2, atol=0.25)
        assert len({tuple(colours) for colours in task.colours}) == 10  # all there are

    def test_pose_is_a_function_of_seed_and_iteration(self, threads):
        one, same, other = make_task("oc", seed=1), make_task("oc", seed=1), make_task("oc", seed=2)
        for task in (one, same, other):
            for t in range(1, 21):
                task.pose(range(t, t + 1), threads)
        np.testing.assert_array_equal(one.colours, same.colours)
        assert not np.array_equal(one.colours, other.colours)

    def test_pose_of_an_iteration_that_was_interrupted_is_repeated(self, threads):
        task = make_task("oc")
        for _ in feed(task, 4, threads):
            pass
        task.pose(range(5, 6), threads)
        colours, weights = np.array(task.colours), task.log_weights.copy()
        task.pose(range(5, 6), threads)
        np.testing.assert_array_equal(task.colours, colours)
        np.testing.assert_array_equal(task.log_weights, weights)

    def test_pose_weighs_confusions_across_colours_alone(self, threads):
        task = make_task("oc", [0, 0])
        task.votes[:] = [[0, 9, 0, 0, 0], [0, 0, 9, 0, 0]]
        seen = set()
        for t in range(1, 100):
            task.pose(range(t, t + 1), threads)
            colours = task.colours[-1]
            apart = tuple(bool(colours[k] != colours[0]) for k in (1, 2))
            seen.add(apart)
            if apart[0] != apart[1]:  # one row has its rival in the other colour
                assert (task.log_weights[0] > task.log_weights[1]) == apart[0]
        assert len(seen) == 4

    def test_complete_looks_for_the_other_colour(self, threads):
        rng = np.random.default_rng(0)
        task, n_swapped = make_task("oc"), 0
        for t in range(1, 100):
            question = task.pose(range(t, t + 1), threads)[0]
            task.log_weights[:] = rng.permutation(N_ROWS)
            rows = np.sort(rng.permutation(N_ROWS)[:3])
            completed = complete_classes(rows, question, 0, t)
            assert is_completion(rows, completed, question.values, task.log_weights)
            n_swapped += completed.tolist() != rows.tolist()
        assert n_swapped > 10


def test_complete_looks_for_any_other_class(threads):
    rng = np.random.default_rng(0)
    task, n_swapped = make_task("margin"), 0
    for t in range(1, 200):
        task.log_weights[:] = rng.permutation(N_ROWS)
        rows = np.sort(rng.permutation(N_ROWS)[:2])
        completed = complete(task, rows, t, threads)
        assert is_completion(rows, completed, task.labels, task.log_weights)
        n_swapped += completed.tolist() != rows.tolist()
    assert n_swapped > 10
