import numpy as np
import pytest

from mpboost.sampling.candidates import Candidates, JoinedCandidates


def make_parts(rng, n_times, with_zeros):
    """Make the candidates of three shards; few different times make ties, rows of weight zero come last."""
    parts = []
    for rank, n in enumerate((7, 5, 9)):
        heats = np.sort(rng.random(n) < 0.4).astype(float) if with_zeros else np.zeros(n)
        rows = rng.choice(20, n, replace=False) + 20 * rank
        rows = rows[np.lexsort((rows, heats))]
        times = np.column_stack([heats, rng.integers(n_times, size=n), rng.integers(2, size=n)])
        parts.append(Candidates(rows, times, rng.integers(2, size=n), np.empty(0), None, are_all=False))
    return parts


@pytest.mark.parametrize("n_times", [2, 10**6], ids=["ties", "no ties"])
@pytest.mark.parametrize("with_zeros", [False, True], ids=["weights", "some weights of zero"])
def test_first_rows_of_all_shards_are_those_of_one_sorted_list(n_times, with_zeros):
    rng = np.random.default_rng(0)
    for n_first, n_wanted in [(1, 1), (4, 9), (10, 20), (21, 21), (15, 40)]:
        parts = make_parts(rng, n_times, with_zeros)
        joined = JoinedCandidates(parts, n_first, n_wanted)
        runners = sorted((*time, row) for part in parts for time, row in zip(part.times, part.rows, strict=True))
        order = [row for *_, row in runners][:n_wanted]
        assert joined.first.tolist() == sorted(order[:n_first])
        assert joined.following.tolist() == sorted(order[n_first:])
        counts = [len({*order} & {*part.rows}) for part in parts]
        assert joined.shares == [count / n_wanted for count in counts]
        sent = [len(part.rows) for part in parts]
        assert joined.is_short == any(count == n < n_wanted for count, n in zip(counts, sent, strict=True))


def test_one_class_is_that_of_the_rows_of_the_minipatch():
    times = np.array([[0.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.0, 2.0, 0.0]])
    part = Candidates(np.arange(3), times, np.array([1, 0, 1]), np.empty(0), None, are_all=True)
    assert JoinedCandidates([part], 2, 3).find_one_class() == 1
    assert JoinedCandidates([part], 3, 3).find_one_class() is None
