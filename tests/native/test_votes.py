"""Steps 3 to 5 of Algorithm 1 in one pass, against the same in plain NumPy."""

import numpy as np
import pytest

from mpboost import _native


def make_state(seed, n_rows, n_votes=20):
    rng = np.random.default_rng(seed)
    return {
        "votes": rng.choice([-1, 1], n_rows).astype(np.int8),
        "patch": np.sort(rng.permutation(n_rows)[: max(1, n_rows // 7)]),
        "labels": rng.choice([-1, 1], n_rows).astype(np.int8),
        "total": rng.integers(-n_votes, n_votes, n_rows, dtype=np.int32, endpoint=True),
        "in_patch": rng.integers(-n_votes // 2, n_votes // 2, n_rows, dtype=np.int32),
        "tie_label": 1,
        "table": rng.normal(size=2 * (n_votes + 1) + 1),
        "log_weights": np.full(n_rows, np.nan),
    }


def add_votes_naively(votes, patch, labels, total, in_patch, tie_label, table, log_weights):
    F = total + votes
    S = in_patch.copy()
    S[patch] += votes[patch]
    G = F - S
    log_weights = None if log_weights is None else table[len(table) // 2 + labels * F]
    return np.sum(np.where(F == 0, tie_label, np.sign(F)) == labels), np.sum(np.sign(G) == labels), F, S, log_weights


@pytest.mark.parametrize("tie_label", [-1, 1])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
@pytest.mark.parametrize(("n_rows", "n_threads"), [(1, 1), (1000, 2), (100_003, 1), (100_003, 2), (100_003, 4)])
def test_add_votes_matches_naive_twin(n_rows, n_threads, weighted, tie_label):
    state = make_state(0, n_rows) | {"tie_label": tie_label}
    if not weighted:
        state["log_weights"] = None
    n_train, n_oop, F, S, log_weights = add_votes_naively(**state)
    assert _native.add_votes(**state, threads=_native.Threads(n_threads)) == (n_train, n_oop)
    np.testing.assert_array_equal(state["total"], F)
    np.testing.assert_array_equal(state["in_patch"], S)
    if weighted:
        np.testing.assert_array_equal(state["log_weights"], log_weights)


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
def test_add_votes_judges_a_row(threads, label, total, vote, in_patch, tie_label, expected):
    arrays = [np.array([number], dtype=dtype) for number, dtype in [(vote, "i1"), (label, "i1"), (total, "i4")]]
    votes, labels, totals = arrays
    nobody = np.empty(0, dtype=np.int64)
    own = np.array([in_patch], dtype=np.int32)
    assert _native.add_votes(votes, nobody, labels, totals, own, tie_label, np.zeros(9), None, threads) == expected


@pytest.mark.parametrize("name", ["labels", "total", "in_patch", "log_weights"])
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


@pytest.mark.parametrize(
    ("n_entries", "total"),
    [
        pytest.param(0, 0, id="empty"),
        pytest.param(1, 0, id="only the middle"),
        pytest.param(5, 2, id="one short above"),
        pytest.param(5, -4, id="one short below"),
    ],
)
def test_add_votes_rejects_a_table_that_is_too_short(threads, n_entries, total):
    state = make_state(0, 10)
    ones = np.ones(10, dtype=np.int8)
    state |= {"votes": ones, "labels": ones, "total": np.full(10, total, dtype=np.int32), "table": np.zeros(n_entries)}
    with pytest.raises(ValueError, match="table"):
        _native.add_votes(**state, threads=threads)


@pytest.mark.parametrize("name", ["total", "in_patch", "log_weights"])
def test_add_votes_rejects_outputs_that_it_cannot_write(threads, name):
    state = make_state(0, 10)
    state[name].flags.writeable = False
    with pytest.raises(TypeError):
        _native.add_votes(**state, threads=threads)
