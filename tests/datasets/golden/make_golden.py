"""Make the golden file of the current format by hand, once: ``python tests/datasets/golden/make_golden.py``.

A golden file stays as it is once its format is released.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import mpboost
from mpboost.datasets.dataset_file import SCHEMA

FOLDER = Path(__file__).parent


def make_golden() -> None:
    """Build a small dataset with categories, missing values, text targets and weights, and write down what is in it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(140, 2)).round(1), columns=["age", "größe"])
    table[rng.random(table.shape) < 0.1] = np.nan
    table["colour"] = rng.choice(["red", "green", "blue", None], len(table))
    table["city"] = pd.Categorical([f"city {k * k % 37}" for k in range(len(table))])
    table["day"] = pd.Timestamp("2024-02-27") + pd.to_timedelta(rng.integers(0, 4, len(table)), unit="D")
    table["身長"] = rng.integers(0, 200, len(table)).astype(np.uint8)
    table["answer"] = np.where(table["age"].fillna(0) + table["größe"].fillna(0) > 0, "ja", "nein")
    table["weight"] = rng.integers(0, 4, len(table)) / 2
    path = FOLDER / f"format-{SCHEMA}.mpcols"
    dataset = mpboost.BinnedDataset.from_batches(
        lambda: [table[:50], table[50:]], target="answer", sample_weight="weight", max_bins=10, file=path
    )
    known = dataset.known
    expected = {
        "feature_names": dataset.feature_names,
        "categories": known.features["categories_"],
        "has_other": known.features["has_other_category_"].tolist(),
        "edges": known.mapper.edges.tolist(),
        "offsets": known.mapper.offsets.tolist(),
        "codes": [codes.tobytes().hex() for codes in dataset.table.columns.codes],
        "y": dataset.y.tolist(),
        "sample_weight": dataset.sample_weight.tolist(),
    }
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_golden()
