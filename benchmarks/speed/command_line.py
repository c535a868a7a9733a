"""Measure what users of the command line wait for, and how fast tables are read.

``python -m benchmarks.speed.command_line``. ``--other PATH`` also measures another command, in turns.
"""

import importlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.common.command import make_parser, parse, print_machine
from benchmarks.common.measure import take_turns, time_call
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table
from mpboost import read_table

Times = dict[str, list[float]]


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="turns of each (default: %(default)s)")
    parser.add_argument("--other", type=Path, help="the command of another environment")
    options, folder = parse(parser, arguments, "speed")
    n_rows, n_turns = (5_000, 1) if options.quick else (options.rows, options.turns)
    print_machine()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        write_tables(place, n_rows)
        commands = {"ours": Path(sys.executable).with_name("mpboost")}
        commands |= {"other": options.other.resolve()} if options.other else {}
        compare_commands(commands, place, n_turns, folder)
        compare_readers(place / "large.csv", n_turns, folder)
    return 0


def write_tables(place: Path, n_rows: int) -> None:
    """Write a table with 20 columns of numbers and words, a fifth of it to predict, and a small one to train on."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=n_rows).round(4) for j in range(12)}
    columns |= {f"k{j}": rng.integers(0, 1000, n_rows) for j in range(4)}
    columns |= {f"w{j}": rng.choice([f"c{i}" for i in range(size)], n_rows) for j, size in enumerate((3, 4, 50))}
    signal = columns["x0"] + columns["x1"] * columns["x2"] + (columns["w0"] == "c1") + columns["k0"] / 500
    columns["y"] = np.where(signal + rng.normal(size=n_rows) > 1.3, "yes", "no")
    table = pa.table(columns)
    for name, n_kept in (("large", n_rows), ("predict", n_rows // 5), ("small", min(n_rows, 20_000))):
        pa.csv.write_csv(table.slice(0, n_kept), place / f"{name}.csv")


def compare_commands(commands: dict[str, Path], place: Path, n_turns: int, folder: Path) -> None:
    """Measure commands, from the start of the process to its end."""
    print_heading("Commands, seconds")
    for name, command in commands.items():
        for preset in ("votes", "gradient"):
            # An older command calls MP-Boost the default.
            presets = [preset, "default"] if preset == "votes" else [preset]
            for each in presets:
                arguments = f"fit small.csv -t y -o {name}-{preset}.mpb --preset {each} --quiet -f".split()
                if subprocess.run([command, *arguments], cwd=place, capture_output=True).returncode == 0:
                    break
    tasks = {
        "--help": "--help",
        "fit --help": "fit --help",
        "info": "info {name}-gradient.mpb",
        "predict a fifth of the rows, gradient": "predict {name}-gradient.mpb predict.csv -o {name}.csv -f -q",
        "predict a fifth of the rows, votes": "predict {name}-votes.mpb predict.csv -o {name}.csv -f -q",
        "fit of all rows, gradient": "fit large.csv -t y -o {name}.mpb -f -q --preset gradient",
    }
    lines = []
    for title, words in tasks.items():
        calls = {
            name: partial(time_command, [str(command), *words.format(name=name).split()], place)
            for name, command in commands.items()
        }
        spent = take_turns(calls, n_turns if title.startswith("fit of") else 2 * n_turns - 1)
        medians = {name: statistics.median(seconds) for name, seconds in spent.items()}
        lines.append([title, *[f"{medians[name]:.2f}" if name in medians else "" for name in ("other", "ours")]])
    show_table(folder / "command_line.csv", ["command", "other", "ours"], lines)


def compare_readers(path: Path, n_turns: int, folder: Path) -> None:
    """Measure how long several libraries read the same file."""
    print_heading(f"Reading {path.stat().st_size / 1e6:.0f} MB of CSV, seconds")
    calls: dict[str, Callable[[], object]] = {
        "mpboost.read_table": lambda: read_table(path, frame="pyarrow"),
        "pyarrow, types of the first block": lambda: pa.csv.read_csv(path),
    }
    pandas, polars = importlib.import_module("pandas"), importlib.import_module("polars")
    calls["polars, types of all rows"] = lambda: polars.read_csv(path, infer_schema_length=None)
    calls["pandas"] = lambda: pandas.read_csv(path)
    spent: Times = take_turns({name: partial(time_call, call, 1) for name, call in calls.items()}, n_turns)
    lines = [[name, f"{statistics.median(seconds):.2f}"] for name, seconds in spent.items()]
    show_table(folder / "reading.csv", ["reader", "s"], lines)


def time_command(command: list[str], place: Path) -> float:
    """Run a command and measure its seconds."""
    return time_call(lambda: subprocess.run(command, cwd=place, check=True, capture_output=True), 1)


if __name__ == "__main__":
    sys.exit(main())
