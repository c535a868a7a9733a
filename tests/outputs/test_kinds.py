"""Kinds of outputs: how those of learners add up, one by one or as a forest, and what estimators may predict."""

import numpy as np
import pytest

from mpboost import _native
from mpboost.outputs.kinds import ClassVotes, Colours, Signs, Steps, Values
from tests.support.native.naive_tree import as_columns, make_random_codes

N_ROWS, N_CLASSES, N_TREES = 500, 5, 7
RANKS = np.arange(N_CLASSES, dtype=np.uint16)


def make_colours():
    return np.where(np.random.default_rng(1).random((N_TREES, N_CLASSES)) < 0.5, -1, 1).astype(np.int8)


KINDS = {
    "signs": (Signs(), lambda rng: rng.choice([-1, 1], N_ROWS)),
    "classes": (ClassVotes(RANKS), lambda rng: rng.integers(0, N_CLASSES, N_ROWS)),
    "colours": (Colours(make_colours(), N_CLASSES), lambda rng: rng.choice([-1, 1], N_ROWS)),
    "values": (Values(), lambda rng: rng.normal(size=N_ROWS)),
}
each_kind = pytest.mark.parametrize(("outputs", "draw"), KINDS.values(), ids=KINDS.keys())


def grow_trees(outputs, draw):
    """Grow trees that know nothing, on columns that they are applied to."""
    rng = np.random.default_rng(0)
    columns = as_columns(make_random_codes(rng, 6, N_ROWS))
    grower, rows, features = outputs.make_grower(4, 1), np.arange(0, N_ROWS, 5), np.arange(6)
    grow = lambda: grower.grow(columns, rows, features, draw(rng).astype(outputs.dtype), None, None).tree  # noqa: E731
    return columns, [grow() for _ in range(N_TREES)]


@each_kind
def test_add_forest_adds_what_trees_put_out_one_by_one(threads, outputs, draw):
    columns, trees = grow_trees(outputs, draw)
    forest, one_by_one = _native.Forest(), outputs.make_totals(N_ROWS)
    out = outputs.make_output(N_ROWS)
    assert (len(out), out.dtype) == (N_ROWS, outputs.dtype)
    for learner, tree in enumerate(trees):
        forest.append(tree)
        outputs.apply(tree, columns, out, threads)
        assert len(np.unique(out)) > 1
        outputs.add(learner, out, one_by_one)
    at_once = outputs.make_totals(N_ROWS)
    outputs.add_forest(forest, columns, at_once, threads)
    np.testing.assert_array_equal(at_once, one_by_one)


@each_kind
def test_totals_have_a_row_for_each_row(outputs, draw):
    totals = outputs.make_totals(3)
    assert len(totals) == 3
    assert not totals.any()


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
def test_steps_of_trees_are_summed(threads, n_outputs):
    outputs, (columns, trees) = Steps(n_outputs), grow_trees(*KINDS["values"])
    rng, forest, one_by_one = np.random.default_rng(0), _native.Forest(), outputs.make_totals(N_ROWS)
    assert one_by_one.shape == ((N_ROWS,) if n_outputs == 1 else (N_ROWS, n_outputs))
    assert not one_by_one.any()
    out = outputs.make_output(N_ROWS)
    assert (out.shape, out.dtype) == (one_by_one.shape, outputs.dtype)
    for learner, tree in enumerate(trees):
        vectors = tree.with_values(rng.normal(size=(len(tree.leaf_values), n_outputs)))
        forest.append(vectors)
        outputs.apply(vectors, columns, out, threads)
        outputs.add(learner, out, one_by_one)
    at_once = outputs.make_totals(N_ROWS)
    outputs.add_forest(forest, columns, at_once, threads)
    assert len(np.unique(at_once)) > n_outputs
    np.testing.assert_array_equal(at_once, one_by_one)


def test_class_votes_are_counted_for_their_class():
    outputs = ClassVotes(RANKS)
    totals = outputs.make_totals(3)
    for votes in ([0, 4, 2], [0, 1, 2]):
        outputs.add(0, np.array(votes, dtype=np.uint16), totals)
    assert totals.tolist() == [[2, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 2, 0, 0]]


def test_colours_are_counted_for_all_classes_that_have_them():
    outputs = Colours([np.array([1, -1, 1]), np.array([-1, -1, 1])], 3)
    totals = outputs.make_totals(2)
    outputs.add(0, np.array([1, -1], dtype=np.int8), totals)
    assert totals.tolist() == [[1, 0, 1], [0, 1, 0]]
    outputs.add(1, np.array([1, -1], dtype=np.int8), totals)
    assert totals.tolist() == [[1, 0, 2], [1, 2, 0]]


@each_kind
def test_check_takes_what_was_trained_on(outputs, draw):
    labels = draw(np.random.default_rng(0))
    checked = outputs.check(labels, "Learner")
    assert checked.dtype == outputs.dtype
    np.testing.assert_array_equal(checked, labels)


@pytest.mark.parametrize(
    ("kind", "predictions", "word"),
    [
        ("signs", [1, 0], "-1 to 1"),
        ("signs", ["a", "b"], "-1 to 1"),
        ("colours", [1, 2], "-1 to 1"),
        ("classes", [0, 5], "0 to 4"),
        ("classes", [0, -1], "0 to 4"),
        ("classes", [0, 1.5], "0 to 4"),
        ("classes", [0, 65536], "0 to 4"),
        ("values", [1.0, np.nan], "finite"),
        ("values", [1.0, np.inf], "finite"),
        ("values", [[1.0], [2.0]], "finite"),
    ],
)
def test_check_refuses_other_outputs(kind, predictions, word):
    with pytest.raises(ValueError, match=f"Learner.*{word}"):
        KINDS[kind][0].check(np.array(predictions), "Learner")
