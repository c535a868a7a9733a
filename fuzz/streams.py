"""Tests datasets with generated input: ``python -m fuzz.streams --count 20000 --seed 0``.

A table that a model can be fitted to in memory is also cut into batches, which a dataset is built from: the model of
the dataset must have the same bytes, or the batches be refused by a ValueError or a TypeError. Where the fit in memory
refuses a table, so must the dataset, or the fit to it.
"""

import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import mpboost
from fuzz.files import make_folder
from fuzz.generators import LieError, chance
from fuzz.inputs import Case, make_case
from fuzz.pool import run_command

ALLOWED = (ValueError, TypeError, LieError)


def run_case(number: int) -> tuple[str, str]:
    """Fit a model in memory and another to a dataset of the same rows; compare them."""
    case = make_case(number)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = save(make_model(case, in_memory=True).fit(case.X, case.y, case.sample_weight))
        except Exception:  # the fuzzer of inputs looks at these
            expected = None
        try:
            found = save(make_model(case, in_memory=False).fit(build(case, number)))
        except ALLOWED as error:
            return "refused", f"{'in memory, too' if expected is None else 'only as a dataset'}: {error}"
    if expected is not None and expected != found:
        return "error", "the model of the dataset differs from that in memory"
    return ("same", "") if expected is not None else ("only here", f"{type(case.X)}, {type(case.y)}")


def make_model(case: Case, *, in_memory: bool) -> Any:
    """Make a model of three learners; of the drawn parameters it has only the choice of categories."""
    model = case.estimator(n_estimators=3, random_state=0)
    return model.set_params(categorical_features=choose(case)) if in_memory else model


def choose(case: Case) -> Any:
    """Return the categorical features that were drawn."""
    return case.params.get("categorical_features", "from_dtype")


def build(case: Case, number: int) -> mpboost.BinnedDataset:
    """Build a dataset from the table, or from batches of it."""
    rng, parts = np.random.default_rng(number), (case.X, case.y, case.sample_weight)
    options: dict[str, Any] = {"categorical_features": choose(case), "n_jobs": 1}
    can_be_cut = all(part is None or _can_be_cut(part) for part in parts)
    if not can_be_cut or sparse.issparse(case.X) or chance(rng, 0.2):
        return mpboost.BinnedDataset.from_arrays(*parts, **options)
    n_rows = len(case.X)
    places = [0, *np.sort(rng.integers(0, n_rows + 1, rng.integers(1, 4))).tolist(), n_rows]

    def read_batches() -> Any:
        for start, stop in pairwise(places):
            yield tuple(
                None if part is None else part.iloc[start:stop] if hasattr(part, "iloc") else part[start:stop]
                for part in parts
            )

    return mpboost.BinnedDataset.from_batches(read_batches, **options)


def _can_be_cut(part: Any) -> bool:
    return hasattr(part, "iloc") or (isinstance(part, np.ndarray) and part.ndim > 0)


def save(model: Any) -> bytes | None:
    """Return the bytes of a model's file, but for the choice of categories; None if the model cannot be saved."""
    path = Path(make_folder().name, "model")
    try:
        mpboost.save_model(model.set_params(categorical_features="from_dtype"), path)
    except TypeError:
        return None
    return path.read_bytes()


if __name__ == "__main__":
    sys.exit(run_command("fuzz.streams:run_case", __doc__))
