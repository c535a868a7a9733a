"""The same model and the same predictions on any processor: nothing depends on the instructions that it has."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mpboost import _native
from tests.support.real_data import PROJECT


def run_fingerprints(*arguments, **environment):
    """Fit models in a fresh process; return their fingerprints, and those of functions of other libraries."""
    command = [sys.executable, "-m", "tests.support.fingerprints", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # `make test` sets it
    environment = inherited | environment
    run = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(run.stdout)


def assert_same_models(results, expected):
    different = [name for name, fingerprint in expected["models"].items() if results["models"][name] != fingerprint]
    assert different == []


@pytest.fixture(scope="module")
def here():
    """What this processor gives with all that it has."""
    return run_fingerprints()


@pytest.mark.slow
def test_models_do_not_depend_on_the_instructions_of_numpy(here):
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    others = run_fingerprints(NPY_DISABLE_CPU_FEATURES=" ".join(found))
    if others["numpy"] == here["numpy"]:
        pytest.skip("NumPy has no other instructions on this processor")
    assert_same_models(others, here)


@pytest.mark.slow
def test_models_do_not_depend_on_the_instructions_of_the_c_library(here):
    others = run_fingerprints(GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA")
    if others["libm"] == here["libm"]:
        pytest.skip("the C library has no other instructions on this processor")
    assert_same_models(others, here)


@pytest.mark.slow
@pytest.mark.parametrize("name", _native.available_kernels()[1:])
def test_models_do_not_depend_on_our_instructions(here, name):
    others = run_fingerprints(name)
    assert others["kernels"] == name != here["kernels"]
    assert_same_models(others, here)


@pytest.mark.slow
def test_models_do_not_depend_on_the_instructions_of_matrix_products(here):
    assert_same_models(run_fingerprints(OPENBLAS_CORETYPE="Nehalem", OPENBLAS_NUM_THREADS="1"), here)
