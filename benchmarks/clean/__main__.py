"""Run what README and docs/benchmarks.md quote, and write their tables: ``make benchmarks``.

All sets of the data folder; ours with their defaults beside LightGBM, XGBoost, CatBoost, HistGradientBoosting and
RandomForest: with their defaults, with early stopping, and given the time of ours. One thread each. A row is a split
of a set, on which all are fitted in turns; the first split of all sets comes first, small sets before large ones.

Rows are added to a CSV when they are whole, and a run that was interrupted goes on where it stood, unless the code, the
libraries or the machine are others. Let nothing else run on the machine.
"""

import os
import sys
from collections import Counter
from functools import partial

from benchmarks.clean import page
from benchmarks.clean.fits import FIGURES, Task, try_row
from benchmarks.clean.modes import DEFAULTS, MODES, OURS_EQUAL, YARDSTICK
from benchmarks.clean.plan import EXPECTED, Forecast, list_tasks
from benchmarks.clean.record import MixedRunError, RunRecord, check_mix, describe_part, read_parts
from benchmarks.clean.summary import FILE, KEY, RECORD
from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.side_by_side import run_side_by_side
from benchmarks.contestants import find_installed
from benchmarks.data.collection import COLLECTION, find_all

N_SEEDS, LIMIT = 3, 40.0
QUICK_ROWS, QUICK_LIMIT = 300, 2.0
#: A load average at which something else runs.
BUSY = 0.5
#: Whose default fits are printed when a row is done.
SHOWN = (OURS_EQUAL, YARDSTICK)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, COLLECTION)
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help=f"seeds 0, 1, ...; by default {N_SEEDS}")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no row that would end later")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds of a peer's fit; by default {LIMIT:g}")
    parser.add_argument("--workers", type=int, default=1, help="sets side by side, each on a core; by default 1")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    parser.add_argument("--mix", action="store_true", help="go on with other code, libraries, or another machine")
    options, folder = parse(parser, arguments, "clean")
    names = options.only or list(COLLECTION)
    contestants = MODES[DEFAULTS]
    missing = set(contestants) - set(find_installed(contestants))
    if missing and not options.quick:
        print(f"Not installed: {', '.join(sorted(missing))}. Try: pip install 'mpboost[bench]'", file=sys.stderr)
        return 2
    limit = min(options.limit, QUICK_LIMIT) if options.quick else options.limit
    part = describe_part(find_installed(contestants), n_workers=options.workers, limit=limit)
    if options.fresh:
        for path in (folder / FILE, folder / RECORD):
            path.unlink(missing_ok=True)
    if not options.mix:
        try:
            check_mix(read_parts(folder / RECORD), part)
        except MixedRunError as error:
            print(error, file=sys.stderr)
            return 2

    def measure(_: None) -> None:
        if os.getloadavg()[0] > BUSY:
            print_line(f"The machine is busy, load {os.getloadavg()[0]:.1f}: seconds will not be those of a quiet one.")
        table = GrowingTable(folder / FILE, KEY, (*FIGURES, "commit"))
        known = find_whole_rows(table)
        tasks = list_tasks(names, options.seeds, known, options.minutes)
        print_heading(f"{len(tasks)} rows, {len(known)} are known; {options.workers} at a time")
        record, forecast = RunRecord(folder / RECORD, part), Forecast(tasks, options.workers, options.minutes)
        work = partial(try_row, limit=limit, n_rows=QUICK_ROWS if options.quick else None)
        try:
            for n_done, (task, (lines, failure)) in enumerate(run_side_by_side(work, tasks, options.workers), 1):
                forecast.note(task, was_run=bool(lines))
                if lines:
                    table.add(line | {"commit": part["commit"]} for line in lines)
                    record.note_row()
                if failure:
                    failed.append(f"{task.set_name}, seed {task.seed}")
                    print_line(failure)
                print_line(f"{n_done}/{len(tasks)} {describe(task, lines)}; {forecast}")
        except KeyboardInterrupt:
            print_line("Interrupted; the same command goes on from here.")
        page.show(folder, is_published=folder == page.PUBLISHED)

    failed: list[str] = []
    code = run_on(lambda: find_all(names), measure)
    if failed:
        print(f"These rows failed, the next run tries them again: {'; '.join(failed)}", file=sys.stderr)
    return code or int(bool(failed))


def find_whole_rows(table: GrowingTable) -> set[tuple[str, int]]:
    """Give the sets and seeds of which all is known; forget rows that were not written to their end."""
    counts = Counter((row["set"], int(row["seed"])) for row in table.rows)
    n_lines = sum(len(find_installed(names)) for names in MODES.values())
    whole = {row for row, count in counts.items() if count == n_lines}
    if len(whole) < len(counts):
        table.forget(lambda row: (row["set"], int(row["seed"])) not in whole)
    return whole


def describe(task: Task, lines: list[dict[str, object]]) -> str:
    """Say what a row came to."""
    if not lines:
        return f"{task.set_name}, seed {task.seed}: left out"
    found = {line["contestant"]: line for line in lines if line["mode"] == DEFAULTS}
    shown = [f"{name} {found[name]['score']:.2f} in {found[name]['seconds']:.2f} s" for name in SHOWN if name in found]
    n_cut = sum(bool(line["stopped"]) for line in lines)
    seconds = sum(float(str(line["wall_seconds"])) for line in lines)
    cut = f", {n_cut} of {len(lines)} fits stopped at the limit" if n_cut else ""
    took = f"{seconds:.0f} s, expected {EXPECTED[task.set_name]:.0f}"
    return f"{task.set_name}, seed {task.seed}: {', '.join(shown)}; {took}{cut}"


if __name__ == "__main__":
    sys.exit(main())
