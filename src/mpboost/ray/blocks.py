"""The blocks of a Ray dataset, coded where they are: functions that run as Ray tasks, and what starts them."""

from dataclasses import dataclass
from typing import Any

from mpboost.dask.coding import CodedPart, code_batch
from mpboost.dask.surveying import Counts, Plan, count_batch, list_starts, survey_batch, unite_surveys
from mpboost.datasets.batches import Batch, Choice
from mpboost.ray.imports import import_ray


@dataclass(frozen=True)
class CodedBlocks:
    """The blocks of a dataset in bins, on the cluster.

    Attributes
    ----------
    plan : ObjectRef of Plan
        How they are coded.
    parts : list of ObjectRef of CodedPart
        The codes, targets and weights of each block.
    counts : list of int
        The number of rows of each block, without those of weight 0.
    """

    plan: Any
    parts: list[Any]
    counts: list[int]


def list_blocks(X: Any) -> list[Any]:
    """List the blocks of a dataset, in the order of its rows, as references to data frames of pandas."""
    ray = import_ray()
    if isinstance(X, list) and X and all(isinstance(each, ray.ObjectRef) for each in X):
        return X
    if not hasattr(X, "to_pandas_refs"):
        raise TypeError(
            f"X must be a ray.data.Dataset or a list of references to data frames, not {type(X).__name__}: make one by "
            "ray.data.from_pandas or ray.data.read_parquet, or train on one machine by estimator.fit."
        )
    options = X.context.execution_options
    kept, options.preserve_order = options.preserve_order, True
    try:
        return list(X.to_pandas_refs())
    finally:
        options.preserve_order = kept


def code_blocks(blocks: list[Any], choice: Choice, *, categorical_features: Any, max_bins: int) -> CodedBlocks:
    """Count, survey and code all blocks."""
    remote = import_ray().remote
    counts = get([remote(count_block).remote(number, choice, block) for number, block in enumerate(blocks)])
    starts = list_starts(counts)
    surveys = [
        remote(survey_block).remote(number, choice, block, starts[number], starts[-1], categorical_features)
        for number, block in enumerate(blocks)
    ]
    plan = remote(unite_blocks).remote(categorical_features, max_bins, *surveys)
    get(plan)  # raises what is wrong with the rows
    parts = [remote(code_block).remote(number, choice, block, plan) for number, block in enumerate(blocks)]
    return CodedBlocks(plan, parts, [each.n_present for each in counts])


def get(refs: Any) -> Any:
    """Wait for results; an error of a task is raised as it was there."""
    ray = import_ray()
    try:
        return ray.get(refs)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error


def wait_for_all(refs: list[Any]) -> None:
    """Wait for results, which stay where they are."""
    import_ray().wait(refs, num_returns=len(refs), fetch_local=False)


# What runs as tasks.


def read_block(number: int, choice: Choice, frame: Any) -> Batch:
    """Split a block into features, targets and weights."""
    place = f"Partition {number}"
    if len(frame) == 0:  # an empty block may have no columns
        return Batch(place, frame, None, None)
    return choice.split(frame, place)


def count_block(number: int, choice: Choice, frame: Any) -> Counts:
    """Count the rows of a block."""
    return count_batch(read_block(number, choice, frame)._replace(y=None))


def survey_block(
    number: int, choice: Choice, frame: Any, first_row: int, n_total: int, categorical_features: Any
) -> Any:
    """Look at a block; None if it has no rows."""
    return survey_batch(read_block(number, choice, frame), first_row, n_total, categorical_features)


def unite_blocks(categorical_features: Any, max_bins: int, *surveys: Any) -> Plan:
    """Unite what was found in the blocks, in their order."""
    return unite_surveys(list(surveys), categorical_features, max_bins)


def code_block(number: int, choice: Choice, frame: Any, plan: Plan) -> CodedPart:
    """Code the rows of a block."""
    return code_batch(read_block(number, choice, frame), plan, number)
