"""Sums over rows: the same bits for any parts of the rows, and what the tree of sums says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.everywhere import assert_all_equal, call_everywhere
from tests.support.native.naive_sums import draw_cuts, join_naively, sum_parts
from tests.support.native.naive_tree import as_columns, make_random_codes, make_random_splits, make_tree

CHUNK = _native.CHUNK_ROWS
N_ROWS = 5 * CHUNK + 777
N_CLASSES, N_LEAVES = 4, 20


def make_rows(seed=0):
    """Make numbers of so different sizes that another order of sums has other bits."""
    rng = np.random.default_rng(seed)
    singles = (rng.normal(size=(2, N_ROWS, N_CLASSES)) * 10.0 ** rng.uniform(-4, 4, (2, N_ROWS, 1))).astype(np.float32)
    return {
        "values": rng.normal(size=N_ROWS) * 10.0 ** rng.uniform(-4, 4, N_ROWS),
        "weights": 10.0 ** rng.uniform(-3, 3, N_ROWS),
        "signs": rng.choice([-1, 1], N_ROWS).astype(np.int8),
        "classes": rng.integers(N_CLASSES, size=N_ROWS, dtype=np.uint16),
        "leaves": rng.integers(N_LEAVES, size=N_ROWS).astype(np.uint16),
        "codes": make_random_codes(rng, 9, N_ROWS),
        "gradients": singles[0],
        "hessians": singles[1],
    }


ROWS = make_rows()
LEAF_VALUES = np.random.default_rng(1).normal(size=(N_LEAVES, N_CLASSES)).astype(np.float32)


def make_leaf_tree(n_splits):
    return make_tree(make_random_splits(np.random.default_rng(2), n_splits, 9), np.zeros(n_splits + 1), 9)


TREES = {n_splits: make_leaf_tree(n_splits) for n_splits in (19, 500)}


def take(name, part):
    return np.ascontiguousarray(ROWS[name][part])


def sum_leaves(n_splits, shape):
    def call(part, sums, threads):
        gradients, hessians = (
            np.ascontiguousarray(ROWS[name][part] if shape else ROWS[name][part, 0])
            for name in ("gradients", "hessians")
        )
        codes = as_columns(np.ascontiguousarray(ROWS["codes"][:, part]))
        leaves = np.empty(len(gradients), np.uint16)
        _native.sum_leaves([(TREES[n_splits], codes, gradients, hessians, leaves)], threads, [sums])

    return call


def step(name, labels, *arguments, shape=()):
    def call(part, sums, threads):
        raw = np.array(ROWS["gradients"][part] if shape else ROWS["gradients"][part, 0])
        values = LEAF_VALUES if shape else np.ascontiguousarray(LEAF_VALUES[:, 0])
        weights = take("weights", part).astype(np.float32)
        outputs = np.empty_like(raw), np.empty_like(raw)
        getattr(_native, name)(
            *arguments, raw, take("leaves", part), values, labels(part), weights, *outputs, threads, sums
        )

    return call


def add_votes(part, sums, threads):
    labels = take("signs", part)
    zeros = [np.zeros(len(labels), np.int16) for _ in range(3)]
    patch = np.arange(0, len(labels), 4)
    weights = take("weights", part)
    votes = (take("classes", part) % 2 * 2 - 1).astype(np.int8)
    _native.add_votes(votes, patch, labels, *zeros, 1, weights, threads, sums)


def count_classes(part):
    n = len(ROWS["classes"][part])
    counts = [np.zeros((n, N_CLASSES), np.uint16) for _ in range(2)]
    return counts + [np.zeros(n, np.int32) for _ in range(2)]


def add_class_votes(part, sums, threads):
    votes, ranks = (take("leaves", part) % N_CLASSES).astype(np.uint16), np.arange(N_CLASSES, dtype=np.uint16)
    state = take("classes", part), *count_classes(part), ranks, take("weights", part)
    _native.add_class_votes(votes, np.arange(0, len(votes), 4), *state, threads, sums)


def add_colour_votes(part, sums, threads):
    votes, ranks = take("signs", part), np.arange(N_CLASSES, dtype=np.uint16)
    colours = np.array([1, -1, 1, -1], np.int8)
    state = take("classes", part), *count_classes(part), ranks, take("weights", part)
    _native.add_colour_votes(votes, colours, np.arange(0, len(votes), 4), *state, threads, sums)


def add_values(part, sums, threads):
    labels, weights = take("values", part), take("weights", part)
    state = np.zeros(len(labels)), np.zeros(len(labels)), np.zeros(len(labels), np.int32)
    _native.add_values(weights, np.arange(0, len(labels), 4), labels, weights, *state, 1, 0.5, threads, sums)


def sum_residuals(part, sums, threads):
    _native.sum_residuals(take("values", part), take("weights", part), 3, take("weights", part), threads, sums)


def weigh_residuals(part, sums, threads):
    labels, weights = take("values", part), take("weights", part)
    written = np.empty(len(labels))
    _native.weigh_residuals("exponential", 0.3, labels, weights, 3, weights, written, threads, sums)


def singles(name):
    return lambda part: take(name, part).astype(np.float32)


SUMS = {
    "values": lambda part, sums, threads: _native.sum_values(take("values", part), threads, sums),
    "singles": lambda part, sums, threads: _native.sum_values(singles("values")(part), threads, sums),
    "classes": lambda part, sums, threads: _native.sum_by_class(
        take("values", part), take("classes", part), N_CLASSES, threads, sums
    ),
    "leaves": sum_leaves(19, ()),
    "many leaves": sum_leaves(500, ()),
    "leaves, many outputs": sum_leaves(19, (N_CLASSES,)),
    "many leaves and outputs": sum_leaves(500, (N_CLASSES,)),
    "log loss": step("step_log_loss", lambda part: take("signs", part)),
    "softmax": step("step_softmax", lambda part: take("classes", part), shape=(N_CLASSES,)),
    "squared error": step("step_values", singles("values"), "squared", 0.0),
    "poisson": step("step_values", singles("weights"), "poisson", 0.0),
    "votes": add_votes,
    "class votes": add_class_votes,
    "colour votes": add_colour_votes,
    "predictions": add_values,
    "residuals": sum_residuals,
    "weights of residuals": weigh_residuals,
}
sums_of_rows = pytest.mark.parametrize("call", SUMS.values(), ids=SUMS)


@sums_of_rows
@settings(max_examples=15)
@given(bounds=draw_cuts(N_ROWS), is_joined=st.booleans(), n_threads=st.integers(1, 3))
def test_sums_are_the_same_for_any_parts_of_the_rows(call, bounds, is_joined, n_threads):
    whole, threads = _native.RowSums(), _native.Threads(n_threads)
    call(slice(None), whole, _native.Threads(1))
    sums = sum_parts(bounds, lambda part, some: call(part, some, threads), is_joined)
    np.testing.assert_array_equal(sums, whole.total())
    assert whole.end_row == N_ROWS


@sums_of_rows
def test_sums_have_the_same_bits_everywhere(call):
    def sum_all(threads):
        sums = _native.RowSums()
        call(slice(None), sums, threads)
        return [sums.total()]

    assert_all_equal(call_everywhere(sum_all))


@pytest.mark.parametrize("n_rows", [0, 1, 9, 2047, 2048, 2049, CHUNK, 3 * CHUNK + 5, N_ROWS])
def test_sum_values_joins_pieces_by_a_tree(threads, n_rows):
    values = ROWS["values"][:n_rows]
    pieces = [values[first : first + 2048] for first in range(0, n_rows, 2048)]
    exact = join_naively([_native.sum_values(piece, threads) for piece in pieces] or [0.0])
    assert _native.sum_values(values, threads) == exact
    assert exact == pytest.approx(values.sum(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_rows", [1, 100, 3 * CHUNK + 5])
def test_sum_by_class_sums_each_class(threads, n_rows):
    values, classes = ROWS["values"][:n_rows], ROWS["classes"][:n_rows]
    sums = _native.sum_by_class(values, classes, N_CLASSES + 1, threads)
    np.testing.assert_allclose(sums, np.bincount(classes, values, N_CLASSES + 1), rtol=1e-9, atol=1e-9)
    chunks = [np.bincount(classes[i : i + CHUNK], values[i : i + CHUNK], N_CLASSES) for i in range(0, n_rows, CHUNK)]
    np.testing.assert_array_equal(sums[:-1], join_naively(chunks))


def test_other_orders_of_these_sums_have_other_bits(threads):
    # Otherwise the tests above could not fail.
    values = ROWS["values"]
    halves = _native.sum_values(values[: CHUNK * 3], threads) + _native.sum_values(values[CHUNK * 3 :], threads)
    assert len({_native.sum_values(values, threads), np.cumsum(values)[-1], halves}) == 3


@pytest.mark.parametrize("first_row", [-CHUNK, 1, CHUNK - 1])
def test_row_sums_reject_parts_that_begin_inside_a_chunk(first_row):
    with pytest.raises(ValueError, match="whole chunks"):
        _native.RowSums(first_row)


def test_row_sums_reject_rows_after_an_incomplete_chunk(threads):
    sums = _native.RowSums()
    _native.sum_values(np.ones(10), threads, sums)
    with pytest.raises(ValueError, match="whole chunks"):
        _native.sum_values(np.ones(10), threads, sums)


def test_row_sums_reject_parts_that_do_not_follow_one_another(threads):
    sums, later = _native.RowSums(), _native.RowSums(CHUNK)
    with pytest.raises(ValueError, match="follow one another"):
        sums.append(later)


def test_row_sums_reject_sums_of_other_numbers(threads):
    sums = _native.RowSums()
    _native.sum_values(np.ones(CHUNK), threads, sums)
    with pytest.raises(ValueError, match="equally many sums"):
        _native.sum_by_class(np.ones(2), np.zeros(2, np.uint16), 2, threads, sums)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"classes": np.zeros(9, np.uint16)}, "one entry per row"),
        ({"classes": np.full(10, 3, np.uint16)}, "class that does not exist"),
        ({"n_classes": 0}, "1 to 65536 classes"),
    ],
)
def test_sum_by_class_rejects_wrong_arguments(threads, wrong, message):
    right = {"values": np.ones(10), "classes": np.zeros(10, np.uint16), "n_classes": 3}
    with pytest.raises(ValueError, match=message):
        _native.sum_by_class(**right | wrong, threads=threads)
