"""Default fits beside LightGBM's, and beside those of an older revision: ``python -m benchmarks.speed.default_fits``.

One thread each, in turns, seconds of the processor; LightGBM has 100 trees. ``gradient`` has tables of all kinds,
``votes`` noisy and large ones, ``small`` 569 x 30. ``--against`` is the interpreter of an environment with an older
mpboost, or a revision, which is built. Turns are added to a CSV, and a run that was interrupted goes on where it stood;
``--fresh`` starts anew.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpboost
from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.folders import PROJECT
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.measure import median_ratio
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable, Row
from benchmarks.compare.builds import Build, BuildError, build_commit, find_commit
from benchmarks.compare.processes import Worker
from benchmarks.contestants import find_installed
from benchmarks.data.collection import find_all
from benchmarks.speed.worker import MILLION, SMALLEST

WORKER = "benchmarks.speed.worker"


@dataclass(frozen=True)
class Section:
    """Families that are fitted to sets, so many times; the median ratio is over some of the sets, by default all."""

    families: Sequence[str]
    sets: Sequence[str]
    n_turns: int
    averaged: Sequence[str] = ()


TEN = (
    *("adult", "magic", "higgs", "spambase", "california housing", "bike sharing", "cpu act", "letter"),
    *("telco_churn", "melbourne_houses"),
)
MORE = ("relathe", "madelon", "MNIST 3 vs 8", "MNIST odd/even", "CIFAR truck/car", "covertype, 1 or not")
SECTIONS = {
    "gradient": Section(["MPGradientBoosting"], [*TEN, *MORE], 3, TEN),
    "votes": Section(["MPBoost"], ["adult", "higgs", MILLION], 3),
    "small": Section(["MPBoost", "MPGradientBoosting"], [SMALLEST], 15),
}
SIDES = ("lightgbm", "before", "now")
KEY = ("section", "set", "contestant", "against", "seed")
FIGURES = tuple(f"{side}_{what}" for side in SIDES for what in ("seconds", "score", "predict_seconds", "reached"))
COLUMNS = (
    *("set", "contestant", "LightGBM s", "score", "before s", "score before", "before / LightGBM"),
    *("now s", "score now", "now / LightGBM", "before / now", "to LightGBM's score, before", "and now"),
    *("prediction, LightGBM ms", "before ms", "now ms", "before / now, prediction"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, SECTIONS)
    all_sets = list(dict.fromkeys(name for section in SECTIONS.values() for name in section.sets))
    parser.add_argument("--sets", nargs="+", choices=all_sets, metavar="NAME", help=f"some of: {'; '.join(all_sets)}")
    parser.add_argument("--turns", type=int, help="fits of each; by default 3, and 15 of the small set")
    parser.add_argument("--against", metavar="PYTHON", help="interpreter with an older mpboost, or a revision")
    parser.add_argument("--fresh", action="store_true", help="forget all turns that are known")
    options, folder = parse(parser, arguments, "speed")
    sections = options.only or (["small"] if options.quick else list(SECTIONS))
    n_turns = options.turns or (1 if options.quick else None)
    chosen = {name: [one for one in SECTIONS[name].sets if one in (options.sets or all_sets)] for name in sections}

    def measure(_: None) -> None:
        table = GrowingTable(folder / "default_fits.csv", KEY, FIGURES)
        if options.fresh:
            table.forget(lambda row: True)
        with ExitStack() as stack:
            now = stack.enter_context(
                Worker(Build("now", Path(mpboost.__file__).parents[1]), (sys.executable, "-m", WORKER))
            )
            name, before = open_other(options.against) if options.against else ("", None)
            if before is not None:
                stack.enter_context(before)
            for section in sections:
                for set_name in chosen[section]:
                    run_turns(section, set_name, n_turns, now, before, name, table)
                rows = [row for row in table.rows if row["section"] == section and row["against"] == name]
                show(section, rows, folder)

    try:
        sets = [one for names in chosen.values() for one in names if one not in (SMALLEST, MILLION)]
        return run_on(lambda: find_all(sets), measure)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2


def open_other(against: str) -> tuple[str, Worker]:
    """Open a worker with another mpboost: that of an interpreter, or a revision, which is built; give its name, too."""
    if not Path(against).is_file():
        commit = find_commit(against)
        return commit[:10], Worker(build_commit(commit), (sys.executable, "-m", WORKER))
    python = Path(against).absolute()  # not resolved: the interpreter of an environment is a link to another one
    code = "import mpboost, pathlib; print(pathlib.Path(mpboost.__file__).parents[1])"
    found = subprocess.run([python, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    if found.returncode:
        raise BuildError(f"{against} cannot import mpboost: {found.stderr[-500:]}")
    name = python.parents[1].name
    return name, Worker(Build(name, Path(found.stdout.strip())), (str(python), "-m", WORKER))


def run_turns(
    section: str, set_name: str, n_turns: int | None, now: Worker, before: Worker | None, name: str, table: GrowingTable
) -> None:
    """Let LightGBM, the older revision and this one take turns, as far as they are not known; seeds are 0, 1, ..."""
    has_lightgbm = bool(find_installed(["LightGBM"]))
    for family in SECTIONS[section].families:
        for seed in range(n_turns or SECTIONS[section].n_turns):
            key = {"section": section, "set": set_name, "contestant": family, "against": name, "seed": seed}
            if table.knows(**key):
                continue
            asked: dict[str, Callable[[float | None], dict[str, Any]]] = {}
            if before is not None:
                asked["before"] = _ask(before, family, set_name, seed)
            asked["now"] = _ask(now, family, set_name, seed)
            if seed == 0:  # what is loaded only at first is loaded
                for worker in filter(None, (now, before)):
                    for one in (family, *(["LightGBM"] if has_lightgbm else [])):
                        worker.ask(one, 0, set=SMALLEST)
            peer = _ask(now, "LightGBM", set_name, seed)(None) if has_lightgbm else {}
            answers = {"lightgbm": peer}
            for side in asked if seed % 2 == 0 else reversed(asked):
                answers[side] = asked[side](peer.get("score"))
            failures = [f"{side}: {answer['failure']}" for side, answer in answers.items() if "failure" in answer]
            figures = {
                f"{side}_{what}": "" if (value := answers.get(side, {}).get(what)) is None else value
                for side in SIDES
                for what in ("seconds", "score", "predict_seconds", "reached")
            }
            print_line(f"{set_name}, {family}, seed {seed}: {'; '.join(failures) or _say(answers)}")
            if not failures:
                table.add([{**key, **figures}])


def _ask(worker: Worker, contestant: str, set_name: str, seed: int) -> Callable[[float | None], dict[str, Any]]:
    return lambda target: worker.ask(contestant, seed, set=set_name, target=target)


def _say(answers: dict[str, dict[str, Any]]) -> str:
    return ", ".join(f"{side} {answer['seconds']:.3f} s" for side, answer in answers.items() if answer)


def show(section: str, rows: Sequence[Row], folder: Path) -> None:
    """Print a line for each set and contestant of a section: medians, and ratios within turns."""
    print_heading(f"{section}: default fits beside LightGBM with 100 trees, one thread; medians")
    print_line("times to LightGBM's score are shares of its time; prediction is of 20 000 rows")
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["set"], row["contestant"]), []).append(row)
    table = ResultTable(folder / f"default_fits_{section}.csv", COLUMNS)
    for names, turns in groups.items():
        table.add([*names, *describe(turns)])
    averaged = SECTIONS[section].averaged or SECTIONS[section].sets
    for side in ("before", "now"):
        ratios = [_ratio(turns, side, "lightgbm") for (name, _), turns in groups.items() if name in averaged]
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            print_line(f"{side}: {statistics.median(known):.2f} times LightGBM's time, median over {len(known)} lines")


def describe(turns: Sequence[Row]) -> list[str]:
    """Write what the turns of a set come to."""
    seconds = {side: _format(_median(turns, f"{side}_seconds"), ".3f") for side in SIDES}
    scores = {side: _format(_mean(turns, f"{side}_score"), ".2f") for side in SIDES}
    cells = [seconds["lightgbm"], scores["lightgbm"]]
    for side in ("before", "now"):
        cells += [seconds[side], scores[side], _format(_ratio(turns, side, "lightgbm"), ".2f")]
    cells.append(_format(_ratio(turns, "before", "now"), ".2f"))
    cells += [describe_reached(turns, side) for side in ("before", "now")]
    predict = [_median(turns, f"{side}_predict_seconds") for side in SIDES]
    cells += [_format(None if value is None else 1e3 * value, ".1f") for value in predict]
    return [*cells, _format(_ratio(turns, "before", "now", "predict_seconds"), ".2f")]


def describe_reached(turns: Sequence[Row], side: str) -> str:
    """Write the median share of LightGBM's time after which its score was reached; a turn without counts as never."""
    shares = [
        float(row[f"{side}_reached"]) / float(row["lightgbm_seconds"]) if row[f"{side}_reached"] else float("inf")
        for row in turns
        if row["lightgbm_seconds"] and row[f"{side}_seconds"]
    ]
    if not shares:
        return ""
    share = statistics.median(shares)
    return f"{share:.3f}" if share < float("inf") else "never"


def _take(turns: Sequence[Row], column: str) -> list[float]:
    return [float(row[column]) for row in turns if row[column]]


def _median(turns: Sequence[Row], column: str) -> float | None:
    return statistics.median(values) if (values := _take(turns, column)) else None


def _mean(turns: Sequence[Row], column: str) -> float | None:
    return statistics.mean(values) if (values := _take(turns, column)) else None


def _ratio(turns: Sequence[Row], slow: str, fast: str, what: str = "seconds") -> float | None:
    pair = _take(turns, f"{slow}_{what}"), _take(turns, f"{fast}_{what}")
    return median_ratio(*pair) if all(pair) and len(pair[0]) == len(pair[1]) else None


def _format(value: float | None, how: str) -> str:
    return "" if value is None else format(value, how)


if __name__ == "__main__":
    sys.exit(main())
