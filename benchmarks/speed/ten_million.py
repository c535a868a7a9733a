"""Time and memory of fits of 10 million rows x 100 columns: ``python -m benchmarks.speed.ten_million``.

200 trees, one thread, float32 made up in place, each fit in a process of its own, with up to 24 GiB of memory. What is
known is not run again; ``--fresh`` starts anew.
"""

import sys

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.contestants import CONTESTANTS, find_installed
from benchmarks.scaling.fits import Fit, run_fit

NAMES = ("MPGradientBoosting", "MPBoost", "LightGBM")
N_ROWS, N_COLUMNS, N_TREES = 10_000_000, 100, 200
QUICK_ROWS, QUICK_COLUMNS, QUICK_TREES = 2000, 10, 5
BYTES_PER_CELL = 4
KEY = ("contestant", "version", "rows", "columns", "trees")
FIGURES = ("seconds", "wall_seconds", "peak_bytes", "accuracy")


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    installed = find_installed(NAMES)
    add_only(parser, installed)
    parser.add_argument("--rows", type=int, default=N_ROWS, help=f"by default {N_ROWS}")
    parser.add_argument("--cap", type=float, default=1800.0, help="a fit is ended after twice so many seconds")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    options, folder = parse(parser, arguments, "speed")
    n_rows, n_columns, n_trees = (
        (QUICK_ROWS, QUICK_COLUMNS, QUICK_TREES) if options.quick else (options.rows, N_COLUMNS, N_TREES)
    )

    def measure(_: None) -> None:
        print_heading(f"{n_rows:,} x {n_columns} float32, {n_trees} trees, one thread")
        table = GrowingTable(folder / "ten_million_fits.csv", KEY, FIGURES)
        if options.fresh:
            table.forget(lambda row: row["contestant"] in (options.only or installed))
        lines = []
        for name in options.only or installed:
            fit = Fit(name, CONTESTANTS[name].version, "rows", n_rows, n_columns)
            key = dict(zip(KEY, (name, fit.version, n_rows, n_columns, n_trees), strict=True))
            if not table.knows(**key):
                outcome = run_fit(fit, options.cap, n_trees)
                if outcome.reason:
                    print_line(f"{name}: {outcome.reason}")
                    continue
                table.add([{**key, **{figure: getattr(outcome, figure) for figure in FIGURES}}])
            row = next(row for row in reversed(table.rows) if all(row[k] == str(v) for k, v in key.items()))
            peak, data = float(row["peak_bytes"]), BYTES_PER_CELL * n_rows * n_columns
            lines.append(
                [
                    name,
                    *(f"{float(row[figure]):.1f}" for figure in ("seconds", "wall_seconds")),
                    f"{peak / 1e6:,.0f}",
                    f"{peak / data:.2f}x",
                    f"{peak / n_rows:.0f}",
                    f"{100 * float(row['accuracy']):.2f} %",
                ]
            )
        columns = ["contestant", "s", "s on the wall", "MB over the data", "of the data", "bytes per row", "accuracy"]
        show_table(folder / "ten_million.csv", columns, lines)

    return run_on(lambda: None, measure)


if __name__ == "__main__":
    sys.exit(main())
