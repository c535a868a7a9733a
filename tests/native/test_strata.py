"""Draws from strata of the rows, against a sort of all rows by their random numbers."""

import numpy as np
import pytest

from mpboost import _native

DRAW = 5, 2, _native.Purpose.RESERVED


def rank_rows(n_rows, seed=DRAW):
    """Put all rows in the order of their random numbers: the winners of a draw of all."""
    return _native.draw_strata(None, n_rows, np.array([n_rows]), *seed)


@pytest.mark.parametrize("n_rows", [0, 1, 10, 3000])
@pytest.mark.parametrize("counts", [[0, 0, 0], [1, 0, 5], [7, 200, 10_000]])
def test_draw_strata_takes_the_lowest_random_numbers_of_each_stratum(n_rows, counts):
    strata = np.random.default_rng(n_rows).choice(3, n_rows, p=[0.7, 0.25, 0.05]).astype(np.uint16)
    order = rank_rows(n_rows)
    expected = [order[strata[order] == k][:count] for k, count in enumerate(counts)]
    rows = _native.draw_strata(strata, n_rows, np.array(counts), *DRAW)
    np.testing.assert_array_equal(rows, np.concatenate(expected))


def test_draw_strata_of_all_rows_is_a_permutation():
    order = rank_rows(1000)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 0.15


def test_draw_strata_gives_a_row_the_same_number_among_more_rows():
    # So parts of the rows may draw apart.
    order = rank_rows(1000)
    np.testing.assert_array_equal(rank_rows(300), order[order < 300])


@pytest.mark.parametrize("other", [(6, 2, DRAW[2]), (5, 3, DRAW[2]), (5, 2, _native.Purpose.COMPLETION)])
def test_draw_strata_differs_by_seed_iteration_and_purpose(other):
    assert (rank_rows(100, other) != rank_rows(100)).any()


def test_draw_strata_draws_every_row_equally_often():
    draws = [_native.draw_strata(None, 20, np.array([5]), seed, 0, DRAW[2]) for seed in range(4000)]
    counts = np.bincount(np.concatenate(draws), minlength=20)
    assert (np.abs(counts - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"counts": np.array([-1])}, "negative"),
        ({"counts": np.empty(0, dtype=np.int64)}, "stratum"),
        ({"n_rows": -1}, "stratum"),
        ({"strata": np.zeros(4, np.uint16)}, "one entry per row"),
        ({"strata": np.full(5, 1, np.uint16)}, "stratum without count"),
    ],
)
def test_draw_strata_rejects_wrong_arguments(wrong, message):
    right = {"strata": None, "n_rows": 5, "counts": np.array([2]), "seed": 0, "iteration": 0, "purpose": DRAW[2]}
    with pytest.raises(ValueError, match=message):
        _native.draw_strata(**right | wrong)
