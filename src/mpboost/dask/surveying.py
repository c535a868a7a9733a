"""The first passes over the rows, on the cluster: count them, then learn features, bins, categories and targets."""

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from mpboost._threads import make_threads
from mpboost.dask.imports import import_dask
from mpboost.dask.memory_reuse import kept_memory
from mpboost.dask.partitions import Partitions, check_lengths
from mpboost.dask.waiting import Shared, compute, compute_shared
from mpboost.data.checks import refuse_odd_numbers
from mpboost.datasets.batches import Batch
from mpboost.datasets.known import Known
from mpboost.datasets.reading import BatchReader, named_errors
from mpboost.datasets.survey import FeatureSurvey, Survey, survey_batches
from mpboost.datasets.targets import TargetSurvey, read_weights


class Counts(NamedTuple):
    """The numbers of rows of a partition: of all, and of those with a weight above 0."""

    n_rows: int
    n_present: int


@dataclass(frozen=True)
class Plan:
    """How all partitions are coded.

    Attributes
    ----------
    known : Known
        Features, categories and bins.
    reader : BatchReader or None
        Knows the kinds of features; None for rows that are only read with what is known.
    targets : TargetSurvey or None
        What the targets are; None if there are none.
    checksums : tuple of int or None
        A number for each partition, by which one that changes between the passes is noticed; None if it has no rows.
    """

    known: Known
    reader: BatchReader | None
    targets: TargetSurvey | None
    checksums: tuple[int | None, ...]


def count_partition_rows(client: Any, partitions: Partitions) -> list[Counts]:
    """Count the rows of each partition; computes nothing if Dask knows it."""
    if partitions.counts is not None and not partitions.has_weights:
        return [Counts(n_rows, n_rows) for n_rows in partitions.counts]
    delayed = import_dask().delayed(count_batch)
    return compute(client, [delayed(outline) for outline in partitions.outlines])


def count_batch(outline: Batch) -> Counts:
    """Count the rows of a partition; runs on a worker."""
    n_rows = check_lengths(outline)
    with named_errors(outline.place):
        weights = read_weights(outline.sample_weight, n_rows)
    return Counts(n_rows, n_rows if weights is None else int(np.count_nonzero(weights)))


def survey_partitions(
    client: Any,
    partitions: Partitions,
    counts: list[Counts],
    *,
    categorical_features: Any,
    max_bins: int,
    n_jobs: int | None,
) -> Shared[Plan]:
    """Learn features, bins, categories and targets as a fit in memory of all partitions would.

    What was found is united on a worker, by ``n_jobs`` threads: the others have nothing to do meanwhile.
    """
    starts = list_starts(counts)
    survey, unite = import_dask().delayed(survey_batch), import_dask().delayed(unite_surveys)
    parts = [
        survey(batch, start, starts[-1], categorical_features)
        for batch, start in zip(partitions.batches, starts, strict=False)
    ]
    return compute_shared(client, unite(parts, categorical_features, max_bins, n_jobs))


def list_starts(counts: list[Counts]) -> list[int]:
    """List the first row of each partition, then the number of all rows, counted without those of weight 0.

    Examples
    --------
    >>> list_starts([Counts(3, 2), Counts(0, 0), Counts(4, 4)])
    [0, 2, 2, 6]
    """
    if not sum(each.n_rows for each in counts):
        raise ValueError("There are no rows: all partitions are empty.")
    starts = [0, *accumulate(each.n_present for each in counts)]
    if starts[-1] == 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return starts


def survey_batch(
    batch: Batch, first_row: int, n_total: int, categorical_features: Any
) -> tuple[Survey, FeatureSurvey] | None:
    """Look at a partition; None if it has no rows. Runs on a worker."""
    if check_lengths(batch) == 0:
        return None
    features = FeatureSurvey(BatchReader(categorical_features, "partitions"), first_row, n_total)
    return survey_batches([batch], features), features


def unite_surveys(
    parts: list[tuple[Survey, FeatureSurvey] | None],
    categorical_features: Any,
    max_bins: int,
    n_jobs: int | None = None,
) -> Plan:
    """Unite what was found in the partitions, in their order; runs on a worker."""
    reader = BatchReader(categorical_features, "partitions")
    survey, features = Survey(), FeatureSurvey(reader)
    for number, part in enumerate(parts):
        if part is not None:
            with named_errors(f"Partition {number}"):
                features.join(part[1], f"Partition {number}")
                survey.join(part[0])
    if survey.targets is not None:
        with refuse_odd_numbers():
            survey.targets.finish()
    with kept_memory():
        known = features.finish(max_bins, make_threads(n_jobs))
    checksums = iter(survey.checksums)
    return Plan(known, reader, survey.targets, tuple(None if part is None else next(checksums) for part in parts))


def plan_validation(client: Any, partitions: Partitions, plan: Any) -> Shared[Plan]:
    """Learn the targets of validation rows, which are coded with the features and bins of the training rows.

    ``plan`` is the future of how training rows are coded.
    """
    dask = import_dask()
    survey, unite = dask.delayed(survey_targets), dask.delayed(unite_targets)
    return compute_shared(client, unite([survey(batch) for batch in partitions.batches], plan))


def survey_targets(batch: Batch) -> Survey | None:
    """Look at the targets of a partition; None if it has no rows. Runs on a worker."""
    return survey_batches([batch], None) if check_lengths(batch) else None


def unite_targets(parts: list[Survey | None], plan: Plan) -> Plan:
    """Unite the targets that were found in the partitions of validation rows; runs on a worker."""
    survey = Survey()
    for number, part in enumerate(parts):
        if part is not None:
            with named_errors(f"Partition {number}"):
                survey.join(part)
    if survey.targets is None:
        raise ValueError("X_val has no rows: all partitions are empty.")
    with refuse_odd_numbers():
        survey.targets.finish()
    return replace(plan, reader=None, targets=survey.targets, checksums=(None,) * len(parts))
