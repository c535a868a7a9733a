"""Steps 3 to 5 of Algorithm 1 in one pass, against the same in plain NumPy."""

import numpy as np
import pytest

from mpboost import _native
from tests.support.native.naive_sums import sum_naively
from tests.support.native.naive_tree import (
    as_columns,
    make_random_codes,
    make_random_sets,
    make_random_splits,
    make_tree,
)


def make_state(seed, n_rows, n_votes=20, dtype=np.int16):
    rng = np.random.default_rng(seed)
    return {
        "votes": rng.choice([-1, 1], n_rows).astype(np.int8),
        "patch": np.sort(rng.permutation(n_rows)[: max(1, n_rows // 7)]),
        "labels": rng.choice([-1, 1], n_rows).astype(np.int8),
        "total": rng.integers(-n_votes, n_votes, n_rows, dtype=dtype, endpoint=True),
        "in_patch": rng.integers(-n_votes // 2, n_votes // 2, n_rows, dtype=dtype),
        "in_patch_counts": rng.integers(0, n_votes, n_rows, dtype=dtype),
        "tie_label": 1,
        "sample_weights": 10.0 ** rng.uniform(-3, 3, n_rows),
    }


def add_votes_naively(state):
    labels, weights = state["labels"], state["sample_weights"]
    F, S, n_patches = state["total"] + state["votes"], state["in_patch"].copy(), state["in_patch_counts"].copy()
    S[state["patch"]] += state["votes"][state["patch"]]
    n_patches[state["patch"]] += 1
    train = sum_naively(np.where(F == 0, state["tie_label"], np.sign(F)) == labels, weights)
    out_of_patch = sum_naively(np.sign(F - S) == labels, weights)
    return (train, out_of_patch), {"total": F, "in_patch": S, "in_patch_counts": n_patches}


@pytest.mark.parametrize("tie_label", [-1, 1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize(
    ("n_rows", "n_threads"), [(1, 1), (1000, 2), (1024, 1), (1025, 1), (100_003, 1), (100_003, 2), (100_003, 4)]
)
def test_add_votes_matches_naive_twin(n_rows, n_threads, dtype, weighted, tie_label):
    state = (
        make_state(0, n_rows, dtype=dtype) | {"tie_label": tie_label} | ({} if weighted else {"sample_weights": None})
    )
    sums, expected = add_votes_naively(state)
    assert _native.add_votes(**state, threads=_native.Threads(n_threads)) == sums  # to the last bit
    for name in expected:
        np.testing.assert_array_equal(state[name], expected[name])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_add_votes_with_weights_of_one_counts_rows(n_threads):
    weighted, counted = make_state(0, 70_000), make_state(0, 70_000)
    weighted |= {"sample_weights": np.ones(70_000)}
    counted |= {"sample_weights": None}
    sums = [_native.add_votes(**state, threads=_native.Threads(n_threads)) for state in (weighted, counted)]
    assert sums[0] == sums[1]


@pytest.mark.parametrize(
    ("label", "total", "vote", "in_patch", "tie_label", "expected"),
    [
        pytest.param(1, 1, 1, 0, 1, (1, 1), id="right"),
        pytest.param(-1, 1, 1, 0, 1, (0, 0), id="wrong"),
        pytest.param(1, -1, 1, 0, 1, (1, 0), id="a tie is the tie label, but never right out of patch"),
        pytest.param(-1, -1, 1, 0, 1, (0, 0), id="a tie is not the other label"),
        pytest.param(-1, -1, 1, 0, -1, (1, 0), id="a tie for the negative label"),
        pytest.param(1, 2, 1, 3, 1, (1, 0), id="never out of patch"),
        pytest.param(1, 2, 1, 5, 1, (1, 0), id="right by its own patches alone"),
        pytest.param(-1, 2, 1, 5, 1, (0, 1), id="right out of patch alone"),
    ],
)
@pytest.mark.parametrize("dtype", ["i2", "i4"])
def test_add_votes_judges_a_row(threads, dtype, label, total, vote, in_patch, tie_label, expected):
    arrays = [np.array([number], dtype=kind) for number, kind in [(vote, "i1"), (label, "i1"), (total, dtype)]]
    votes, labels, totals = arrays
    nobody = np.empty(0, dtype=np.int64)
    own, counts = np.array([[in_patch], [5]], dtype=dtype)
    for weight in (None, np.array([2.5])):
        state = votes, nobody, labels, totals.copy(), own, counts, tie_label, weight
        factor = 1.0 if weight is None else 2.5
        assert _native.add_votes(*state, threads) == (factor * expected[0], factor * expected[1])


@pytest.mark.parametrize("name", ["votes", "total", "in_patch", "in_patch_counts", "sample_weights"])
@pytest.mark.parametrize("n_rows", [0, 9, 11])
def test_add_votes_rejects_other_sizes(threads, name, n_rows):
    state = make_state(0, 10)
    state[name] = np.zeros(n_rows, dtype=state[name].dtype)
    with pytest.raises(ValueError, match="one entry per row"):
        _native.add_votes(**state, threads=threads)


@pytest.mark.parametrize("row", [-1, 10, 2**62, -(2**63)])
def test_add_votes_rejects_rows_that_do_not_exist(threads, row):
    state = make_state(0, 10) | {"patch": np.array([0, row])}
    with pytest.raises(ValueError, match="row that does not exist"):
        _native.add_votes(**state, threads=threads)


@pytest.mark.parametrize("patch", [[1, 0], [2, 2]])
def test_add_votes_rejects_a_patch_that_is_not_ascending(threads, patch):
    state = make_state(0, 10) | {"patch": np.array(patch)}
    with pytest.raises(ValueError, match="ascending"):
        _native.add_votes(**state, threads=threads)


@pytest.mark.parametrize("n_votes", [32_766, 32_767])
def test_add_votes_counts_to_the_end_of_16_bits(threads, n_votes):
    state = make_state(0, 1000)
    state |= {"total": np.full(1000, n_votes - 1, dtype=np.int16), "votes": np.ones(1000, dtype=np.int8)}
    state |= {"in_patch": np.zeros(1000, dtype=np.int16), "sample_weights": None}
    n_positive = np.count_nonzero(state["labels"] > 0)
    assert _native.add_votes(**state, threads=threads) == (n_positive, n_positive)
    assert state["total"].tolist() == [n_votes] * 1000


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("n_splits", [0, 20, 500, 3000])
@pytest.mark.parametrize(("n_rows", "n_threads"), [(1, 1), (1024, 1), (1100, 1), (50_001, 1), (50_001, 3)])
def test_add_votes_of_a_tree_are_those_that_it_writes(kernels, n_rows, n_threads, n_splits, dtype):
    rng, several = np.random.default_rng(n_rows + n_splits), _native.Threads(n_threads)
    splits = make_random_splits(rng, n_splits, 9, categorical=0.2)
    tree = make_tree(splits, rng.choice([-1.0, 1.0], n_splits + 1), 9, make_random_sets(rng, splits))
    columns = as_columns(make_random_codes(rng, 9, n_rows))
    written = make_state(0, n_rows, dtype=dtype)
    tree.apply_votes(columns, written["votes"], several)
    sums = _native.add_votes(**written, threads=several)
    prepared = [_native.AppliedTree(tree, columns) for _ in range(3)]
    _native.prepare_votes(prepared, several)
    for votes in (_native.AppliedTree(tree, columns), prepared[2]):
        applied = make_state(0, n_rows, dtype=dtype) | {"votes": votes}
        assert _native.add_votes(**applied, threads=several) == sums
        for name in ("total", "in_patch", "in_patch_counts"):
            np.testing.assert_array_equal(applied[name], written[name])


def test_prepare_votes_rejects_trees_of_other_tables_and_of_many_outputs(threads):
    rng = np.random.default_rng(0)
    splits, columns = make_random_splits(rng, 20, 9), as_columns(make_random_codes(rng, 9, 10))
    tree = make_tree(splits, rng.choice([-1.0, 1.0], 21), 9)
    for applied, message in [
        (_native.AppliedTree(tree, as_columns(make_random_codes(rng, 1, 10))), "column that does not exist"),
        (_native.AppliedTree(tree.with_values(np.ones((21, 2))), columns), "one output"),
    ]:
        with pytest.raises(ValueError, match=message):
            _native.prepare_votes([applied], threads)


def test_applied_tree_keeps_what_it_needs(threads):
    rng = np.random.default_rng(0)

    def apply():
        splits = make_random_splits(rng, 20, 9)
        tree = make_tree(splits, rng.choice([-1.0, 1.0], 21), 9)
        return _native.AppliedTree(tree, as_columns(make_random_codes(rng, 9, 10)))

    applied = [apply() for _ in range(50)]
    for each in applied:
        _native.add_votes(**(make_state(0, 10) | {"votes": each}), threads=threads)


def test_add_votes_rejects_trees_of_other_tables(threads):
    rng = np.random.default_rng(0)
    tree = make_tree(make_random_splits(rng, 20, 9), rng.choice([-1.0, 1.0], 21), 9)
    for columns, message in [
        (as_columns(make_random_codes(rng, 9, 11)), "one entry per row"),
        (as_columns(make_random_codes(rng, 1, 10)), "column that does not exist"),
    ]:
        state = make_state(0, 10) | {"votes": _native.AppliedTree(tree, columns)}
        with pytest.raises(ValueError, match=message):
            _native.add_votes(**state, threads=threads)


@pytest.mark.parametrize("name", ["total", "in_patch", "in_patch_counts"])
def test_add_votes_rejects_outputs_that_it_cannot_write(threads, name):
    state = make_state(0, 10)
    state[name].flags.writeable = False
    with pytest.raises(TypeError):
        _native.add_votes(**state, threads=threads)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("n_rows", [1, 1000])
def test_count_sides_matches_naive_twin(n_rows, dtype):
    state = make_state(3, n_rows, dtype=dtype)
    rows, labels, total, in_patch = (state[name] for name in ("patch", "labels", "total", "in_patch"))
    margins = (total - in_patch)[rows] * labels[rows]
    assert _native.count_sides(rows, labels, total, in_patch) == ((margins < 0).sum(), (margins > 0).sum())
    assert n_rows == 1 or (margins == 0).any()  # these are on neither side


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        pytest.param("rows", np.array([3]), "no such row", id="row"),
        pytest.param("total", np.zeros(2, dtype=np.int16), "one entry per row", id="total"),
        pytest.param("in_patch", np.zeros(4, dtype=np.int16), "one entry per row", id="in-patch votes"),
    ],
)
def test_count_sides_rejects_wrong_arguments(name, value, message):
    arguments = {
        "rows": np.array([0, 2]),
        "labels": np.ones(3, dtype=np.int8),
        "total": np.zeros(3, dtype=np.int16),
        "in_patch": np.zeros(3, dtype=np.int16),
    }
    with pytest.raises(ValueError, match=message):
        _native.count_sides(**(arguments | {name: value}))


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("n_rows", [0, 1, 5000])
def test_count_margins_matches_naive_twin(n_rows, dtype):
    rng = np.random.default_rng(n_rows)
    labels, votes = rng.choice(np.array([-1, 1], np.int8), n_rows), rng.integers(-9, 10, n_rows).astype(dtype)
    margins = labels * votes.astype(int)
    expected = [np.count_nonzero(margins == margin) for margin in range(-12, 13)]
    assert _native.count_margins(labels, votes, 25).tolist() == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_counts": 3}, "more votes than counts"),
        ({"labels": np.ones(2, np.int8), "n_counts": 3}, "more votes than counts"),
        ({"n_counts": 6}, "need a middle"),
        ({"votes": np.zeros(3, np.int16)}, "one entry per row"),
    ],
    ids=["low", "high", "even", "sizes"],
)
def test_count_margins_rejects_wrong_arguments(wrong, message):
    arguments = {"labels": np.array([1, -1], np.int8), "votes": np.array([0, 2], np.int16), "n_counts": 5}
    with pytest.raises(ValueError, match=message):
        _native.count_margins(**(arguments | wrong))
