"""
More rows than memory: a dataset on disk
========================================

:class:`mpboost.BinnedDataset` reads a table in batches, twice, and stores one byte
per value in a file. Estimators train on the file as it is, and the model is the same,
byte for byte, as that of the rows in memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mpboost import BinnedDataset, MPGradientBoostingClassifier

# %%
# A function that yields the batches, the same ones at each call. Yours would read
# files; this one draws numbers.

n_batches, batch_size, n_features = 10, 10_000, 20


def read_batches():
    """Yield batches of rows with their labels."""
    for number in range(n_batches):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(batch_size, n_features))
        yield X, X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=batch_size) > 0


folder = tempfile.TemporaryDirectory()
data = BinnedDataset.from_batches(read_batches, file=Path(folder.name) / "train.mpcols")
print(f"{data.n_rows} rows, {data.n_features} features")

# %%
# Training on the file and in memory:

X, y = (np.concatenate(parts) for parts in zip(*read_batches(), strict=True))
from_disk = MPGradientBoostingClassifier(n_estimators=150, random_state=0).fit(data)
from_memory = MPGradientBoostingClassifier(n_estimators=150, random_state=0).fit(X, y)
print(
    "same predictions:",
    np.array_equal(from_disk.predict_proba(X), from_memory.predict_proba(X)),
)
print(f"out-of-patch accuracy {from_disk.oop_score_:.4f}")

# %%
# What has to be held: all numbers, one batch of them, or the file, of which the system
# keeps in memory what is in use.

sizes = {
    "all rows as float64": X.nbytes,
    "one batch": X.nbytes // n_batches,
    "the dataset on disk": data.path.stat().st_size,
}
fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = ax.barh(
    list(sizes),
    [size / 1e6 for size in sizes.values()],
    color=["#E69F00", "#56B4E9", "#0072B2"],
)
ax.bar_label(bars, fmt="%.1f MB", padding=3)
ax.invert_yaxis()
ax.margins(x=0.15)
ax.set(xlabel="megabytes", title=f"{len(X):,} rows of {n_features} numbers")
plt.show()
data.close()
folder.cleanup()
