"""A small Ray cluster for all tests of mpboost.ray, in this machine."""

import os
import warnings

import pytest


@pytest.fixture(scope="session")
def ray():
    """Ray, with two processors."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray", reason="mpboost[ray] is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield ray
    ray.shutdown()
