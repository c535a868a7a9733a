import logging

import pytest

from mpboost import MPBoostClassifier, MPGradientBoostingRegressor
from mpboost.dask.placement import Size, choose_placement
from mpboost.dask.workers import Worker
from tests.support.rules import Bell

GIB = 2**30
VOTES = MPBoostClassifier()


def make_workers(*limits):
    return [Worker(f"tcp://10.0.0.{k}:80", f"10.0.0.{k}", 1, limit) for k, limit in enumerate(limits)]


@pytest.mark.parametrize(
    ("wanted", "n_rows", "limits", "estimator", "chosen"),
    [
        ("auto", 1000, (GIB, GIB), VOTES, "one"),
        ("auto", 10_000_000, (GIB, 64 * GIB), VOTES, "sharded"),
        ("auto", 10_000_000, (64 * GIB,), VOTES, "one"),
        ("auto", 10_000_000, (64 * GIB, GIB), MPGradientBoostingRegressor(loss="quantile"), "one"),
        ("auto", 10_000_000, (64 * GIB, GIB), MPBoostClassifier(weighting=Bell()), "one"),
        ("auto", 4_000_000, (GIB, GIB), VOTES, "sharded"),
        ("auto", 4_000_000, (GIB, None), VOTES, "one"),
        ("one", 10_000_000, (GIB, GIB), VOTES, "one"),
        ("sharded", 1000, (GIB, GIB), VOTES, "sharded"),
    ],
    ids=["few", "many", "one worker", "cannot", "rule", "no room", "no limit", "asked one", "asked sharded"],
)
def test_placement_follows_rows_and_memory(wanted, n_rows, limits, estimator, chosen, caplog):
    with caplog.at_level(logging.INFO, "mpboost.dask"):
        assert choose_placement(wanted, Size(n_rows, 30, 1), make_workers(*limits), estimator) == chosen
    assert caplog.messages[0].startswith(f"placement '{chosen}' (")
