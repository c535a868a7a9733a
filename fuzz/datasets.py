"""Tests BinnedDataset.open with damaged files: ``python -m fuzz.datasets --count 100000 --seed 0``.

Opening must either raise a DatasetFileError or return a dataset. What is done with this may then raise a ValueError or
an OSError, since columns are not checked when a file is opened; but it may neither end the process nor hang. Opening
may take 1 s, and ten times the memory of the file plus 1 MiB.
"""

import functools
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mpboost
from fuzz.files import ALLOWANCE, MAX_GROWTH, MAX_SECONDS, make_folder
from fuzz.mutations import BYTEWISE, Rng, mutate, pick
from fuzz.pool import measure, run_command
from mpboost.containers.container import PROLOGUE
from mpboost.datasets.dataset_file import PAGE

#: The largest size that a file is extended to, so that it has room for the columns that its header tells of.
MAX_SIZE = 1 << 20

ESTIMATORS = (
    mpboost.MPBoostClassifier,
    mpboost.MPGradientBoostingClassifier,
    mpboost.MPBoostRegressor,
    mpboost.MPGradientBoostingRegressor,
)


@functools.cache
def make_originals() -> list[bytes]:
    """Build datasets of several kinds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    values = np.nansum(X[:, :3], axis=1)
    mixed = pd.DataFrame(X, columns=["age", "größe", "x" * 50, "", "5"])
    mixed["colour"] = rng.choice(["red", "green", "blue"], 300)
    mixed["city"] = pd.Categorical(rng.integers(0, 40, 300))
    builds: list[tuple[Any, ...]] = [
        (X, values > 0),
        (X, values, rng.random(300)),
        (mixed, np.where(values > 0, "yes", "no")),
        (mixed, np.array(["a", "b", "c", "d"], dtype=object)[rng.integers(0, 4, 300)], rng.integers(0, 3, 300)),
        (mixed[:1], [1.5]),
        (X[:130, :1],),
    ]
    path = Path(make_folder().name, "original")
    originals = []
    for build in builds:
        mpboost.BinnedDataset.from_arrays(*build, max_bins=20 if build[0] is mixed else 255, file=path)
        originals.append(path.read_bytes())
    return originals


def change_dataset(data: bytes, rng: Rng) -> tuple[list[str], bytes]:
    """Change the container that a file begins with, or its columns, or both, or bytes anywhere."""
    if rng.random() < 0.1:
        change = pick(rng, BYTEWISE)
        return [change.__name__], bytes(change(bytearray(data), rng))
    *_, size = PROLOGUE.unpack_from(data)
    container, columns = data[:size], data[-(-size // PAGE) * PAGE :]
    names: list[str] = []
    if rng.random() < 0.8:
        names, container = mutate(container, rng)
    if not names or rng.random() < 0.3:
        change = pick(rng, BYTEWISE)
        columns = bytes(change(bytearray(columns), rng))
        names = [*names, f"{change.__name__} of columns"]
    return names, container + bytes(-len(container) % PAGE) + columns


def run_case(case: int) -> tuple[str, str]:
    """Change a file, open it, and use the dataset if it could be opened."""
    rng = np.random.default_rng(case)
    originals = make_originals()
    changes, data = change_dataset(originals[rng.integers(len(originals))], rng)
    path = Path(make_folder().name, "changed")
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = measure(lambda: mpboost.BinnedDataset.open(path))
        wanted = re.search(r"should have (\d+) bytes", str(opened.error))
        if wanted and int(wanted[1]) <= MAX_SIZE and rng.random() < 0.9:  # so that more of it is read
            os.truncate(path, int(wanted[1]))
            changes.append("correct size")
            opened = measure(lambda: mpboost.BinnedDataset.open(path))
    if opened.error is not None and not isinstance(opened.error, mpboost.DatasetFileError):
        return "error", f"{changes}: {opened.error!r}"
    if opened.seconds > MAX_SECONDS:
        return "slow", f"{changes}: {opened.seconds:.2f} s"
    if opened.peak > MAX_GROWTH * path.stat().st_size + ALLOWANCE:
        return "memory", f"{changes}: {opened.peak} bytes for a file of {path.stat().st_size}"
    if opened.error is not None:
        return "refused", str(opened.error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused = use(opened.result, rng)
    return "opened", f"{', '.join(changes)}; {refused}"


def use(dataset: Any, rng: Rng) -> list[str]:
    """Check and read a dataset, fit a model of each family to it, and predict; return what was refused, and why."""
    refused = []
    one, other = (pick(rng, list(ESTIMATORS[k : k + 2])) for k in (0, 2))
    targets = rng.integers(0, 2, dataset.n_rows) if rng.random() < 0.3 else None

    def fit(make: Any) -> None:
        model = make(n_estimators=2, max_samples=min(40, dataset.n_rows), random_state=0)
        model.fit(dataset, targets)
        model.predict(dataset)
        mpboost.compute_effects(model, dataset, n_features=2, max_rows=50)

    steps = {
        "check": dataset.check,
        "read": lambda: (repr(dataset), dataset.y, dataset.sample_weight, dataset.feature_names),
        "first": lambda: fit(one),
        "second": lambda: fit(other),
    }
    for name, step in steps.items():
        try:
            step()
        except (ValueError, OSError) as error:
            refused.append(f"{name}: {error}")
    return refused


if __name__ == "__main__":
    sys.exit(run_command("fuzz.datasets:run_case", __doc__))
