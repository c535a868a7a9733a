import itertools

import numpy as np
import pytest

from mpboost.dask.coding import code_batch
from mpboost.dask.sharding import CHUNK_ROWS, FirstShard, cut_part, cut_rows, drop_codes, list_pieces, make_shard
from mpboost.dask.surveying import count_batch, survey_targets, unite_targets
from mpboost.estimators.sharded import fit_shard
from tests.support.dask_tables import cut, plan_batches
from tests.support.datasets import ESTIMATORS, REGRESSORS, make_mixed, make_numbers, save_bytes
from tests.support.thread_shards import run_in_threads

N_ROWS = 2 * CHUNK_ROWS + 2000
PARAMS = {"n_estimators": 3, "random_state": 0, "stopping": None}


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
@pytest.mark.parametrize("n_rows", [1, CHUNK_ROWS, CHUNK_ROWS + 1, 100_000])
def test_ranges_follow_each_other_at_chunks(n_rows, n_shards):
    ranges = cut_rows(n_rows, n_shards)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == n_rows
    assert len(ranges) <= n_shards
    for (first, end), (following, _) in itertools.pairwise(ranges):
        assert first < end == following
        assert following % CHUNK_ROWS == 0
    lengths = [end - first for first, end in ranges]
    assert max(lengths) - min(lengths) < 2 * CHUNK_ROWS


def make_shards(estimator, batches, ranges, validation=None):
    """Make the data of shards as a cluster does."""
    plan = plan_batches(batches)
    parts = [code_batch(batch, plan, number) for number, batch in enumerate(batches)]
    counts = [count_batch(batch._replace(y=None)).n_present for batch in batches]
    more = []
    if validation is not None:
        other = unite_targets([survey_targets(batch) for batch in validation], plan)
        more = [other, [code_batch(batch, other, number) for number, batch in enumerate(validation)]]
    for first, end in ranges:
        codes = [cut_part(parts[piece.partition], piece.begin, piece.end) for piece in list_pieces(counts, first, end)]
        if first:
            yield make_shard(plan, codes)
        else:
            has_weights = batches[0].sample_weight is not None
            heads = [drop_codes(part) for part in parts]
            yield FirstShard(estimator, has_weights, validation is not None)(plan, codes, heads, *more)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("cuts", [[], [5, 5, 20_000, 34_000]], ids=["whole", "cut"])
def test_model_on_shards_is_that_of_a_fit_in_memory(estimator, cuts):
    X, y = make_mixed(N_ROWS)
    y = make_numbers(N_ROWS)[1] if estimator in REGRESSORS else y
    weights = np.random.default_rng(1).integers(0, 12, N_ROWS).astype(np.float64)
    n_present = int(np.count_nonzero(weights))
    ranges = cut_rows(n_present, 2)
    shards = list(make_shards(estimator(**PARAMS), cut(X, y, weights, cuts), ranges))
    fitted = run_in_threads(ranges, lambda seen: fit_shard(estimator(**PARAMS), shards[seen.rank], seen, []))
    assert save_bytes(fitted[0]) == save_bytes(estimator(**PARAMS).fit(X, y, weights))


def test_first_shard_has_the_validation_rows():
    estimator = ESTIMATORS[0](**PARAMS)
    X, y = make_mixed(N_ROWS)
    ranges = cut_rows(N_ROWS, 2)
    batches, validation = cut(X, y, None, [9000]), cut(X[:300], y[:300], np.arange(300.0), [100, 100])
    shards = list(make_shards(estimator, batches, ranges, validation))
    assert [shard.validation is None for shard in shards] == [False, True]
    fitted = run_in_threads(ranges, lambda seen: fit_shard(ESTIMATORS[0](**PARAMS), shards[seen.rank], seen, []))
    local = ESTIMATORS[0](**PARAMS).fit(X, y, X_val=X[:300], y_val=y[:300], sample_weight_val=np.arange(300.0))
    assert save_bytes(fitted[0]) == save_bytes(local)
