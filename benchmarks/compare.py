"""Whether a revision made anything slower or worse: ``python -m benchmarks.compare BASE [--head REV]``.

Both revisions are built, then take turns at small workloads, one thread each, in one run: seconds of the processor, and
scores of models with the same seeds. A change counts if its interval of confidence, 95 % for all workloads together,
leaves out zero, and it is no trifle. The exit code is 1 if something became slower beyond the tolerance, or worse, or
fails, and 2 if a revision is unknown or does not build.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.progress import Progress

from benchmarks.compare_builds import Build, BuildError, build_commit, build_work_tree, find_commit
from benchmarks.compare_verdict import Verdict, judge_scores, judge_times
from benchmarks.compare_worker import WORKLOADS
from benchmarks.data import PROJECT
from benchmarks.measure import describe_machine
from benchmarks.output import print_heading, print_line

#: The chance of a false alarm in a whole run.
ERROR = 0.05
OUTPUT = PROJECT / "build" / "benchmarks" / "compare.csv"
COLUMNS = (
    *("workload", "turns", "base_seconds", "head_seconds", "ratio", "low", "high", "time"),
    *("base_score", "head_score", "score", "base", "head", "machine", "date"),
)


class Worker:
    """A process that runs workloads with a build, one at a time, and is started anew if one of them ends it."""

    def __init__(self, build: Build, command: Sequence[str] = (sys.executable, "-m", "benchmarks.compare_worker")):
        self._site = build.site.resolve()
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def ask(self, workload: str, seed: int) -> dict[str, Any]:
        """Run a workload; give its seconds and score, or its failure."""
        process = self._process = self._process or self._start()
        line = json.dumps({"workload": workload, "seed": seed})
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


def find_complaints(comparisons: Sequence[Comparison], tolerance: float) -> list[str]:
    """Say what became slower by more than a share of the time, or worse, or fails."""
    complaints = []
    for comparison in comparisons:
        times, scores = comparison.judge(ERROR / len(comparisons))
        if comparison.is_broken:
            complaints.append(f"{comparison.workload}: {comparison.failure}")
        if times is not None and times.counts and times.change > tolerance:
            complaints.append(f"{comparison.workload}: {times.text}")
        if scores is not None and scores.counts and scores.change < 0:
            complaints.append(f"{comparison.workload}: {scores.text}")
    return complaints


def report(comparisons: Sequence[Comparison], names: Sequence[str], path: Path) -> None:
    """Print the verdicts and write them to a CSV."""
    facts = [*names, "; ".join(describe_machine()), date.today().isoformat()]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for comparison in comparisons:
            times, scores = comparison.judge(ERROR / len(comparisons))
            seconds, points = comparison.medians("seconds"), comparison.medians("score")
            said = [times.text if times else comparison.failure, scores.text if scores else ""]
            ratios = [1 + times.change, 1 + times.low, 1 + times.high] if times else ["", "", ""]
            row = [comparison.workload, len(comparison.base), *seconds, *ratios, said[0], *points, said[1]]
            writer.writerow([*row, *facts])
            figures = "{:.3f} and {:.3f} s, ".format(*seconds) if times else ""
            figures += "{:.2f} and {:.2f} %, ".format(*points) if scores else ""
            print_line(f"{comparison.workload}: {figures}{'; score '.join(filter(None, said))}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="a commit, branch or tag")
    parser.add_argument("--head", help="what to compare with it; by default the work tree, as its files are")
    parser.add_argument("--turns", type=int, default=15, help="measurements of each, at least 3; by default 15")
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, metavar="NAME", help=f"some of: {'; '.join(WORKLOADS)}")
    parser.add_argument("--tolerance", type=float, default=5.0, help="percent that may be lost; by default 5")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="CSV file")
    options = parser.parse_args(arguments)
    if options.turns < 3:
        parser.error("--turns must be at least 3, or no interval tells anything")
    workloads = options.only or list(WORKLOADS)
    try:
        # Both are looked up first, for a build takes minutes, in which HEAD may move on.
        base_commit, head_commit = find_commit(options.base), options.head and find_commit(options.head)
        builds = build_commit(base_commit), build_commit(head_commit) if head_commit else build_work_tree()
        with Worker(builds[0]) as base, Worker(builds[1]) as head, Progress(transient=True) as progress:
            task = progress.add_task("", total=len(workloads) * options.turns)
            comparisons = []
            for index, name in enumerate(workloads, 1):
                progress.update(task, description=name)
                comparisons.append(compare(base, head, name, options.turns, lambda: progress.advance(task)))
                progress.update(task, completed=index * options.turns)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    names = [build.name for build in builds]
    print_heading(f"Base {names[0]} and head {names[1]}, medians of {options.turns} turns")
    print_line(f"{describe_machine()[0]}; 95 % intervals for all workloads together (Bonferroni)")
    report(comparisons, names, options.output)
    complaints = find_complaints(comparisons, options.tolerance / 100)
    for complaint in complaints:
        print_line(f"REGRESSION: {complaint}")
    return 1 if complaints else 0


def _read_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Read an answer; a process that has ended gives none."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline() or "{}")


if __name__ == "__main__":
    sys.exit(main())
