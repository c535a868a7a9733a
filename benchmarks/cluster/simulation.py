"""Iterations per second on many workers, estimated from what was measured on two.

An iteration on W workers with t threads each, over N rows, takes

    c N / (W t) + g / min(W, K) + j + e (R + (W - 2) h) + ((W - 1) b + s) / B

seconds: c for a row, g for growing a tree, which K shards do side by side, j for joining in shard 0, e exchanges of R
seconds with two shards and h more for each further one, b bytes between shard 0 and each other one, and s bytes of rows
of minipatches, at B bytes per second. Each shard sends its own rows and gets those of its trees, so s does not grow
with W. With a tree of fan-out f in place of a star, W in the last two terms becomes f, as often as the tree has levels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cluster.rounds import BETWEEN, DEALT
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import Row, read_rows, show_table

N_ROWS = (10**8, 10**9, 10**10)
N_WORKERS = (10, 30, 100, 300, 1000)
#: Threads of a worker, trees of a round, branches of a tree of workers.
N_THREADS, ROUND_SIZE, FAN_OUT = 8, 8, 8
#: Where trees are grown.
GROWING = "sharded_patches"
#: Where shards contribute what they have of the rows of minipatches: more shards send less each. Elsewhere they send
#: sums, each as many as the others.
OF_ROWS = (GROWING, "observations", "gradients.update", "gradient_trees")


@dataclass(frozen=True)
class Costs:
    """What was measured, in seconds and bytes of an iteration.

    Attributes
    ----------
    row : float
        Seconds of a row on one thread, c.
    growing, joining : float
        Seconds of growing a tree, g, and of joining in shard 0, j.
    n_exchanges : float
        Exchanges, e.
    round_trip, message : float
        Seconds of an exchange of two shards, R, and of shard 0 for each further shard, h.
    shared, for_each : float
        Bytes that all shards send or get together, s, and bytes between shard 0 and each other one, b.
    bandwidth : float
        Bytes per second, B.
    """

    row: float
    growing: float
    joining: float
    n_exchanges: float
    round_trip: float
    message: float
    shared: float
    for_each: float
    bandwidth: float


def show_simulation(folder: Path, *, quick: bool) -> None:
    """Print and write iterations per second, and where more workers do not help any more."""
    rows = []
    for family, costs in read_all_costs(folder):
        print_heading(family)
        print_line(", ".join(f"{symbol} = {value}" for symbol, value in describe_costs(costs).items()))
        rows += [cells for n_rows in N_ROWS for cells in simulate(family, costs, n_rows)]
    columns = ["estimator", "rows", "workers", "iterations per s, star", "of that rows, %", "tree of 8", "best workers"]
    show_table(folder / "simulation.csv", columns, rows)


def read_all_costs(folder: Path) -> list[tuple[str, Costs]]:
    """Read the costs of each family from the results in a folder."""
    needed = [folder / f"{name}.csv" for name in ("latency", "hub", "rounds")]
    for path in needed:
        if not path.exists():
            kind = "rounds" if path.stem == "rounds" else "latency"
            raise SystemExit(f"{path} is missing: run python -m benchmarks.cluster {kind} first.")
    latency, hub, rounds = map(read_rows, needed)
    families = dict.fromkeys(row["estimator"] for row in rounds)
    return [(each, read_costs(latency, hub, [row for row in rounds if row["estimator"] == each])) for each in families]


def describe_costs(costs: Costs) -> dict[str, str]:
    """Describe costs by the letters of the formula, with units."""
    return {
        "c": f"{1e9 * costs.row:.2f} ns",
        "g": f"{1e3 * costs.growing:.2f} ms",
        "j": f"{1e3 * costs.joining:.2f} ms",
        "e": f"{costs.n_exchanges:.2f}",
        "R": f"{1e3 * costs.round_trip:.2f} ms",
        "h": f"{1e3 * costs.message:.3f} ms",
        "b": f"{costs.for_each / 1e3:.1f} kB",
        "s": f"{costs.shared / 1e3:.1f} kB",
        "B": f"{costs.bandwidth / 1e6:.0f} MB/s",
    }


def read_costs(latency: Sequence[Row], hub: Sequence[Row], rounds: Sequence[Row]) -> Costs:
    """Compute costs from tables of results."""
    exchange = {row["one way"]: float(row["median"]) / 1000 for row in latency if row["way"] == "exchange"}
    shards, busy = (np.array([float(row[name]) for row in hub]) for name in ("shards", "processor time of shard 0"))
    growing = [row for row in rounds if row["part"].startswith(GROWING)]
    of_rows = [row for row in rounds if row["part"].startswith(OF_ROWS)]
    dealt = [row for row in rounds if row["part"].endswith(DEALT)]
    n_here = float(rounds[0]["rows"]) / 2
    work = add_up(leave_out(rounds, growing), "own work") / 1000
    return Costs(
        row=work / n_here,
        growing=2 * add_up(growing, "own work") / 1000,
        joining=add_up(rounds, "joining") / 1000,
        n_exchanges=add_up([row for row in rounds if row["part"] != BETWEEN], "calls"),
        round_trip=exchange["nothing"],
        message=max(0.0, float(np.polyfit(shards, busy, 1)[0])) / 1000,
        # Of two shards, one has sent half of all rows.
        shared=2000 * (add_up(of_rows, "kB in") + add_up(dealt, "kB out to each")),
        for_each=1000
        * (add_up(leave_out(rounds, of_rows), "kB in") + add_up(leave_out(rounds, dealt), "kB out to each")),
        bandwidth=1e6 / max(exchange["1 MB"] - exchange["nothing"], 1e-9),
    )


def leave_out(rows: Sequence[Row], some: Sequence[Row]) -> list[Row]:
    """List the rows that are not among some."""
    return [row for row in rows if row not in some]


def add_up(rows: Sequence[Row], column: str) -> float:
    """Add up a column."""
    return sum(float(row[column]) for row in rows)


def estimate_star(costs: Costs, n_rows: int, n_workers: int) -> float:
    """Estimate the seconds of an iteration if all shards talk to shard 0."""
    exchanges = costs.n_exchanges * (costs.round_trip + (n_workers - 2) * costs.message)
    n_bytes = costs.shared + (n_workers - 1) * costs.for_each
    return compute_work(costs, n_rows, n_workers) + exchanges + n_bytes / costs.bandwidth


def estimate_tree(costs: Costs, n_rows: int, n_workers: int) -> float:
    """Estimate the seconds of an iteration if parts were joined, and results passed on, by a tree of shards."""
    n_levels = max(1, math.ceil(math.log(n_workers, FAN_OUT) - 1e-9))
    exchanges = n_levels * costs.n_exchanges * (costs.round_trip + (FAN_OUT - 1) * costs.message)
    n_bytes = costs.shared + n_levels * FAN_OUT * costs.for_each
    return compute_work(costs, n_rows, n_workers) + exchanges + n_bytes / costs.bandwidth


def compute_work(costs: Costs, n_rows: int, n_workers: int) -> float:
    """Compute the seconds of an iteration without what is sent."""
    rows = costs.row * n_rows / (n_workers * N_THREADS)
    return rows + costs.growing / min(n_workers, ROUND_SIZE) + costs.joining


def find_best(costs: Costs, n_rows: int) -> float:
    """Compute the number of workers beyond which a star becomes slower."""
    for_each = costs.n_exchanges * costs.message + costs.for_each / costs.bandwidth
    return math.sqrt(costs.row * n_rows / N_THREADS / for_each)


def simulate(family: str, costs: Costs, n_rows: int) -> list[list[str]]:
    """Make the rows of the table for one number of rows."""
    cells = []
    for n_workers in N_WORKERS:
        star, tree = estimate_star(costs, n_rows, n_workers), estimate_tree(costs, n_rows, n_workers)
        share = costs.row * n_rows / (n_workers * N_THREADS) / star
        best = f"{find_best(costs, n_rows):.0f}"
        cells.append(
            [family, f"{n_rows:.0e}", f"{n_workers}", f"{1 / star:.2f}", f"{100 * share:.0f}", f"{1 / tree:.2f}", best]
        )
    return cells
