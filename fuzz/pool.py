"""Runs many cases in child processes, and detects cases that crash or hang their process.

A case is a number. A target is a function ``(case) -> (kind, detail)``, imported by its module path. It makes its input
from the number alone, so that any case can be run again.
"""

import argparse
import importlib
import multiprocessing
import resource
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

#: Address space that a child may use beyond that at its start; libraries reserve more than they use.
EXTRA_MEMORY = 4 << 30
#: Seconds after which a case counts as hanging, and its process is ended.
PATIENCE = 20.0
#: Seconds that a process may take to start.
START_PATIENCE = 100.0
#: Seconds that a process may take to end.
GRACE = 3.0
#: Outcomes that are a defect, for every target.
FAILURES = ("error", "signal", "hang", "slow", "memory")
#: Failures after which a run ends.
MAX_FAILURES = 20


class Outcome(NamedTuple):
    """The result of a case."""

    case: int
    kind: str
    detail: str = ""


@dataclass
class Measured:
    """A measured call: its result or error, its seconds, and its peak memory in bytes.

    Seconds are processor time, so that a busy machine does not count. The parent process detects a call that waits.
    """

    result: Any = None
    error: Exception | None = None
    seconds: float = 0.0
    peak: int = 0


def measure(call: Callable[[], Any]) -> Measured:
    """Call a function; measure its time and memory. An exception is part of the result."""
    measured = Measured()
    tracemalloc.start()
    start = time.process_time()
    try:
        measured.result = call()
    except Exception as error:
        measured.error = error
    measured.seconds = time.process_time() - start
    measured.peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return measured


def run_cases(target: str, cases: Iterable[int], n_workers: int = 2) -> Iterator[Outcome]:
    """Run a target, "module:function", for each case; yield outcomes in the order in which cases end."""
    queue = iter(cases)
    workers: list[Worker] = []
    try:
        for case in queue:
            workers.append(Worker(target, case))
            if len(workers) == n_workers:
                break
        while workers:
            ready = wait([worker.connection for worker in workers], timeout=0.5)
            for worker in list(workers):
                outcome = worker.collect(worker.connection in ready)
                if outcome is None:
                    continue
                yield outcome
                case = next(queue, None)
                if case is None or not worker.process.is_alive() or outcome.kind in ("signal", "hang"):
                    worker.close()
                    workers.remove(worker)
                    if case is not None:
                        workers.append(Worker(target, case))
                else:
                    worker.send(case)
    finally:
        for worker in workers:
            worker.close()


class Worker:
    """A child process and the case that it works on."""

    def __init__(self, target: str, case: int):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(target, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.send(case)
        self.deadline += START_PATIENCE

    def send(self, case: int | None) -> None:
        """Send a case to the process; None ends it."""
        self.case = case
        self.deadline = time.monotonic() + PATIENCE
        with suppress(BrokenPipeError):  # it died; ``collect`` reports that
            self.connection.send(case)

    def collect(self, is_readable: bool) -> Outcome | None:
        """Return the outcome of the case, or None if it is still running."""
        if is_readable:
            try:
                answer = self.connection.recv()
            except (EOFError, ConnectionResetError):
                self.process.join()
                return Outcome(self.case, "signal", f"the process ended with {self.process.exitcode}")
            if answer is not None:
                return Outcome(self.case, *answer)
            self.deadline = time.monotonic() + PATIENCE  # the process has started: the time of its case begins
        if time.monotonic() > self.deadline:
            return Outcome(self.case, "hang", f"no answer for {PATIENCE} s")
        return None

    def close(self) -> None:
        """End the process; kill it if it does not end by itself."""
        self.send(None)
        self.process.join(GRACE)
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(target: str, connection: Connection) -> None:
    module, name = target.split(":")
    function = getattr(importlib.import_module(module), name)
    _limit_memory()
    connection.send(None)
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the parent has ended
        while (case := connection.recv()) is not None:
            try:
                outcome = function(case)
            except Exception:
                outcome = ("error", traceback.format_exc())
            connection.send(outcome)


def _limit_memory() -> None:
    try:
        with open("/proc/self/statm") as status:
            used = int(status.read().split()[0]) * resource.getpagesize()
    except FileNotFoundError:
        return  # not Linux: no limit
    resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_MEMORY, used + EXTRA_MEMORY))


def run_command(target: str, description: str) -> int:
    """Run cases as the command line says; print their counts and the failures; return the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=100_000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case; the next ones follow")
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    arguments = parser.parse_args()
    start = time.perf_counter()
    counts: Counter[str] = Counter()
    n_failures = 0
    for outcome in run_cases(target, range(arguments.seed, arguments.seed + arguments.count), arguments.workers):
        counts[outcome.kind] += 1
        if outcome.kind in FAILURES:
            print(f"case {outcome.case}: {outcome.kind}: {outcome.detail}", flush=True)
            n_failures += 1
            if n_failures == MAX_FAILURES:
                break
    seconds = time.perf_counter() - start
    print(f"{counts.total()} cases in {seconds:.0f} s ({counts.total() / seconds:.0f} per second)")
    for kind in dict.fromkeys([*sorted(counts), *FAILURES]):
        print(f"  {kind:8} {counts[kind]}")
    return int(n_failures > 0)
