"""What tests of mpboost.dask use: tables cut into partitions, and the passes over them in this process."""

import itertools

import numpy as np

from mpboost.dask.coding import code_batch, collect_rows
from mpboost.dask.surveying import count_batch, survey_batch, unite_surveys
from mpboost.datasets.batches import Batch
from tests.support.datasets import take

#: How 200 rows may be cut: rows that partitions begin with; the same row twice makes an empty one.
CUTS = {"one": [], "even": [50, 100, 150], "uneven": [3, 190], "empty": [0, 70, 70, 200]}


def cut(X, y, weights, cuts):
    """Cut a table into batches."""
    bounds = [0, *cuts, len(y)]
    return [
        Batch(f"Partition {number}", *(take(part, start, stop) for part in (X, y, weights)))
        for number, (start, stop) in enumerate(itertools.pairwise(bounds))
    ]


def plan_batches(batches, categorical_features="from_dtype", max_bins=255):
    """Count and survey batches as a cluster does."""
    counts = [count_batch(batch._replace(y=None)) for batch in batches]
    starts = np.cumsum([0, *(each.n_present for each in counts)]).tolist()
    surveys = [
        survey_batch(batch, start, starts[-1], categorical_features)
        for batch, start in zip(batches, starts, strict=False)
    ]
    return unite_surveys(surveys, categorical_features, max_bins)


def code_batches(batches, plan):
    """Code batches as a cluster does, and collect them."""
    parts = [code_batch(batch, plan, number) for number, batch in enumerate(batches)]
    return collect_rows(plan, parts, has_weights=batches[0].sample_weight is not None)
