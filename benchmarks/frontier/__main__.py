"""Measure the test score that fits have reached by the time, ours and others': ``python -m benchmarks.frontier``.

One thread each; ours with its defaults, as it stops by itself, LightGBM and XGBoost with two learning rates and up to
2000 trees. A fit is watched tree by tree; then its model is scored as it would be had the fit been given a budget of
time. Seconds are those of the processor, preparation of the data included; the scores that are taken at budgets cost
none. Sets of fewer than 250 rows are split three times.

Results are added to a CSV, and a run that was interrupted goes on where it stood; ``--fresh`` measures anew what it is
told to run.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.pictures import save_picture
from benchmarks.common.results import show_table
from benchmarks.common.side_by_side import run_side_by_side
from benchmarks.contestants import CONTESTANTS
from benchmarks.data.collection import COLLECTION, find_all
from benchmarks.frontier.cells import OURS, Curves, collect_curves, compare_cells, share_cells
from benchmarks.frontier.fits import RUNNERS, run_set
from benchmarks.frontier.picture import draw_curves, draw_map

BUDGETS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0)
QUICK_BUDGETS, QUICK_ROWS = (0.02, 0.1, 0.3), 400
KEY, FIGURES = ("set", "seed", "contestant", "version", "budget"), ("score",)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, COLLECTION)
    installed = [name for name, runner in RUNNERS.items() if CONTESTANTS[runner.contestant].is_installed]
    parser.add_argument("--contestants", nargs="+", choices=installed, metavar="NAME", help="; ".join(installed))
    parser.add_argument("--seeds", type=int, default=1, help="seeds 0, 1, ...; by default 1")
    parser.add_argument("--budget", type=float, help="the longest one, in seconds; by default 30")
    parser.add_argument("--workers", type=int, default=1, help="sets side by side, each on a core; by default 1")
    parser.add_argument("--fresh", action="store_true", help="forget what is known of what is to run")
    options, folder = parse(parser, arguments, "frontier")
    budgets = [b for b in (QUICK_BUDGETS if options.quick else BUDGETS) if b <= (options.budget or BUDGETS[-1])]
    names, runners = options.only or list(COLLECTION), options.contestants or installed
    n_rows = QUICK_ROWS if options.quick else None

    def measure(_: None) -> None:
        table = GrowingTable(folder / "curves.csv", KEY, FIGURES)
        if options.fresh:
            table.forget(lambda row: row["set"] in names and row["contestant"] in runners)
        known = {(row["set"], row["seed"], row["contestant"], row["version"], row["budget"]) for row in table.rows}
        versions = {name: CONTESTANTS[RUNNERS[name].contestant].version for name in runners}

        def is_known(name: str, runner: str) -> bool:
            keys = [
                (name, str(seed), runner, versions[runner], str(b)) for seed in range(options.seeds) for b in budgets
            ]
            return known.issuperset(keys)

        tasks = [(name, tuple(r for r in runners if not is_known(name, r))) for name in names]
        tasks = [task for task in tasks if task[1]]
        work = partial(run_set, n_seeds=options.seeds, n_rows=n_rows, budgets=budgets)
        print_heading(f"Test score by {', '.join(f'{b:g}' for b in budgets)} s, one thread, {options.seeds} seed(s)")
        if len(tasks) < len(names):
            print_line(f"{len(names) - len(tasks)} of {len(names)} sets are known")
        for (name, _), rows in run_side_by_side(work, tasks, options.workers):
            table.add(row | {"version": versions[str(row["contestant"])]} for row in rows)
            curves = collect_curves(table.rows, budgets).get(name, {})
            print_line(f"{name}: {_describe_leads(compare_cells(curves) if _has_both(curves) else [])}")
        show(collect_curves((row for row in table.rows if row["set"] in names), budgets), budgets, folder)

    return run_on(lambda: find_all(names), measure)


def show(curves: Curves, budgets: list[float], folder: Path) -> None:
    """Print who leads where, as a table and in shares of cells; draw both pictures."""
    curves = {name: runners for name, runners in curves.items() if _has_both(runners)}
    if not curves:
        print_line("nothing to compare: ours and one of the others are needed")
        return
    print_heading("Points by which the best of ours leads the best of the others, by seconds")
    rows = [[name, *(_format_lead(lead) for lead in compare_cells(runners))] for name, runners in curves.items()]
    show_table(folder / "leads.csv", ["set", *(f"{budget:g}" for budget in budgets)], rows)
    print_heading("Share of cells (set, budget) that ours leads, and in which it leads or trails by up to 0.2 points")
    titles = {"the better of ours": OURS, **{name: (name,) for name in OURS}}
    leads = {
        title: np.array([compare_cells(runners, ours) for runners in curves.values() if set(ours) & set(runners)])
        for title, ours in titles.items()
    }
    cells = {"all": slice(None), **{f"{budget:g}": index for index, budget in enumerate(budgets)}}
    known = {title: found for title, found in leads.items() if len(found)}
    rows = [[name, *(_format_shares(found[:, part]) for found in known.values())] for name, part in cells.items()]
    show_table(folder / "shares.csv", ["seconds", *known], rows)
    paths = [*save_picture(draw_curves(curves, budgets), folder / "curves")]
    paths += save_picture(draw_map(curves, budgets), folder / "map")
    print_line(f"drawn: {', '.join(map(str, paths))}")


def _has_both(runners: dict[str, list[float]]) -> bool:
    return bool(set(runners) & set(OURS)) and bool(set(runners) - set(OURS))


def _format_lead(lead: float) -> str:
    return "" if np.isnan(lead) else f"{lead:+.2f}" if np.isfinite(lead) else "only ours" if lead > 0 else "none"


def _format_shares(leads: np.ndarray) -> str:
    shares = share_cells(leads.ravel())
    return f"{100 * shares.leads:.0f} / {100 * shares.near:.0f} %" if shares.n_cells else ""


def _describe_leads(leads: list[float]) -> str:
    shares = share_cells(leads)
    if not shares.n_cells:
        return "measured"
    return f"ours leads in {100 * shares.leads:.0f} %, is near in {100 * shares.near:.0f} % of {shares.n_cells} budgets"


if __name__ == "__main__":
    sys.exit(main())
