"""Run the paper's tables: ``python -m benchmarks.paper [--quick] [--config FILE] [--only SET ...]``."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.common.command import make_parser, print_machine
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.progress import show_progress
from benchmarks.contestants import CONTESTANTS, OURS
from benchmarks.data.files import DataNotFoundError
from benchmarks.paper.config import PAPER_CONFIG, QUICK_CONFIG, ConfigError, pick_sets, read_config
from benchmarks.paper.runs import SetRun
from benchmarks.paper.summary import SetResult, summarise_set
from benchmarks.paper.tables import tabulate_fixed_time, tabulate_leaders, tabulate_unlimited


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    config_file = options.config or (QUICK_CONFIG if options.quick else PAPER_CONFIG)
    try:
        config = pick_sets(read_config(config_file, options.results), options.only)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    print_machine()
    for name in config.contestants:
        if not CONTESTANTS[name].is_installed:
            print_line(f"skipped: {name}, for {CONTESTANTS[name].package} is not installed")
    results = []
    for plan in config.sets:
        print_heading(plan.name)
        try:
            run = SetRun(config, plan, do_with_progress)
        except DataNotFoundError as error:
            print_line(f"skipped: {plan.name}. {error}")
            continue
        run.run_grids()
        if not options.grids:
            run.run_finals()
        print_line(f"results: {run.ledger.path}")
        results.append(summarise_set(plan.name, run.ledger, plan.n_candidates))
    print_tables([result for result in results if result.summaries])
    return 0


def print_tables(results: list[SetResult]) -> None:
    """Print the paper's two tables for the sets whose finals were run."""
    if not results:
        return
    print_heading("Table 2: accuracy in % within the time of one of ours")
    for ours in OURS:
        print_line(tabulate_fixed_time(results, ours) + "\n")
    print_line(f"Where ours stand, each in its own time:\n{tabulate_leaders(results)}")
    print_heading("Table 3: best accuracy in %, and its time")
    print_line(tabulate_unlimited(results))


def do_with_progress(tasks: list[tuple[str, Callable[[], None]]]) -> None:
    """Do tasks one after the other behind a bar with the time left."""
    if not tasks:
        return
    with show_progress(len(tasks)) as bar:
        for description, task in tasks:
            bar.describe(description)
            task()
            bar.advance()


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = make_parser(__doc__)
    parser.add_argument("--config", type=Path, help="what to run; benchmarks/paper/paper.toml by default")
    parser.add_argument("--only", nargs="+", metavar="SET", help="some of the sets of the file")
    parser.add_argument("--grids", action="store_true", help="no finals yet: they are for when the machine is quiet")
    parser.add_argument("--results", type=Path, help="folder for the results, in place of the one that the file names")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
