"""How long a tree takes for a row, by its number of leaves: ``python -m benchmarks.speed.apply``."""

import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.common.command import make_parser, parse, print_machine
from benchmarks.common.measure import time_call
from benchmarks.common.output import print_heading
from benchmarks.common.results import show_table
from benchmarks.data.made_up import make_table
from mpboost import _native


@dataclass(frozen=True)
class Case:
    """A table that a tree is grown and applied on."""

    n_rows: int
    n_columns: int
    is_messy: bool  # three columns are categories, and a tenth of the values is missing

    def __str__(self) -> str:
        return f"{self.n_rows:,} x {self.n_columns}{', categories, missing values' if self.is_messy else ''}"


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    options, folder = parse(parser, arguments, "speed")
    tables, patches = (
        ((100_000, 1_000_000), (500, 2000, 8000, 40_000)) if not options.quick else ((5_000,), (500, 2000))
    )
    print_machine()
    print_heading("Saturated trees, one thread: ns a row")
    kernels = _native.available_kernels()
    rows = [
        [str(case), *line]
        for n_rows in tables
        for n_columns in (10, 20, 100)
        for is_messy in (False, True)
        if n_rows * n_columns <= 40_000_000
        for case in [Case(n_rows, n_columns, is_messy)]
        for line in measure(case, patches, kernels)
    ]
    show_table(folder / "apply.csv", ["table", "leaves", *(f"{name}: votes" for name in kernels)], rows)
    return 0


def measure(case: Case, patches: tuple[int, ...], kernels: list[str]) -> list[list[str]]:
    """Grow a tree on each number of rows, and apply it to all of them."""
    threads = _native.Threads(1)
    X, y = make_table(case.n_rows, case.n_columns)
    rng = np.random.default_rng(0)
    if case.is_messy:
        X[:, :3] = np.floor(20 * X[:, :3])
        X[rng.random(X.shape) < 0.1] = np.nan
    columns = _native.BinMapper.fit(X, 255, 0, threads).transform(X, threads)
    is_categorical = np.arange(case.n_columns) < 3 if case.is_messy else None
    votes = np.empty(case.n_rows, dtype=np.int8)
    lines = []
    for n_patch in patches:
        rows = np.sort(rng.choice(case.n_rows, n_patch, replace=False))
        grower = _native.BinaryGrower(0, 1, 1.0)
        tree = grower.grow(columns, rows, np.arange(case.n_columns), y, None, is_categorical).tree
        times = []
        for name in kernels:
            _native.use_kernels(name)
            best = min(time_call(lambda tree=tree: tree.apply_votes(columns, votes, threads), 1) for _ in range(5))
            times.append(f"{1e9 * best / case.n_rows:.1f}")
        _native.use_kernels(kernels[0])
        lines.append([str(len(tree.leaf_values)), *times])
    return lines


if __name__ == "__main__":
    sys.exit(main())
