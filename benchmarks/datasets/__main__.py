"""Measure datasets on disk, each step in a process of its own: ``python -m benchmarks.datasets``.

large     100 million rows x 30 columns of Parquet, with words and missing values: building, training, and LightGBM on
          the first 5 million rows
wide      20 million rows x 400 columns under a limit of 4 GiB of memory, files in memory included
mapped    8 million rows x 20 columns from memory and from a file, in turns
building  binning 5 million rows x 30 columns of an array, beside LightGBM and XGBoost, one thread
growth    memory per row and seconds per iteration as rows and columns grow

What is known is not run again; ``--fresh`` starts anew. The files take up to 15 GB of the folder that ``--data`` names,
and stay there for the next run.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.folders import PROJECT
from benchmarks.common.growing_table import GrowingTable
from benchmarks.common.output import print_heading, print_line, print_table
from benchmarks.datasets.made_up import make_batches, write_parquet

SECTIONS = ("large", "wide", "mapped", "building", "growth")
FAMILIES = {"gradient": "MPGradientBoostingClassifier", "votes": "MPBoostClassifier"}
KEY = ("section", "what", "rows", "columns", "threads")
FIGURES = (
    *("seconds", "cpu_seconds", "peak_bytes", "first_seconds", "iteration_seconds", "file_bytes", "score"),
    *("test_score", "memory_seconds", "mapped_seconds", "ratio", "models", "max_rss"),
)
GIB = 1 << 30


class Bench:
    """Runs steps that are not known yet, and keeps what they come to."""

    def __init__(self, table: GrowingTable, data: Path, *, quick: bool):
        self._table = table
        self.data, self.quick = data, quick

    def run(self, section: str, what: str, rows: int, columns: int, threads: int, **arguments: Any) -> dict[str, str]:
        """Run a step, unless it is known; return its figures."""
        key = dict(zip(KEY, (section, what, rows, columns, threads), strict=True))
        if not self._table.knows(**key):
            print_line(f"{section}, {what}: {rows:,} x {columns}, {threads} thread(s) ...")
            command = [sys.executable, "-m", "benchmarks.datasets.worker", json.dumps(arguments)]
            done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
            if done.returncode:
                print_line(f"failed ({done.returncode}): {done.stderr.strip().splitlines()[-1:]}")
                return {}
            figures = json.loads(done.stdout.splitlines()[-1])
            self._table.add([{**key, **{name: figures.get(name, "") for name in FIGURES}}])
        return next(
            row for row in reversed(self._table.rows) if all(row[name] == str(value) for name, value in key.items())
        )


def measure_large(bench: Bench) -> None:
    """Build from Parquet, train both families, and LightGBM on what it can hold."""
    n_rows, n_columns, n_trees, n_peer = (100_000_000, 30, 50, 5_000_000) if not bench.quick else (20_000, 10, 3, 5000)
    folder, file, test = bench.data / f"large-{n_rows}", bench.data / f"large-{n_rows}.mpcols", bench.data / "test"
    write_parquet(folder, n_rows, n_columns, 3, 5_000_000)
    test_file = str(_write_test(test, n_columns, 3))
    lines = []
    built = bench.run(
        "large", "build", n_rows, n_columns, 2, task="build", folder=str(folder), file=str(file), n_jobs=2
    )
    if built:
        cells = n_rows * n_columns / float(built["cpu_seconds"]) / 1e6
        lines.append(["build", _seconds(built), _bytes(built["peak_bytes"]), "", f"{cells:.0f}M cells per CPU s", ""])
    for family, name in FAMILIES.items():
        row = bench.run(
            *("large", family, n_rows, n_columns, 2),
            task="fit",
            file=str(file),
            estimator=name,
            n_trees=n_trees,
            n_jobs=2,
            test=test_file,
        )
        if row:
            lines.append(_describe_fit(family, row, n_rows))
    row = bench.run(
        *("large", f"LightGBM, {n_peer} rows", n_rows, n_columns, 2),
        task="fit_lightgbm",
        folder=str(folder),
        n_rows=n_peer,
        n_trees=n_trees,
        n_jobs=2,
        test=test_file,
    )
    if row:
        lines.append(
            [f"LightGBM, first {n_peer:,} rows", _seconds(row), _bytes(row["peak_bytes"]), "", "", _share(row)]
        )
    _show("step", lines)


def measure_wide(bench: Bench) -> None:
    """Build and train under a limit of memory that is less than the file."""
    n_rows, n_columns, n_trees = (20_000_000, 400, 24) if not bench.quick else (5000, 20, 3)
    file = bench.data / f"wide-{n_rows}.mpcols"
    limit, lines = 4 * GIB, []
    built = bench.run(
        *("wide", "build", n_rows, n_columns, 2),
        task="build_from_batches",
        n_rows=n_rows,
        n_columns=n_columns,
        file=str(file),
        n_jobs=2,
        limit=limit,
    )
    if built:
        lines.append(["build", _seconds(built), _bytes(built["peak_bytes"]), "", "", ""])
    for family, name in FAMILIES.items():
        row = bench.run(
            *("wide", family, n_rows, n_columns, 2),
            task="fit",
            file=str(file),
            estimator=name,
            n_trees=n_trees,
            n_jobs=2,
            limit=limit,
        )
        if row:
            lines.append(_describe_fit(family, row, n_rows))
    _show("step", lines)


def measure_mapped(bench: Bench) -> None:
    """Compare memory with a mapped file."""
    n_rows, n_columns, n_trees = (8_000_000, 20, 24) if not bench.quick else (5000, 10, 3)
    lines = []
    for family, name in FAMILIES.items():
        row = bench.run(
            *("mapped", family, n_rows, n_columns, 1),
            task="fit_memory",
            n_rows=n_rows,
            n_columns=n_columns,
            estimator=name,
            n_trees=n_trees,
            file=str(bench.data / "mapped.mpcols"),
            n_jobs=1,
        )
        if row:
            times = [f"{1000 * float(row[name]):.0f} ms" for name in ("memory_seconds", "mapped_seconds")]
            lines.append([family, *times, f"{float(row['ratio']):.2f}", "yes" if row["models"] == "1" else "NO"])
    print_table(["family", "iteration, memory", "mapped", "ratio", "same model"], lines)


def measure_building(bench: Bench) -> None:
    """Compare the speed of binning."""
    n_rows, n_columns = (5_000_000, 30) if not bench.quick else (20_000, 10)
    lines = []
    for library in ("mpboost", "LightGBM", "XGBoost"):
        row = bench.run(
            *("building", library, n_rows, n_columns, 1),
            task="build_peers",
            n_rows=n_rows,
            n_columns=n_columns,
            library=library,
            n_jobs=1,
        )
        if row:
            rate = n_rows * n_columns / float(row["cpu_seconds"]) / 1e6
            lines.append([library, _seconds(row), f"{float(row['cpu_seconds']):.1f} s", f"{rate:.0f} million"])
    print_table(["library", "seconds", "of processors", "cells per CPU second"], lines)


def measure_growth(bench: Bench) -> None:
    """Measure memory and time as rows and columns grow."""
    sizes = [(1_000_000, 30), (10_000_000, 30), (1_000_000, 300)] if not bench.quick else [(5000, 10)]
    lines = []
    for n_rows, n_columns in sizes:
        file = bench.data / f"growth-{n_rows}-{n_columns}.mpcols"
        bench.run(
            *("growth", "build", n_rows, n_columns, 2),
            task="build_from_batches",
            n_rows=n_rows,
            n_columns=n_columns,
            file=str(file),
            n_jobs=2,
        )
        for family, name in FAMILIES.items():
            row = bench.run(
                *("growth", family, n_rows, n_columns, 2),
                task="fit",
                file=str(file),
                estimator=name,
                n_trees=48,
                n_jobs=2,
            )
            if row:
                lines.append([f"{n_rows:,} x {n_columns}", *_describe_fit(family, row, n_rows)])
    print_table(["table", "family", "seconds", "memory", "per row", "iteration", "score"], lines)


def _describe_fit(family: str, row: dict[str, str], n_rows: int) -> list[str]:
    per_row = f"{float(row['peak_bytes']) / n_rows:.1f}"
    step = f"{float(row['iteration_seconds']):.3f} s (first {float(row['first_seconds']):.2f})"
    return [family, _seconds(row), _bytes(row["peak_bytes"]), per_row, step, _share(row)]


def _show(first: str, lines: list[list[str]]) -> None:
    print_table([first, "seconds", "memory beyond files", "bytes per row", "iteration", "test score"], lines)


def _seconds(row: dict[str, str]) -> str:
    return f"{float(row['seconds']):.1f}"


def _share(row: dict[str, str]) -> str:
    score = row["test_score"] or row["score"]
    return f"{100 * float(score):.2f} %" if score else ""


def _bytes(text: str) -> str:
    return f"{float(text) / 1e6:,.0f} MB"


def _write_test(folder: Path, n_columns: int, n_words: int) -> Path:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{n_columns}.parquet"
    if not path.exists():
        table, _ = next(make_batches(200_000, n_columns, n_words=n_words, seed=1))
        pq.write_table(table, path)
    return path


MEASURES = {
    "large": measure_large,
    "wide": measure_wide,
    "mapped": measure_mapped,
    "building": measure_building,
    "growth": measure_growth,
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, SECTIONS)
    parser.add_argument("--data", type=Path, help="folder for the data; by default in the system's temporary folder")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    options, folder = parse(parser, arguments, "datasets")
    data = options.data or Path(tempfile.gettempdir(), "mpboost-benchmark")
    data.mkdir(parents=True, exist_ok=True)

    def measure(_: None) -> None:
        table = GrowingTable(folder / "datasets.csv", KEY, FIGURES)
        if options.fresh:
            table.forget(lambda row: row["section"] in (options.only or SECTIONS))
        bench = Bench(table, data, quick=options.quick)
        for section in options.only or SECTIONS:
            print_heading(section)
            MEASURES[section](bench)

    return run_on(lambda: None, measure)


if __name__ == "__main__":
    sys.exit(main())
