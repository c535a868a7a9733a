"""Work that runs side by side, each worker a process on a core of its own."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_side_by_side(
    work: Callable[[Task], Result], tasks: Sequence[Task], n_workers: int
) -> Iterator[tuple[Task, Result]]:
    """Do all tasks; yield each with its result as soon as it is done. One worker is this process itself."""
    if n_workers == 1:
        for task in tasks:
            yield task, work(task)
        return
    context = multiprocessing.get_context("spawn")
    cores = context.Queue()
    for core in (list_cores() * n_workers)[:n_workers]:
        cores.put(core)
    with ProcessPoolExecutor(n_workers, context, initializer=_settle, initargs=(cores,)) as pool:
        futures = {pool.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def list_cores() -> list[int]:
    """List the cores that this process may run on."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _settle(cores: Any) -> None:
    """Stay on a core that no other worker has, where the system lets a process choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores.get()})
