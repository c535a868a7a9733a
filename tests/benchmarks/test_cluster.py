"""The benchmarks of training on a cluster run, and the simulation follows from what was measured."""

from dataclasses import replace

import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")
pytest.importorskip("distributed", reason="mpboost[dask] is not installed")

from benchmarks.cluster.__main__ import main
from benchmarks.cluster.simulation import Costs, estimate_star, estimate_tree, find_best, read_costs
from benchmarks.common.results import read_rows

COSTS = Costs(
    row=1e-8,
    growing=0.008,
    joining=0.001,
    n_exchanges=2.0,
    round_trip=5e-4,
    message=1e-4,
    shared=1e5,
    for_each=1e4,
    bandwidth=1e9,
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "n_rows"),
    [("fits", "fits", 2), ("latency", "latency", 6), ("rounds", "rounds", 8), ("kills", "kills", 2)],
)
def test_benchmark_runs(tmp_path, kind, name, n_rows):
    assert main([kind, "--quick", "--output", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / f"{name}.csv")
    assert len(rows) >= n_rows
    if kind == "fits":
        assert {row["same model"] for row in rows} == {"yes"}
    if kind == "kills":
        assert {row["outcome"] for row in rows} == {"same bits"}
        assert {row["left over"] for row in rows} == {"nothing"}


def test_iteration_of_two_workers_is_what_was_measured():
    expected = 1e-8 * 10**8 / 16 + 0.008 / 2 + 0.001 + 2 * 5e-4 + (1e5 + 1e4) / 1e9
    assert estimate_star(COSTS, 10**8, 2) == pytest.approx(expected)


def test_most_workers_that_help_are_those_with_the_shortest_iteration():
    best = find_best(COSTS, 10**9)
    around = [estimate_star(replace(COSTS, growing=0), 10**9, round(best * factor)) for factor in (0.8, 1.0, 1.25)]
    assert min(around) == around[1]


def test_tree_of_workers_wins_where_they_are_many():
    assert estimate_tree(COSTS, 10**9, 1000) < estimate_star(COSTS, 10**9, 1000)


def test_costs_are_read_from_tables_of_results():
    latency = [
        {"way": "exchange", "one way": name, "median": value} for name, value in (("nothing", "0.5"), ("1 MB", "1.5"))
    ]
    hub = [{"shards": str(n), "processor time of shard 0": str(0.3 + 0.1 * n)} for n in (2, 5, 9)]
    names = ("part", "calls", "own work", "joining", "kB in", "kB out to each")
    rounds = [
        dict(zip(names, cells, strict=True), rows="2000000")
        for cells in (
            ("between exchanges", "1", "10", "0", "0", "0"),
            ("sharded_patches.train_in_shards, dealt", "0.25", "1", "0.5", "30", "20"),
            ("sharded_patches.train_in_shards", "0.25", "1", "0", "3", "6"),
            ("gradients.update", "0", "0", "0", "7", "2"),
            ("voting.update", "1", "0", "0.5", "4", "6"),
        )
    ]
    costs = read_costs(latency, hub, rounds)
    expected = Costs(
        row=1e-8,
        growing=0.004,
        joining=0.001,
        n_exchanges=1.5,
        round_trip=5e-4,
        message=1e-4,
        shared=2 * (30_000 + 3_000 + 7_000 + 20_000),
        for_each=4_000 + 6_000 + 2_000 + 6_000,
        bandwidth=1e9,
    )
    assert vars(costs) == pytest.approx(vars(expected))


def test_simulation_asks_for_what_it_needs(tmp_path):
    with pytest.raises(SystemExit, match=r"latency.csv is missing: run python -m benchmarks.cluster latency first"):
        main(["simulate", "--output", str(tmp_path)])
