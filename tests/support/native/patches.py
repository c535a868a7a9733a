"""Random minipatches that growers are tried with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .naive_tree import MISSING


@dataclass
class Patch:
    """A kind of random minipatches."""

    rows: tuple[int, ...]  # of the patches that one grower is used for, one after the other
    n_features: int
    n_codes: int = 255
    missing: float = 0.0
    noise: float = 0.3  # share of labels that no feature explains
    options: dict[str, Any] = field(default_factory=dict)
    weigh: Callable[[np.random.Generator, int], NDArray[np.float64]] | None = None
    n_categorical: int = 0  # columns, the first ones, of at most as many codes as there are categories
    n_categories: int = 255

    def draw(self, rng: np.random.Generator, n_rows: int):
        n_data, n_columns = n_rows + 20, self.n_features + 3
        codes = rng.integers(self.n_codes, size=(n_columns, n_data), dtype=np.uint8)
        signal = codes[: min(3, n_columns)].astype(int).sum(axis=0)
        labels = np.where(signal > np.median(signal), 1, -1).astype(np.int8)
        labels[rng.random(n_data) < self.noise] *= -1
        codes[: self.n_categorical] = rng.permutation(255)[codes[: self.n_categorical] % self.n_categories]
        codes[rng.random(codes.shape) < self.missing] = MISSING
        rows = rng.permutation(n_data)[:n_rows]
        features = rng.permutation(n_columns)[: self.n_features]
        weights = None if self.weigh is None else self.weigh(rng, n_rows)
        is_categorical = np.arange(n_columns) < self.n_categorical if self.n_categorical else None
        return codes, rows, features, labels, weights, is_categorical


WEIGHTS = {
    "equal": lambda rng, n: np.full(n, 0.37),
    "uniform": lambda rng, n: 1.0 - rng.random(n),
    "two kinds": lambda rng, n: rng.choice([1.0, 4.0], n),
    "24 decades": lambda rng, n: 10.0 ** rng.uniform(-12, 12, n),
    "one takes all": lambda rng, n: np.where(np.arange(n) == n // 2, 1e300, 1e-300),
    "next to nothing": lambda rng, n: rng.integers(1, 9, n) * 5e-324,
}

#: For the growers that sort: fewer rows than the others take, as their twin is slower.
SORTED_PATCHES = {
    "tiny": Patch(rows=tuple(range(1, 20)) * 2, n_features=3),
    "tiny, few codes": Patch(rows=tuple(range(1, 20)) * 3, n_features=2, n_codes=3),
    "one feature": Patch(rows=(1, 2, 50, 300), n_features=1, n_codes=100),
    "two codes": Patch(rows=(10, 100, 300), n_features=10, n_codes=2),
    "255 codes": Patch(rows=(300, 10, 100), n_features=5),
    "pure noise": Patch(rows=(200,), n_features=5, noise=1.0),
    "missing": Patch(rows=(5, 90, 200, 30), n_features=8, n_codes=60, missing=0.2),
    "mostly missing": Patch(rows=(5, 200, 30), n_features=12, n_codes=20, missing=0.9),
    "missing in tiny": Patch(rows=tuple(range(2, 20)) * 3, n_features=3, n_codes=5, missing=0.3),
    "depth 1": Patch(rows=(30, 500), n_features=6, options={"max_depth": 1}),
    "depth 4, missing": Patch(rows=(30, 500), n_features=6, missing=0.1, options={"max_depth": 4}),
    "leaves of 2": Patch(rows=(3, 4, 60, 200), n_features=6, options={"min_samples_leaf": 2}),
    "leaves of 25, missing": Patch(
        rows=(49, 50, 51, 500), n_features=6, n_codes=40, missing=0.2, options={"min_samples_leaf": 25}
    ),
    "5000 rows": Patch(rows=(5000,), n_features=4, n_codes=30, missing=0.1, options={"max_depth": 3}),
    "categories": Patch(rows=(10, 200), n_features=6, n_categorical=5, n_categories=12),
    "categories alone": Patch(rows=tuple(range(1, 20)) * 2, n_features=3, n_categorical=6, n_categories=4),
    "255 categories": Patch(rows=(40, 400), n_features=4, n_categorical=3),
    "categories, missing": Patch(rows=(5, 60, 200), n_features=7, n_categorical=5, n_categories=9, missing=0.3),
    "categories, leaves of 8": Patch(
        rows=(15, 16, 300), n_features=5, n_categorical=4, n_categories=20, missing=0.1, options={"min_samples_leaf": 8}
    ),
    **{
        f"weights: {kind}": Patch(rows=(1, 2, 9, 60, 200), n_features=4, weigh=weigh) for kind, weigh in WEIGHTS.items()
    },
    "weights, missing": Patch(rows=(5, 40, 200), n_features=6, n_codes=60, missing=0.2, weigh=WEIGHTS["uniform"]),
    "weights, leaves of 9, missing": Patch(
        rows=(17, 18, 19, 200), n_features=6, missing=0.2, options={"min_samples_leaf": 9}, weigh=WEIGHTS["24 decades"]
    ),
    "weights and categories": Patch(
        rows=(2, 9, 60, 200), n_features=6, n_categorical=4, n_categories=11, missing=0.1, weigh=WEIGHTS["uniform"]
    ),
}


def list_small(patches: dict[str, Patch]) -> list[str]:
    """List the names of patches that are grown in a moment even naively."""
    return [name for name, patch in patches.items() if sum(patch.rows) <= 300]
