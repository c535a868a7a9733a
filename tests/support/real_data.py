"""Real data sets, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

PROJECT = Path(__file__).resolve().parents[2]


def load_data(name: str) -> dict[str, NDArray]:
    """Load the arrays of a data set of the folder MPBOOST_DATA, or skip the test that needs them."""
    folder = Path(os.environ.get("MPBOOST_DATA", PROJECT / "../shared/data"))
    path = folder / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs {name}.npz in {folder.resolve()}: set MPBOOST_DATA to the folder of data sets")
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}
