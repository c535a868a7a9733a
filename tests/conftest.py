"""What tests share: real data sets, where they are at hand, and one profile for property tests."""

import signal

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from mpboost import _native
from tests.support.pages import ROOT
from tests.support.real_data import load_data

# The same examples on every run and on any machine, however slow.
settings.register_profile("mpboost", deadline=None, derandomize=True, database=None)
settings.load_profile("mpboost")


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path_factory):
    """Keep the benchmarks from OpenML, and from what they once fetched from it."""

    def refuse(**_):
        raise OSError("tests stay off the network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    monkeypatch.setenv("MPBOOST_CACHE", str(tmp_path_factory.getbasetemp() / "no-cache"))


@pytest.fixture(autouse=True, scope="session")
def clean_root():
    """Let no test leave files in the folder of the project: what saves something runs in a folder of its own."""

    def list_files():
        return {path.name for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")}

    before = list_files()
    yield
    assert list_files() <= before


@pytest.fixture(scope="session")
def mnist_3_vs_8() -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Digits 3 (label 0) and 8 (label 1) as X_train, y_train, X_test, y_test; pixels are uint8."""
    data = load_data("mnist")
    parts = []
    for part in ("train", "test"):
        chosen = np.isin(data[f"y_{part}"].astype(np.int64), (3, 8))
        parts += [data[f"X_{part}"][chosen], (data[f"y_{part}"][chosen].astype(np.int64) == 8).astype(np.int64)]
    return tuple(parts)


@pytest.fixture(scope="session")
def cancer() -> tuple[NDArray, NDArray]:
    """Breast cancer of scikit-learn as X, y."""
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="session")
def threads() -> _native.Threads:
    """One thread."""
    return _native.Threads(1)


BEST, *OTHERS = _native.available_kernels()


@pytest.fixture(params=[BEST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def kernels(request: pytest.FixtureRequest):
    """Every instruction set of this processor in turn; the best one again afterwards."""
    _native.use_kernels(request.param)
    yield request.param
    _native.use_kernels(BEST)


@pytest.fixture
def python_handler():
    """Python's own handler before each test and, whatever a test does, after it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    left = signal.signal(signal.SIGINT, before)
    assert left is signal.default_int_handler
