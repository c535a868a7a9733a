"""Joins the rows of all partitions on one worker: in bins, or as they are for weak learners that need values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpboost.dask.coding import CodedPart, collect_rows
from mpboost.dask.partitions import check_lengths
from mpboost.dask.surveying import Plan
from mpboost.datasets.batches import Batch
from mpboost.datasets.coded_rows import CodedRows


def collect_data(
    has_weights: bool,
    has_validation_weights: bool,
    plan: Plan,
    parts: list[CodedPart],
    validation_plan: Plan | None = None,
    validation: list[CodedPart] | None = None,
) -> tuple[CodedRows, CodedRows | None]:
    """Join training rows, and validation rows if there are some; runs on a worker."""
    train = collect_rows(plan, parts, has_weights=has_weights)
    if validation_plan is None or validation is None:
        return train, None
    return train, collect_rows(validation_plan, validation, has_weights=has_validation_weights)


def join_batches(train: list[Batch], validation: list[Batch] | None = None) -> tuple[Batch, Batch | None]:
    """Join the rows of all partitions, as they are; runs on a worker."""
    return _join(train), None if validation is None else _join(validation)


def _join(batches: list[Batch]) -> Batch:
    filled = [batch for batch in batches if check_lengths(batch)]
    if not filled:
        raise ValueError("There are no rows: all partitions are empty.")
    X, y, weights = (
        None if values[0] is None else _concatenate(values)
        for values in zip(*(batch[1:] for batch in filled), strict=True)
    )
    return Batch(filled[0].place, X, y, weights)


def _concatenate(values: Sequence[Any]) -> Any:
    if all(isinstance(each, np.ndarray) for each in values):
        return np.concatenate(values)
    import pandas as pd  # Dask's data frames are made of these

    return pd.concat(values)
