"""Processes that run workloads with a build, and the turns that two of them take."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.common.folders import PROJECT
from benchmarks.compare.builds import Build, BuildError
from benchmarks.compare.verdict import Verdict, judge_scores, judge_times


class Worker:
    """A process that runs workloads with a build, one at a time, and is started anew if one of them ends it."""

    def __init__(self, build: Build, command: Sequence[str] = (sys.executable, "-m", "benchmarks.compare.worker")):
        self._site = build.site.resolve()
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def ask(self, workload: str, seed: int, **more: Any) -> dict[str, Any]:
        """Run a workload; give its seconds and score, or its failure. A worker may want to know more of it."""
        process = self._process = self._process or self._start()
        line = json.dumps({"workload": workload, "seed": seed, **more})
        with suppress(BrokenPipeError):
            print(line, file=process.stdin, flush=True)
        answer = _read_line(process)
        if not answer:
            self._process = None
            process.communicate()
            return {"failure": f"the process ended with code {process.returncode}"}
        return answer

    def _start(self) -> subprocess.Popen[str]:
        one = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        paths = os.pathsep.join(filter(None, (str(self._site), os.environ.get("PYTHONPATH"))))
        environment = os.environ | one | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen(self._command, cwd=PROJECT, env=environment, **pipes)
        library = _read_line(process).get("library", "nothing")
        if not Path(library).resolve().is_relative_to(self._site):
            process.kill()
            process.communicate()
            raise BuildError(f"The package in {self._site} should have been imported, but {library} was.")
        return process


@dataclass(frozen=True)
class Comparison:
    """What a workload came to: measurements of both revisions, turn by turn, or the reason why there are none."""

    workload: str
    base: Sequence[dict[str, Any]] = ()
    head: Sequence[dict[str, Any]] = ()
    failure: str = ""
    is_broken: bool = False

    def judge(self, error: float) -> tuple[Verdict | None, Verdict | None]:
        """Judge times and scores, where there are any."""
        if self.failure:
            return None, None
        times = judge_times(*self._pick("seconds"), error)
        return times, None if self.base[0]["score"] is None else judge_scores(*self._pick("score"), error)

    def medians(self, figure: str) -> list[float | str]:
        """Give the median of a figure for both, or nothing twice."""
        return [statistics.median(side) if side and side[0] is not None else "" for side in self._pick(figure)]

    def _pick(self, figure: str) -> tuple[list[float], list[float]]:
        return [one[figure] for one in self.base], [one[figure] for one in self.head]


def compare(
    base: Worker, head: Worker, workload: str, n_turns: int, advance: Callable[[], object] = lambda: None
) -> Comparison:
    """Let both take turns, each first in every other one, after a run each that is not measured."""
    failures = [worker.ask(workload, 0).get("failure", "") for worker in (base, head)]
    if failures[0]:
        return Comparison(workload, failure=f"the base cannot run it: {failures[0]}")
    if failures[1]:
        return Comparison(workload, failure=f"only the base can run it: {failures[1]}", is_broken=True)
    taken: dict[Worker, list[dict[str, Any]]] = {base: [], head: []}
    for turn in range(n_turns):
        for worker in (base, head) if turn % 2 == 0 else (head, base):
            measured = worker.ask(workload, turn)
            if "failure" in measured:
                who = "base" if worker is base else "head"
                failure = f"the {who} failed with seed {turn}: {measured['failure']}"
                return Comparison(workload, failure=failure, is_broken=worker is head)
            taken[worker].append(measured)
        advance()
    return Comparison(workload, taken[base], taken[head])


def _read_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Read an answer; a process that has ended gives none."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline() or "{}")
