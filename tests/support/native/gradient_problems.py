"""Random problems that the leaf-wise grower is tried with."""

import numpy as np
import pytest

from ..cases import list_cases
from .naive_gradient_tree import Problem
from .naive_tree import MISSING, find_leaves, read_sets, read_splits


def make_problem(seed=0, n_rows=200, n_columns=6, n_codes=40, missing=0.0, categorical=0, exact=False, **options):
    """Draw derivatives that follow the first columns, but for noise; exact ones have sums without rounding."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_codes, size=(n_columns, n_rows), dtype=np.uint8)
    gradients = rng.normal(size=n_rows) - np.sin(codes[0] / 5.0) + (codes[-1] * 7 % 5) / 5.0
    hessians = rng.uniform(0.5, 1.5, n_rows)
    codes[rng.random(codes.shape) < missing] = MISSING
    if exact:
        gradients, hessians = (np.round(x * 1024) / 1024 for x in (gradients, hessians))
    options = {"is_categorical": np.arange(n_columns) < categorical, "seed": seed, **options}
    return Problem(codes, gradients, hessians, **options)


PROBLEMS = {
    "numbers": {},
    "two leaves": {"max_leaf_nodes": 2},
    "as many leaves as there are": {"max_leaf_nodes": 1000, "n_rows": 60},
    "two rows": {"n_rows": 2},
    "regularised": {"l2_regularization": 30.0},
    "shallow": {"max_depth": 2},
    "deep": {"max_depth": 9, "max_leaf_nodes": 12},
    "large leaves": {"min_samples_leaf": 25},
    "no room for a split": {"min_samples_leaf": 101},
    "255 codes": {"n_codes": 255, "n_rows": 400},
    "two codes": {"n_codes": 2},
    "one code": {"n_codes": 1},
    "17 columns": {"n_columns": 17},
    "missing": {"missing": 0.3, "min_samples_leaf": 3},
    "nearly all missing": {"missing": 0.95},
    "all missing": {"missing": 1.0},
    "some columns": {"n_columns": 12, "features": np.array([11, 3, 0, 7])},
    "monotonic": {"monotonic": np.array([1, 0, -1, 1, 0, 0], dtype=np.int8), "l2_regularization": 1.0},
    "monotonic, missing": {"monotonic": np.array([-1, 1, 0, 0, 1, 1], dtype=np.int8), "missing": 0.2},
    "interactions": {"interactions": ((0, 2), (1, 3), (1, 4, 5)), "n_codes": 12},
    "many interactions": {"interactions": (*((j,) for j in range(6)),) * 12 + ((0, 1), (1, 2)), "n_rows": 400},
    "categories": {"categorical": 3, "n_codes": 9},
    "categories, missing": {"categorical": 6, "n_codes": 12, "missing": 0.2, "l2_regularization": 0.5},
    "255 categories": {"categorical": 2, "n_codes": 255, "n_rows": 1000},
    "255 categories, missing": {"categorical": 6, "n_codes": 255, "n_rows": 500, "missing": 0.1},
    "coarse": {"n_codes": 255, "max_bins": 16, "n_rows": 400},
    "coarsest, missing": {"n_codes": 100, "max_bins": 2, "missing": 0.1},
    "coarse numbers beside categories": {"n_codes": 60, "max_bins": 32, "categorical": 2, "missing": 0.1},
    "all at once": {
        "n_codes": 50,
        "max_bins": 20,
        "categorical": 2,
        "missing": 0.1,
        "monotonic": np.array([0, 0, 1, -1, 0, 0], dtype=np.int8),
        "interactions": ((0, 2, 3), (1, 2, 4, 5)),
        "min_samples_leaf": 4,
        "l2_regularization": 2.0,
    },
}
QUICK = (
    "numbers",
    "two rows",
    "regularised",
    "large leaves",
    "all missing",
    "some columns",
    "monotonic, missing",
    "interactions",
    "categories, missing",
    "coarse numbers beside categories",
    "all at once",
)
problems = pytest.mark.parametrize("options", list_cases(PROBLEMS, QUICK))


def predict(problem, grown, codes=None):
    """Look up the values of the leaves that rows end in."""
    codes = problem.patch_codes if codes is None else codes
    return grown.tree.leaf_values[find_leaves(read_splits(grown.tree), codes, read_sets(grown.tree))]
